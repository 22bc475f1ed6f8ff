const ctrlBracket = 0x1d;
const tilde = 0x7e;
const dot = 0x2e;
const [cr, lf] = [0x0d, 0x0a];

/** Detects the escape sequences that close a console: Ctrl-] anywhere, or ~. at the beginning of a line (~~ sends one ~). */
export class Escape {
  #lineStart = true;
  #pending = false;

  /** Takes input. Returns the bytes for the node, and whether the user closes the console. */
  take(chunk: Buffer): { readonly send: Buffer; readonly leave: boolean } {
    const send: number[] = [];
    for (const byte of chunk) {
      if (byte === ctrlBracket) return { send: Buffer.from(send), leave: true };
      if (this.#pending) {
        this.#pending = false;
        if (byte === dot) return { send: Buffer.from(send), leave: true };
        send.push(tilde);
        this.#lineStart = false;
        if (byte === tilde) continue;
      } else if (byte === tilde && this.#lineStart) {
        this.#pending = true;
        continue;
      }
      send.push(byte);
      this.#lineStart = byte === cr || byte === lf;
    }
    return { send: Buffer.from(send), leave: false };
  }
}
