import type { Readable, Writable } from "node:stream";
import { visible } from "./visible.ts";

/** The standard streams of a command: the streams of the process, or substitutes that are not a terminal. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/**
 * The standard streams, and functions that write to the right one. Colours are written only to a terminal. print, note, complain and redraw escape control
 * characters: names that hosts, nodes and other users choose must not control the terminal.
 */
export interface Terminal extends Streams {
  /** Input and messages are a terminal, so that a person can answer questions. */
  readonly interactive: boolean;
  /** Writes results to stdout. */
  readonly print: (text: string) => void;
  /** Writes a note for people to stderr; with --quiet nothing. */
  readonly note: (text: string) => void;
  /** Writes an error or a warning to stderr, also with --quiet. */
  readonly complain: (text: string) => void;
  /** Clears the screen and shows the text. */
  readonly redraw: (text: string) => void;
  /** Replaces commands in a text by the form that the user can type, such as "npm run labwright -- up". */
  readonly spell: (text: string) => string;
  /** Returns a text for print, note, complain or redraw. */
  readonly paint: Paint;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow";
export type Paint = (style: Style, text: string) => string;

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const satisfies Record<Style, unknown>;

/**
 * paint() marks styles by this text, and the terminal's escape sequences replace the marks after all other sequences are escaped. It is random: hosts,
 * nodes and other users choose texts, and must not be able to choose a style.
 */
const styleMark = `\ue000${globalThis.crypto.randomUUID()}:`;
const styleMarks = new RegExp(`${styleMark}(\\d+)m`, "g");

/** @param options.spell replaces commands in texts for people; default: no change */
export function openTerminal(
  { stdin, stdout, stderr }: Streams,
  options: { readonly color: boolean; readonly quiet: boolean; readonly spell?: (text: string) => string },
): Terminal {
  const { spell = (text: string) => text } = options;
  const colored = options.color && stdout.isTTY === true && (process.env.NO_COLOR ?? "") === "" && process.env.TERM !== "dumb";
  const shown = (text: string) => visible(text).replace(styleMarks, "\u001b[$1m");
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
    paint: (style, text) => (colored ? `${styleMark}${codes[style][0]}m${text}${styleMark}${codes[style][1]}m` : text),
  };
}

/** Colours a plan or a diff: + green, ~ yellow, - red; headings of a diff bold. */
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
