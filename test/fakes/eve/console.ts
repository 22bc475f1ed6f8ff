import { createServer, type Server, type Socket } from "node:net";

const IAC = 255;
const [DO, WILL, SB, SE] = [253, 251, 250, 240];
const [BINARY, ECHO, SGA] = [0, 1, 3];

export interface ConsoleOptions {
  readonly name: string;
  readonly type: string;
  /** What the node says to a line; undefined where it has nothing to say. */
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
  #unheard: string | undefined;
  #line = "";
  #pcName = "VPCS";

  private constructor(options: ConsoleOptions) {
    this.#options = options;
    this.#unheard = this.#isVpcs ? vpcsBanner + this.#prompt : `\r\n${this.#prompt}`;
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

  get #isVpcs(): boolean {
    return this.#options.type === "vpcs";
  }

  get #prompt(): string {
    return this.#isVpcs ? `${this.#pcName}> ` : `${this.#options.name}# `;
  }

  #welcome(socket: Socket): void {
    this.#clients.add(socket);
    socket.on("close", () => this.#clients.delete(socket));
    socket.on("error", () => socket.destroy());
    const asked = this.#isVpcs
      ? [IAC, DO, ECHO, IAC, WILL, ECHO, IAC, DO, SGA, IAC, WILL, SGA]
      : [IAC, WILL, ECHO, IAC, WILL, SGA, IAC, WILL, BINARY, IAC, DO, BINARY];
    socket.write(Buffer.from(asked));
    if (!this.#isVpcs) socket.write(`\u001b]0;${this.#options.name}\u0007`);
    if (this.#unheard !== undefined) socket.write(this.#unheard);
    this.#unheard = undefined;
    const data = withoutTelnet();
    let last = 0;
    socket.on("data", (bytes) => {
      for (const byte of data(bytes)) {
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
      const said = line === "" ? undefined : (this.#options.answer(line) ?? this.#shell(line));
      const text = said === undefined || said === "" ? "" : `${said.replaceAll("\n", this.#newline)}${this.#newline}`;
      this.#say(`${this.#newline}${text}${this.#prompt}`);
    } else if (byte === 8 || byte === 127) {
      if (this.#line !== "") this.#say("\b \b");
      this.#line = this.#line.slice(0, -1);
    } else if (byte === 3) {
      this.#line = "";
      this.#say(`^C${this.#newline}${this.#prompt}`);
    } else if (byte >= 32) {
      this.#line += String.fromCharCode(byte);
      this.#say(String.fromCharCode(byte));
    }
  }

  get #newline(): string {
    return this.#isVpcs ? "\r\r\n" : "\r\n";
  }

  #say(text: string): void {
    for (const client of this.#clients) client.write(Buffer.from(text, "latin1"));
  }

  #shell(line: string): string {
    const [command = "", ...words] = line.split(/\s+/);
    if (command === "echo") return words.join(" ");
    if (!this.#isVpcs) return `sh: ${command}: not found`;
    if (command === "set" && words[0] === "pcname") {
      this.#pcName = words[1] ?? this.#pcName;
      return "";
    }
    if (command === "ip") {
      const [, address = "", bits = "24"] = /^([\d.]+)(?:\/(\d+))?$/.exec(words[0] ?? "") ?? [];
      const mask = [0, 8, 16, 24].map((shift) => 255 & (0xff00 >> Math.max(0, Math.min(8, Number(bits) - shift))));
      return `Checking for duplicate address...\nPC1 : ${address} ${mask.join(".")}\n`;
    }
    return `Bad command: "${line}". Use ? for help.\n`;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
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

const vpcsBanner = [
  "",
  "Welcome to Virtual PC Simulator, version 0.5b2",
  "Dedicated to Daling.",
  "Build time: Sep  6 2020 19:00:57",
  "Copyright (c) 2007-2014, Paul Meng (mirnshi@gmail.com)",
  "All rights reserved.",
  "",
  'VPCS is free software, distributed under the terms of the "BSD" licence.',
  "Source code and license can be found at vpcs.sf.net.",
  "For more information, please visit wiki.freecode.com.cn.",
  "",
  "Press '?' to get help.",
  "",
  "",
].join("\r\r\n");
