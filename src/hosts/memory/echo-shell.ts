import { Duplex } from "node:stream";

/** A node's console as a terminal shows it: one shell, any number of viewers, the last 64 KiB for those who come late. */
export interface EchoShell {
  /** A new viewer: first what was shown so far, then what comes. */
  view(): Duplex;
  /** Runs a line as if it had been typed. */
  run(line: string): void;
  /** The last 64 KiB of the output. */
  log(): string;
  /** The node stops: viewers see the end. */
  close(): void;
}

const most = 64 * 1024;

/**
 * A line shell with the prompt `name# `: echo, hostname, show, help. Echoes what is typed, as a terminal does; \r, \n or \r\n ends a
 * line, backspace and ^C and ^U edit it.
 * @param facts what `show` prints, asked each time
 */
export function echoShell(name: () => string, facts: () => string): EchoShell {
  let scrollback: Buffer = Buffer.alloc(0);
  let line = "";
  let afterReturn = false;
  const viewers = new Set<Duplex>();
  // A character may be split over two writes.
  const decoder = new TextDecoder("utf-8");

  // Gathered while a write is worked on: each character by itself would copy the scrollback each time.
  let shown = "";
  const show = (text: string) => {
    shown += text.replaceAll("\n", "\r\n");
  };
  const flush = () => {
    const bytes = Buffer.from(shown);
    shown = "";
    scrollback = Buffer.concat([scrollback, bytes]).subarray(-most);
    for (const viewer of viewers) viewer.push(bytes);
  };
  const prompt = () => show(`${name()}# `);
  const finish = (typed: string) => {
    const [command = "", ...rest] = typed.trim().split(/\s+/);
    if (command === "echo") show(`${typed.trim().slice(4).trim()}\n`);
    else if (command === "hostname") show(`${name()}\n`);
    else if (command === "show") show(facts());
    else if (command === "help") show("commands: echo TEXT, hostname, show, help\n");
    else if (command !== "") show(`${[command, ...rest].join(" ")}: not a command\n`);
    prompt();
  };
  const type = (text: string) => {
    for (const char of text) {
      if (char === "\n" && afterReturn) {
        afterReturn = false;
        continue;
      }
      afterReturn = char === "\r";
      if (char === "\r" || char === "\n") {
        const typed = line;
        line = "";
        show("\n");
        finish(typed);
      } else if (char === "\x7f" || char === "\b") {
        if (line !== "") show("\b \b");
        line = line.slice(0, /\p{Cs}$/u.test(line.slice(-1)) ? -2 : -1);
      } else if (char === "\x03") {
        line = "";
        show("^C\n");
        prompt();
      } else if (char === "\x15") {
        show("\b \b".repeat([...line].length));
        line = "";
      } else if (char >= " ") {
        line += char;
        show(char);
      }
    }
    flush();
  };

  show(`${name()} is up\n`);
  prompt();
  flush();
  return {
    view: () => {
      const viewer: Duplex = new Duplex({
        read: () => {},
        write: (chunk: Buffer, _encoding, done) => {
          type(decoder.decode(chunk, { stream: true }));
          done();
        },
        final: (done) => {
          viewer.push(null);
          done();
        },
        destroy: (error, done) => {
          viewers.delete(viewer);
          done(error);
        },
      });
      viewer.push(scrollback);
      viewers.add(viewer);
      viewer.once("end", () => viewers.delete(viewer));
      return viewer;
    },
    run: (typed) => type(`${typed.replaceAll(/[\r\n]+/g, " ")}\r`),
    log: () => scrollback.toString(),
    close: () => {
      for (const viewer of viewers) viewer.push(null);
      viewers.clear();
    },
  };
}
