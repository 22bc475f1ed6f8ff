import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";

/** Reads a secret from standard input until its end, without the last line break. */
export async function readSecret(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, "");
}

/** Asks for a secret on the terminal, which does not show it. `undefined` if standard input is not a terminal. */
export async function askSecret(question: string): Promise<string | undefined> {
  if (process.stdin.isTTY !== true) return undefined;
  process.stderr.write(`${question}: `);
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nothing, terminal: true });
  try {
    return await lines.question("");
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
