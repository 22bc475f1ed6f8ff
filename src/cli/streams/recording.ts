import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";

/** Records the output of a console with its times as an asciicast of version 2 (JSON lines) for asciinema. Input is recorded only if the node echoes it. */
export class Recording {
  readonly #file: WriteStream;
  readonly #decoder = new StringDecoder("utf8");
  readonly #begin = performance.now();

  private constructor(file: WriteStream, size: readonly [number, number]) {
    this.#file = file;
    const [width, height] = size;
    this.#line({ version: 2, width, height, timestamp: Math.floor(Date.now() / 1000) });
  }

  /** Creates a file that only its owner can read, because consoles show secrets. Throws if the file exists. */
  static async start(path: string, size: readonly [number, number]): Promise<Recording> {
    const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
    await once(file, "open");
    return new Recording(file, size);
  }

  add(bytes: Buffer): void {
    const text = this.#decoder.write(bytes);
    if (text !== "") this.#line([Number(((performance.now() - this.#begin) / 1000).toFixed(6)), "o", text]);
  }

  async end(): Promise<void> {
    this.#file.end();
    await once(this.#file, "close");
  }

  #line(value: unknown): void {
    this.#file.write(`${JSON.stringify(value)}\n`);
  }
}
