import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Block } from "./docs-blocks.ts";

/** A command of a console block, with the output that the page shows for it. */
export interface Typed {
  readonly command: string;
  readonly exitCode: number;
  /** Empty if the page shows none: then only the exit code counts. */
  readonly shown: readonly string[];
}

/** Returns the commands of a console block: lines that begin with "$ ", each followed by its output. */
export function commandsOf({ text }: Block): readonly Typed[] {
  const parts = text.split(/^\$ /m).slice(1);
  return parts.map((part) => {
    const [first = "", ...shown] = part.trimEnd().split("\n");
    const exitCode = Number(/# exit code (\d+)/.exec(first)?.[1] ?? 0);
    return { command: first.replace(/\s+#.*$/, ""), exitCode, shown: shown.filter((line) => line.trim() !== "") };
  });
}

/**
 * Returns the first line that the page shows and the output does not have, in the page's order; undefined if it has all of them. A "…" stands for any text, and
 * figures with a unit of time or memory for any figure.
 */
export function missingLine(shown: readonly string[], output: string): string | undefined {
  const lines = output.split("\n").map(plain);
  let at = 0;
  for (const line of shown) {
    if (line.trim() === "…") continue;
    const pattern = patternOf(line);
    const found = lines.findIndex((candidate, place) => place >= at && pattern.test(candidate));
    if (found < 0) return line;
    at = found + 1;
  }
  return undefined;
}

const plain = (line: string) => line.replaceAll(/\s+/g, " ").trim();

function patternOf(line: string): RegExp {
  const parts = plain(line).split(/(…|\b\d+(?:\.\d+)? ?(?:ms|s|%|KiB|MiB|GiB)(?!\w))/);
  const sources = parts.map((part, at) =>
    at % 2 === 0 ? escapeRegExp(part) : part === "…" ? ".*" : "[\\d.]+ ?(?:ms|s|min|%|KiB|MiB|GiB)",
  );
  return new RegExp(`^${sources.join("")}$`);
}

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** For the output that a page shows of something that takes a while, such as a routing protocol that converges. */
const retryMs = 90_000;
/** Each try starts the program, and takes processor time from what it waits for. */
const maxPauseMs = 4_000;

/** Does what a page asks its reader to do: writes its files, edits them, and types its commands. Throws at the first that differs. */
export async function followPage(
  page: readonly Block[],
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  for (const block of page) {
    const place = `${block.page}:${block.line}`;
    const file = block.options["file"];
    if (block.kind === "diff" && file !== undefined) await edit(join(folder, file), block.text, place);
    else if (file !== undefined) await writeFile(join(folder, file), block.text);
    if (block.kind === "console") for (const typed of commandsOf(block)) await type(typed, block, { folder, env });
  }
}

async function type(
  { command, exitCode, shown }: Typed,
  block: Block,
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
) {
  const end = performance.now() + ("retry" in block.options ? retryMs : 0);
  for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    const { code, output } = await shell(command, folder, env);
    const missing = missingLine(shown, output);
    if (code === exitCode && missing === undefined) return;
    if (performance.now() < end) {
      await delay(pauseMs);
      continue;
    }
    const why = code === exitCode ? `has no line ${JSON.stringify(missing)}` : `ended with ${code}, not ${exitCode}`;
    throw new Error(`${block.page}:${block.line}: "${command}" ${why}. Its output:\n${output}`);
  }
}

/** Runs the command in bash. `output` is both streams as they came. */
export function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve, reject) => {
    // The service that labwright up starts inherits no pipe of ours: "exit" comes with the shell's end, "close" with the last writer's.
    const child = spawn("bash", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: 150_000 });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 255, output }));
  });
}

/** Applies a diff without line numbers: the lines without "+" are in the file once, and become the lines without "-". */
async function edit(path: string, diff: string, place: string): Promise<void> {
  const lines = diff.trimEnd().split("\n");
  const side = (mark: string) =>
    `${lines
      .filter((line) => !line.startsWith(mark))
      .map((line) => line.slice(1))
      .join("\n")}\n`;
  const text = await readFile(path, "utf8");
  const [before, after] = [side("+"), side("-")];
  if (text.split(before).length !== 2)
    throw new Error(`${place}: the file has the lines before this edit ${text.split(before).length - 1} times:\n${text}`);
  await writeFile(
    path,
    text.replace(before, () => after),
  );
}
