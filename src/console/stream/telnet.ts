import { Duplex } from "node:stream";

const IAC = 255;
const [DONT, DO, WONT, WILL, SB, SE] = [254, 253, 252, 251, 250, 240];
const [BINARY, ECHO, SGA, TTYPE, NAWS] = [0, 1, 3, 24, 31];

export interface TelnetOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** Sent if the peer asks for it; default xterm. */
  readonly terminal?: string;
}

/**
 * The client side of telnet (RFC 854, 855, 856, 857, 858, 1073, 1091). `decode` returns the data of received bytes and answers negotiations through
 * `reply`; `encode` escapes data for sending. State is kept across chunks. Every change of an option is answered once, so that no two peers can loop.
 */
export class TelnetCodec {
  readonly #reply: (bytes: Buffer) => void;
  readonly #terminal: string;
  #columns: number;
  #rows: number;
  /** Options that the peer performs / that we perform. */
  readonly #theirs = new Set<number>();
  readonly #ours = new Set<number>();
  #state: "data" | "return" | "iac" | "verb" | "sub" | "sub-iac" = "data";
  #verb = 0;
  #sub: number[] = [];

  constructor(reply: (bytes: Buffer) => void, options: TelnetOptions = {}) {
    this.#reply = reply;
    this.#terminal = options.terminal ?? "xterm";
    this.#columns = options.columns ?? 80;
    this.#rows = options.rows ?? 24;
  }

  decode(bytes: Uint8Array): Buffer {
    const data = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (const byte of bytes) {
      switch (this.#state) {
        case "return":
          this.#state = "data";
          // In network virtual terminal mode a bare carriage return is sent as CR NUL.
          if (byte === 0) break;
          if (byte === IAC) this.#state = "iac";
          else {
            data[length++] = byte;
            if (byte === 13) this.#state = "return";
          }
          break;
        case "data":
          if (byte === IAC) this.#state = "iac";
          else {
            data[length++] = byte;
            if (byte === 13 && !this.#theirs.has(BINARY)) this.#state = "return";
          }
          break;
        case "iac":
          if (byte === IAC) {
            data[length++] = IAC;
            this.#state = "data";
          } else if (byte >= WILL && byte <= DONT) {
            this.#verb = byte;
            this.#state = "verb";
          } else if (byte === SB) {
            this.#sub = [];
            this.#state = "sub";
          } else this.#state = "data";
          break;
        case "verb":
          this.#negotiate(this.#verb, byte);
          this.#state = "data";
          break;
        case "sub":
          if (byte === IAC) this.#state = "sub-iac";
          else if (this.#sub.length < 1024) this.#sub.push(byte);
          break;
        case "sub-iac":
          if (byte === SE) {
            this.#subnegotiation();
            this.#state = "data";
          } else {
            if (byte === IAC && this.#sub.length < 1024) this.#sub.push(IAC);
            this.#state = "sub";
          }
          break;
      }
    }
    return data.subarray(0, length);
  }

  encode(data: Uint8Array): Buffer {
    const binary = this.#ours.has(BINARY);
    const out: number[] = [];
    for (const byte of data) {
      out.push(byte);
      if (byte === IAC) out.push(IAC);
      else if (byte === 13 && !binary) out.push(0);
    }
    return Buffer.from(out);
  }

  resize(columns: number, rows: number): void {
    this.#columns = columns;
    this.#rows = rows;
    if (this.#ours.has(NAWS)) this.#sendSize();
  }

  #negotiate(verb: number, option: number): void {
    if (verb === WILL || verb === WONT) {
      const wanted = verb === WILL && (option === ECHO || option === SGA || option === BINARY);
      const had = this.#theirs.has(option);
      if (verb === WILL && !wanted) this.#send(DONT, option);
      else if (wanted && !had) {
        this.#theirs.add(option);
        this.#send(DO, option);
      } else if (verb === WONT && had) {
        this.#theirs.delete(option);
        this.#send(DONT, option);
      }
      return;
    }
    const able = option === SGA || option === BINARY || option === TTYPE || option === NAWS;
    const had = this.#ours.has(option);
    if (verb === DO && !able) this.#send(WONT, option);
    else if (verb === DO && !had) {
      this.#ours.add(option);
      this.#send(WILL, option);
      if (option === NAWS) this.#sendSize();
    } else if (verb === DONT && had) {
      this.#ours.delete(option);
      this.#send(WONT, option);
    }
  }

  #subnegotiation(): void {
    const [option, command] = this.#sub;
    if (option === TTYPE && command === 1) this.#sendSub([TTYPE, 0, ...Buffer.from(this.#terminal, "latin1")]);
  }

  #sendSize(): void {
    this.#sendSub([NAWS, this.#columns >> 8, this.#columns & 255, this.#rows >> 8, this.#rows & 255]);
  }

  #sendSub(content: readonly number[]): void {
    this.#reply(Buffer.from([IAC, SB, ...content.flatMap((byte) => (byte === IAC ? [IAC, IAC] : [byte])), IAC, SE]));
  }

  #send(verb: number, option: number): void {
    this.#reply(Buffer.from([IAC, verb, option]));
  }
}

/** Maximum bytes of replies that wait for the peer. A peer that sends more requests without reading is not read. */
const maxReplyBytes = 64 << 10;

/** Returns a telnet connection as plain console bytes: negotiation is answered here and hidden from viewers. */
export function telnetStream(
  socket: Duplex,
  options: TelnetOptions = {},
): { readonly stream: Duplex; readonly resize: (columns: number, rows: number) => void } {
  let waiting = 0;
  let wanted = true;
  const flow = () => {
    if (wanted && waiting <= maxReplyBytes) socket.resume();
    else socket.pause();
  };
  let replies: Buffer[] = [];
  const codec = new TelnetCodec((bytes) => replies.push(bytes), options);
  /** All replies to a chunk are sent in one write. */
  const answer = () => {
    if (replies.length === 0) return;
    const bytes = Buffer.concat(replies);
    replies = [];
    if (!socket.writable) return;
    waiting += bytes.length;
    socket.write(bytes, () => {
      waiting -= bytes.length;
      flow();
    });
  };
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => {
      wanted = true;
      flow();
    },
    write: (bytes: Buffer, _encoding, done) => {
      socket.write(codec.encode(bytes), (error) => done(error));
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (bytes: Buffer) => {
    const data = codec.decode(bytes);
    answer();
    if (data.length > 0) wanted = stream.push(data);
    flow();
  });
  socket.once("end", () => stream.push(null));
  socket.once("close", () => stream.destroy());
  socket.on("error", (error) => stream.destroy(error));
  return {
    stream,
    resize: (columns, rows) => {
      codec.resize(columns, rows);
      answer();
    },
  };
}
