import type { ReadStream, WriteStream } from "node:tty";
import { visible } from "./visible.ts";

/**
 * The three streams, what may be written where, and colours only where a person sees them. print, note, complain and redraw write control characters that
 * a text holds as escapes: what hosts, nodes and other users call things must not control the terminal.
 */
export interface Terminal {
  readonly stdin: ReadStream | NodeJS.ReadStream;
  readonly stdout: WriteStream | NodeJS.WriteStream;
  readonly stderr: WriteStream | NodeJS.WriteStream;
  /** A person sits at both ends: questions can be asked. */
  readonly interactive: boolean;
  /** Results: stdout. */
  readonly print: (text: string) => void;
  /** What helps a person and no program: stderr, and nothing with --quiet. */
  readonly note: (text: string) => void;
  /** What went wrong and what to do: stderr, also with --quiet. */
  readonly complain: (text: string) => void;
  /** Clears the screen and shows the text on it. */
  readonly redraw: (text: string) => void;
  /** Spells the commands in a text for people as they can be typed here. */
  readonly spell: (text: string) => string;
  readonly paint: Paint;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow";
export type Paint = (style: Style, text: string) => string;

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const satisfies Record<Style, unknown>;

/** @param options.spell how commands are spelled in texts for people */
export function openTerminal(options: {
  readonly color: boolean;
  readonly quiet: boolean;
  readonly spell?: (text: string) => string;
}): Terminal {
  const { stdin, stdout, stderr } = process;
  const { spell = (text: string) => text } = options;
  const colored = options.color && stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
  const shown = (text: string) => visible(text, colored);
  return {
    stdin,
    stdout,
    stderr,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    print: (text) => void stdout.write(`${shown(text)}\n`),
    note: (text) => void (options.quiet || stderr.write(`${shown(spell(text))}\n`)),
    complain: (text) => void stderr.write(`${shown(spell(text))}\n`),
    redraw: (text) => void stdout.write(`\u001b[H\u001b[2J${shown(text)}\n`),
    spell,
    paint: (style, text) => (colored ? `\u001b[${codes[style][0]}m${text}\u001b[${codes[style][1]}m` : text),
  };
}

/** A plan or a diff as a terminal shows it: + green, ~ yellow, - red; headings of a diff bold. */
export function paintChanges(paint: Paint, text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const first = line.trimStart()[0];
      if (line.startsWith("--- ") || line.startsWith("+++ ")) return paint("bold", line);
      if (first === "+") return paint("green", line);
      if (first === "-") return paint("red", line);
      if (first === "~" || first === "\u2213") return paint("yellow", line);
      return line;
    })
    .join("\n");
}
