/** One HTTP answer as it stood on the wire. */
export interface Reply {
  readonly status: number;
  /** Status line and header lines. */
  readonly head: string;
  readonly body: Buffer;
  /** The server announced that it closes the connection. */
  readonly closes: boolean;
}

const patterns = new Map<string, RegExp>();

export function headerOf(reply: Reply, name: string): string | undefined {
  const pattern = patterns.get(name) ?? new RegExp(`^${name}:[ \t]*(.*?)[ \t]*\r$`, "im");
  patterns.set(name, pattern);
  return pattern.exec(reply.head)?.[1];
}

const end = Buffer.from("\r\n\r\n");

/** Splits bytes into answers. Throws at anything that is not HTTP/1.1. */
export class ReplyReader {
  readonly #methods: string[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #upgraded = false;

  /** Methods of the requests in the order they were sent: an answer to HEAD has no body. */
  expect(method: string): void {
    this.#methods.push(method);
  }

  /** Bytes that are not an answer yet, or come after a 101. */
  get rest(): Buffer {
    return this.#bytes;
  }

  push(chunk: Buffer): Reply[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const replies: Reply[] = [];
    for (;;) {
      const reply = this.#take();
      if (reply === undefined) return replies;
      // 100 Continue and its like are not answers.
      if (reply.status >= 200 || reply.status === 101) replies.push(reply);
    }
  }

  #take(): Reply | undefined {
    if (this.#upgraded) return undefined;
    const at = this.#bytes.indexOf(end);
    if (at < 0) return undefined;
    const head = this.#bytes.toString("latin1", 0, at + 2);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`not an HTTP answer: ${JSON.stringify(head.slice(0, 200))}`);
    const closes = /^connection:.*\bclose\b/im.test(head);
    const from = at + 4;
    const done = (body: Buffer, next: number): Reply => {
      this.#bytes = this.#bytes.subarray(next);
      if (status >= 200 || status === 101) this.#methods.shift();
      return { status, head, body, closes };
    };
    if (status < 200 || status === 204 || status === 304 || this.#methods[0] === "HEAD") {
      this.#upgraded = status === 101;
      return done(Buffer.alloc(0), from);
    }
    const length = /^content-length:\s*(\d+)\s*$/im.exec(head)?.[1];
    if (length !== undefined) {
      const to = from + Number(length);
      return this.#bytes.length < to ? undefined : done(this.#bytes.subarray(from, to), to);
    }
    if (/^transfer-encoding:\s*chunked/im.test(head)) {
      const chunked = dechunk(this.#bytes, from);
      return chunked && done(chunked.body, chunked.next);
    }
    throw new Error(`an answer without a length: ${JSON.stringify(head.slice(0, 200))}`);
  }
}

function dechunk(bytes: Buffer, from: number): { readonly body: Buffer; readonly next: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    const next = line + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(parts), next };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = next;
  }
}
