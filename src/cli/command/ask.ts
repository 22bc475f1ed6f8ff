import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Terminal } from "../show/terminal.ts";
import { UsageError } from "./usage-error.ts";

/** A line typed by a person; the question goes to stderr. */
export async function askText(terminal: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input: terminal.stdin, output: terminal.stderr });
  try {
    return (await lines.question(question)).trim();
  } catch (error) {
    // Ctrl-C or the input's end: what comes next is not to stand behind the question.
    terminal.stderr.write("\n");
    throw error;
  } finally {
    lines.close();
  }
}

/** Anything but y or yes is no. */
export async function askYes(terminal: Terminal, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await askText(terminal, `${question} [y/N] `));
}

/**
 * A yes to something that cannot be undone: given by --yes, or by a person. Without a terminal and without --yes it throws, so that
 * a script never hangs and never destroys by default.
 * @param question only made where it is asked.
 */
export async function approve(terminal: Terminal, question: string | (() => Promise<string>), yes: boolean): Promise<boolean> {
  if (yes) return true;
  const asked = typeof question === "string" ? question : await question();
  if (!terminal.interactive) throw new UsageError(`not asked, because there is no terminal: ${asked}`, "pass --yes to go ahead");
  if (await askYes(terminal, asked)) return true;
  terminal.note("nothing was changed");
  return false;
}

/** A password without echo; from standard input with --password-stdin, from LABWRIGHT_PASSWORD, or typed. Never from the command line. */
export async function readPassword(terminal: Terminal, question: string, options: { readonly fromStdin?: boolean } = {}): Promise<string> {
  if (options.fromStdin === true) return (await text(terminal.stdin)).replace(/\r?\n$/, "");
  const given = process.env.LABWRIGHT_PASSWORD;
  if (given !== undefined && given !== "") return given;
  if (!terminal.interactive) {
    throw new UsageError("no password: there is no terminal to ask on", "set LABWRIGHT_PASSWORD, or pipe it in with --password-stdin");
  }
  terminal.stderr.write(question);
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: terminal.stdin, output: nothing, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    terminal.stderr.write("\n");
  }
}
