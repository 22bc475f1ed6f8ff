/** Durations of a VPCS, ms. */
export interface VpcsTimes {
  /** From the first byte to the startup file or the prompt. */
  readonly boot: number;
  /** `ip`, which looks for duplicates of the address. */
  readonly address: number;
}

export interface VpcsOptions {
  readonly startup: string | undefined;
  readonly times: VpcsTimes;
  readonly say: (text: string) => void;
  readonly answer: (line: string) => string | undefined;
}

/** From the prompt to the first read. Input in between is read in one piece with the earlier input. */
const readMs = 20;

/**
 * The console of VPCS 0.5b2, seen on the program itself. While it boots, runs its startup file or a command, the terminal echoes (a telnet line end as
 * `^@`) and queues. At the prompt it reads what is there as one piece, up to the first line end: the rest is lost.
 */
export class VpcsTerminal {
  readonly #options: VpcsOptions;
  #state: "busy" | "prompting" | "reading" = "busy";
  #queue: number[] = [];
  #line = "";
  #name = "VPCS";
  #timer: NodeJS.Timeout | undefined;

  constructor(options: VpcsOptions) {
    this.#options = options;
    const { say, startup, times } = options;
    say(banner);
    this.#after(times.boot, () => {
      const lines = (startup ?? "").split(/\r?\n/).filter((line) => line.trim() !== "");
      if (lines.length > 0) say("\r\nExecuting the startup file\r\n\r\n");
      this.#runAll(lines);
    });
  }

  input(bytes: readonly number[]): void {
    if (this.#state === "busy") this.#options.say(bytes.map(cookedEcho).join(""));
    if (this.#state === "reading") this.#read(bytes);
    else for (const byte of bytes) this.#queue.push(byte);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #prompt(): void {
    this.#options.say(`\r\n\r${this.#name}> `);
    this.#state = "prompting";
    this.#after(readMs, () => {
      this.#state = "reading";
      this.#read(this.#queue.splice(0));
    });
  }

  #read(piece: readonly number[]): void {
    const { say } = this.#options;
    for (const byte of piece) {
      if (byte === 13 || byte === 10) {
        const line = this.#line.trim();
        this.#line = "";
        this.#state = "busy";
        if (line === "") this.#prompt();
        else {
          say("\r\n");
          this.#run(line, () => this.#prompt());
        }
        return;
      }
      if (byte === 3) {
        this.#line = "";
        say(`\r\n\r${this.#name}> `);
      } else if (byte === 8 || byte === 127) {
        if (this.#line !== "") say("\b \b");
        this.#line = this.#line.slice(0, -1);
      } else if (byte >= 32) {
        this.#line += String.fromCharCode(byte);
        say(String.fromCharCode(byte));
      }
    }
  }

  /** Not by recursion: a startup file may have a hundred thousand lines. */
  #runAll(lines: readonly string[], from = 0): void {
    for (let at = from; at < lines.length; at++) {
      let isDone = false;
      let waits = false;
      this.#run((lines[at] ?? "").trim(), () => {
        if (waits) this.#runAll(lines, at + 1);
        else isDone = true;
      });
      waits = true;
      if (!isDone) return;
    }
    this.#prompt();
  }

  #run(line: string, then: () => void): void {
    const { say, answer, times } = this.#options;
    const seen = answer(line);
    const [command = "", ...words] = line.split(/\s+/);
    if (seen === undefined && command === "ip") {
      say("Checking for duplicate address...\r\n");
      this.#after(times.address, () => {
        say(`PC1 : ${addressText(words[0] ?? "")}\r\n`);
        then();
      });
      return;
    }
    const text = seen ?? this.#shell(line, command, words);
    if (text !== "") say(`${text.replaceAll("\n", "\r\n")}\r\n`);
    then();
  }

  #shell(line: string, command: string, words: readonly string[]): string {
    if (command === "echo") return words.join(" ");
    if (command === "set" && words[0] === "pcname") {
      this.#name = words[1] ?? this.#name;
      return "";
    }
    return `Bad command: "${line}". Use ? for help.\n`;
  }

  #after(ms: number, then: () => void): void {
    if (ms === 0) then();
    else this.#timer = setTimeout(then, ms);
  }
}

/** As the terminal driver echoes what no program reads yet. */
function cookedEcho(byte: number): string {
  if (byte === 13 || byte === 10) return "\r\n";
  return byte < 32 ? `^${String.fromCharCode(byte + 64)}` : String.fromCharCode(byte);
}

function addressText(text: string): string {
  const [, address = "", bits = "24"] = /^([\d.]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const mask = [0, 8, 16, 24].map((shift) => 255 & (0xff00 >> Math.max(0, Math.min(8, Number(bits) - shift))));
  return `${address} ${mask.join(".")}`;
}

const banner = `${[
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
].join("\r\r\n")}\r\r\n\r\nPress '?' to get help.\r\n`;
