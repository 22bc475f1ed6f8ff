import { createHash } from "node:crypto";
import { additionCommands, type FrrLine, frrChange, keyOf, readFrr, removalCommands } from "../../../base/frr-config.ts";
import { linesNotShown, shownOf } from "../../../base/frr-merge.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { marker, shownFile, shownFor, shownPath } from "./saved-config.ts";

/** Limits of a program that reads or changes the configuration of a running router. */
const limits = { timeoutMs: 20_000, maxOutputBytes: 8 << 20 };
/** A `no` that FRR refuses is tried again without its last word, as for `no description TEXT`, this many times. */
const maxShorter = 4;

type Exec = Pick<Sandbox, "exec">;

interface LiveConfig {
  /** The configuration that the node has: the intended or the saved one. */
  readonly before: string;
  readonly after: string;
  /** The intended configuration that the node took over last. */
  readonly taken: string;
  readonly path: string;
  readonly startsDaemons: boolean;
}

/**
 * Applies a changed configuration to a running FRR, by the lines that differ, and compares the running configuration before and after. Missing daemons are
 * started first. The node then boots with the new configuration. Returns why the running configuration is not the wanted one, undefined if it is; the text
 * names lines by their numbers, because they may have secrets. Throws host_error and host_timeout.
 */
export async function applyLive(sandbox: Exec, node: number, config: LiveConfig): Promise<string | undefined> {
  const { before, after, startsDaemons } = config;
  const change = frrChange(before, after);
  if (change.restart !== undefined) return change.restart;
  if (startsDaemons) {
    const { code, stdout, stderr } = await sandbox.exec(node, ["/usr/lib/labwright/frr-start", "--for", "-"], { ...limits, stdin: after });
    if (code !== 0) return `a daemon did not start: ${(stderr.trim() || stdout.trim()).split("\n", 1)[0]?.slice(0, 200)}`;
  }
  const first = await running(sandbox, node);
  await remove(sandbox, node, change.removed, removalCommands(change));
  await run(sandbox, node, additionCommands(change.added));
  const last = await running(sandbox, node);
  const refused = linesNotShown(change.added, last);
  const problem = compared({ refused, removed: change.removed }, { first: keysOf(first), last: keysOf(last) }, after);
  if (problem === undefined) await keep(sandbox, node, config, { first, last });
  return problem;
}

/** Removes lines. Those that are still there are removed with shorter and shorter commands. */
async function remove(sandbox: Exec, node: number, removed: readonly FrrLine[], commands: readonly (readonly string[])[]): Promise<void> {
  await run(sandbox, node, commands);
  let left = commands;
  for (let round = 0; round < maxShorter && left.length > 0; round++) {
    const now = keysOf(await running(sandbox, node));
    const there = new Set(removed.filter((line) => now.has(keyOf(line))).map((line) => `no ${line.text}`));
    left = left.filter((command) => [...there].some((text) => text.startsWith(`${command.at(-1)} `) || text === command.at(-1)));
    left = left.flatMap((command) => {
      const words = command.at(-1)!.split(" ").slice(0, -1);
      return words.length < 2 ? [] : [[...command.slice(0, -1), words.join(" ")]];
    });
    await run(sandbox, node, left);
  }
}

/** Returns the running configuration. */
async function running(sandbox: Exec, node: number): Promise<string> {
  return (await sandbox.exec(node, ["vtysh", "-c", "show running-config"], limits)).stdout;
}

function keysOf(text: string): ReadonlySet<string> {
  return new Set(readFrr(text).lines.map(keyOf));
}

/** Refused commands are found by the comparison. */
async function run(sandbox: Exec, node: number, commands: readonly (readonly string[])[]): Promise<void> {
  if (commands.length === 0) return;
  const stdin = `${commands.map((lines) => lines.join("\n")).join("\n")}\n`;
  const program = "umask 077 && cat > /run/frr/change.conf && vtysh -f /run/frr/change.conf; rm -f /run/frr/change.conf";
  await sandbox.exec(node, ["sh", "-c", program], { ...limits, stdin });
}

interface Runs {
  readonly first: ReadonlySet<string>;
  readonly last: ReadonlySet<string>;
}

function compared(
  { refused, removed }: { readonly refused: readonly FrrLine[]; readonly removed: readonly FrrLine[] },
  { first, last }: Runs,
  after: string,
): string | undefined {
  if (refused.length > 0) return `FRR did not take ${numbersOf(refused, after)}, or shows it in another form`;
  const left = removed.filter((line) => last.has(keyOf(line)));
  if (left.length > 0)
    return `FRR still has ${left.length === 1 ? "a line" : `${left.length} lines`} that the startup-config does not have any more`;
  const wanted = new Set(readFrr(after).lines.map(keyOf));
  const lost = [...first].filter((key) => wanted.has(key) && !last.has(key));
  return lost.length > 0 ? "the change has removed other lines of the startup-config too" : undefined;
}

function numbersOf(lines: readonly FrrLine[], text: string): string {
  const wanted = new Set(lines.map((line) => line.text));
  const numbers = text.split("\n").flatMap((line, index) => (wanted.has(line.trim().replace(/\s+/g, " ")) ? [index + 1] : []));
  return `line ${numbers.slice(0, 10).join(", ")} of the startup-config`;
}

/** Makes the configuration the one that the node has taken over: its next boot keeps what it saves from now on. */
async function keep(
  sandbox: Exec,
  node: number,
  { after, taken, path }: LiveConfig,
  { first, last }: { readonly first: string; readonly last: string },
): Promise<void> {
  const known = await sandbox.exec(node, ["cat", shownPath], limits);
  const shown = known.code === 0 ? shownFor(taken, known.stdout) : undefined;
  if (shown !== undefined) {
    const stdin = shownFile(after, shownOf(after, shown, first, last));
    await sandbox.exec(node, ["sh", "-c", 'cat > "$1.new" && mv "$1.new" "$1"', "sh", shownPath], { ...limits, stdin });
  }
  const digest = createHash("sha256").update(after).digest("hex");
  const program =
    'cat > "$1.new" && chown --reference="$1" "$1.new" 2> /dev/null; chmod 0640 "$1.new" && mv "$1.new" "$1" && echo "$2" > "$3"';
  await sandbox.exec(node, ["sh", "-c", program, "sh", path, digest, marker], { ...limits, stdin: after });
}
