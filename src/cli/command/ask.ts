import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Terminal } from "../show/terminal.ts";
import { visible } from "../show/visible.ts";
import { UsageError } from "./usage-error.ts";

/** Asks for a line of text. The question is written to stderr. */
export async function askText(terminal: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input: terminal.stdin, output: terminal.stderr });
  try {
    return (await lines.question(visible(question))).trim();
  } catch (error) {
    // After Ctrl-C or the end of the input, the next output must begin on a new line.
    terminal.stderr.write("\n");
    throw error;
  } finally {
    lines.close();
  }
}

/** Asks a yes-or-no question. Any answer other than y or yes is a no. */
export async function askYes(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await askText(terminal, `${question} [y/N] `));
}

/**
 * Asks for confirmation of a change that cannot be undone. --yes confirms it. Without a terminal and without --yes it throws UsageError, so that
 * a script never waits and never destroys anything by default.
 * @param question a function is called only if the question is asked
 */
export async function approve(terminal: Terminal, question: string | (() => Promise<string>), yes: boolean): Promise<boolean> {
  if (yes) return true;
  const asked = typeof question === "string" ? question : await question();
  if (!terminal.interactive) throw new UsageError(`there is no terminal to ask: ${asked}`, "--yes confirms it");
  if (await askYes(terminal, asked)) return true;
  terminal.note("nothing was changed");
  return false;
}

/** Reads a password: from standard input with --password-stdin, from LABWRIGHT_PASSWORD, or typed without echo. Never from the command line. */
export async function readPassword(terminal: Terminal, question: string, options: { readonly fromStdin?: boolean } = {}): Promise<string> {
  if (options.fromStdin === true) return (await text(terminal.stdin)).replace(/\r?\n$/, "");
  const given = process.env.LABWRIGHT_PASSWORD;
  if (given !== undefined && given !== "") return given;
  if (!terminal.interactive) {
    throw new UsageError("no password: there is no terminal to ask on", "set LABWRIGHT_PASSWORD, or pipe it in with --password-stdin");
  }
  terminal.stderr.write(visible(question));
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: terminal.stdin, output: nothing, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    terminal.stderr.write("\n");
  }
}
