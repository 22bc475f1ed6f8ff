import { createServer, type Server, type Socket } from "node:net";
import { VpcsTerminal, type VpcsTimes } from "./vpcs-terminal.ts";

const IAC = 255;
const [DO, WILL, SB, SE] = [253, 251, 250, 240];
const [BINARY, ECHO, SGA] = [0, 1, 3];

export interface ConsoleOptions {
  readonly name: string;
  readonly type: string;
  /** The startup config that a VPCS runs first. */
  readonly startup: string | undefined;
  readonly vpcs: VpcsTimes;
  /** The node's answer to a line; undefined if it has none. */
  readonly answer: (line: string) => string | undefined;
  /** 0: any. */
  readonly port: number;
  readonly address: string;
}

/**
 * A node's console as EVE-NG's wrappers serve it: telnet, one session that all clients share, nothing kept – but what the node said before
 * its first client came is what that client gets.
 */
export class NodeConsole {
  readonly #options: ConsoleOptions;
  readonly #server: Server;
  readonly #clients = new Set<Socket>();
  readonly #vpcs: VpcsTerminal | undefined;
  /** The node's output before its first client. */
  #unheard: string | undefined = "";
  #line = "";

  private constructor(options: ConsoleOptions) {
    this.#options = options;
    const { type, startup, vpcs: times, answer } = options;
    if (type === "vpcs") this.#vpcs = new VpcsTerminal({ startup, times, answer, say: (text) => this.#say(text) });
    else this.#say(`\r\n${this.#prompt}`);
    this.#server = createServer((socket) => this.#welcome(socket));
  }

  static async open(options: ConsoleOptions): Promise<NodeConsole> {
    const opened = new NodeConsole(options);
    await new Promise<void>((resolve, reject) => {
      opened.#server.once("error", reject);
      opened.#server.listen(options.port, options.address, resolve);
    });
    return opened;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get #prompt(): string {
    return `${this.#options.name}# `;
  }

  #welcome(socket: Socket): void {
    this.#clients.add(socket);
    socket.on("close", () => this.#clients.delete(socket));
    socket.on("error", () => socket.destroy());
    const vpcs = this.#vpcs;
    const asked =
      vpcs !== undefined
        ? [IAC, DO, ECHO, IAC, WILL, ECHO, IAC, DO, SGA, IAC, WILL, SGA]
        : [IAC, WILL, ECHO, IAC, WILL, SGA, IAC, WILL, BINARY, IAC, DO, BINARY];
    socket.write(Buffer.from(asked));
    if (vpcs === undefined) socket.write(`\u001b]0;${this.#options.name}\u0007`);
    if (this.#unheard !== undefined) socket.write(this.#unheard);
    this.#unheard = undefined;
    const data = withoutTelnet();
    let last = 0;
    socket.on("data", (bytes) => {
      const typed = data(bytes);
      if (vpcs !== undefined) {
        if (typed.length > 0) vpcs.input(typed);
        return;
      }
      for (const byte of typed) {
        // CR, CR LF and CR NUL are one key.
        if (last !== 13 || (byte !== 10 && byte !== 0)) this.#key(byte);
        last = byte;
      }
    });
  }

  #key(byte: number): void {
    if (byte === 13 || byte === 10) {
      const line = this.#line.trim();
      this.#line = "";
      const said = line === "" ? undefined : (this.#options.answer(line) ?? shell(line));
      const text = said === undefined || said === "" ? "" : `${said.replaceAll("\n", "\r\n")}\r\n`;
      this.#say(`\r\n${text}${this.#prompt}`);
    } else if (byte === 8 || byte === 127) {
      if (this.#line !== "") this.#say("\b \b");
      this.#line = this.#line.slice(0, -1);
    } else if (byte === 3) {
      this.#line = "";
      this.#say(`^C\r\n${this.#prompt}`);
    } else if (byte >= 32) {
      this.#line += String.fromCharCode(byte);
      this.#say(String.fromCharCode(byte));
    }
  }

  #say(text: string): void {
    if (this.#unheard !== undefined) this.#unheard += text;
    else for (const client of this.#clients) client.write(Buffer.from(text, "latin1"));
  }

  async close(): Promise<void> {
    this.#vpcs?.close();
    for (const client of this.#clients) client.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function shell(line: string): string {
  const [command = "", ...words] = line.split(/\s+/);
  return command === "echo" ? words.join(" ") : `sh: ${command}: not found`;
}

/** Takes telnet's commands out of what comes in. */
function withoutTelnet(): (bytes: Uint8Array) => readonly number[] {
  let state: "data" | "command" | "option" | "sub" | "sub-end" = "data";
  return (bytes) => {
    const data: number[] = [];
    for (const byte of bytes) {
      if (state === "data") {
        if (byte === IAC) state = "command";
        else data.push(byte);
      } else if (state === "command") {
        if (byte === IAC) data.push(byte);
        state = byte === SB ? "sub" : byte >= WILL && byte < IAC ? "option" : "data";
      } else if (state === "option") state = "data";
      else if (state === "sub") state = byte === IAC ? "sub-end" : "sub";
      else state = byte === SE ? "data" : "sub";
    }
    return data;
  };
}
