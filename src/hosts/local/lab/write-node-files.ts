import { Failure } from "../../../contract/errors.ts";
import type { LabFile } from "../../../intent/lab/lab.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { usualMode } from "../templates/declared-files.ts";

/** The time that a node may take to write one file, ms. */
const timeoutMs = 30_000;

/** $1: the path, $2: the mode, $3: the owner or nothing. The file changes at once: a program in the node never reads half of it. */
const writeScript = `if [ -d "$1" ]; then echo "$1 is a folder" >&2; exit 1; fi
umask 077; case "$1" in /*/*) (umask 022; mkdir -p -- "\${1%/*}") ;; esac &&
cat > "$1.labwright-new" && chmod "$2" "$1.labwright-new" && { [ -z "$3" ] || chown "$3" "$1.labwright-new"; } && mv -f -- "$1.labwright-new" "$1" ||
  { rm -f -- "$1.labwright-new"; exit 1; }`;

/** Writes the changed files of a running node, and removes those that are no longer declared. A process of the node does it. Throws host_error. */
export async function writeNodeFiles(sandbox: Sandbox, before: DefinedNode, after: DefinedNode): Promise<void> {
  const [old, wanted] = [before.files ?? {}, after.files ?? {}];
  for (const path of Object.keys(old)) {
    if (!Object.hasOwn(wanted, path)) await run(sandbox, after, path, ["/bin/sh", "-c", 'rm -f -- "$1"', "sh", path], "");
  }
  for (const [path, file] of Object.entries(wanted)) {
    if (Object.hasOwn(old, path) && isSame(old[path], file)) continue;
    const { mode = usualMode, owner = "", text } = file;
    await run(sandbox, after, path, ["/bin/sh", "-c", writeScript, "sh", path, mode.toString(8), owner], text);
  }
}

/** Returns whether the nodes have different files. */
export function hasOtherFiles(before: DefinedNode, after: DefinedNode): boolean {
  const [old, wanted] = [before.files ?? {}, after.files ?? {}];
  const paths = new Set([...Object.keys(old), ...Object.keys(wanted)]);
  return [...paths].some((path) => !isSame(old[path], wanted[path]));
}

function isSame(a: LabFile | undefined, b: LabFile | undefined): boolean {
  return a?.text === b?.text && a?.mode === b?.mode && a?.owner === b?.owner;
}

async function run(sandbox: Sandbox, node: DefinedNode, path: string, argv: readonly string[], input: string): Promise<void> {
  const process = await sandbox.process(node.id, { argv, timeoutMs }, new AbortController().signal);
  void process.write(Buffer.from(input));
  process.endInput();
  let complaint = "";
  for await (const item of process.output) {
    if (item.stream !== "end") complaint = (complaint + item.data.toString()).slice(0, 500);
    else if (item.exitCode !== 0) {
      const why =
        complaint.trim() || (item.reason === "timeout" ? `it took more than ${timeoutMs / 1000} s` : `exit code ${item.exitCode}`);
      const hint = `stop ${node.name} and repeat the change: a node gets its files when it starts`;
      throw new Failure("host_error", `node ${node.name}: ${path} could not be written: ${why}; ${hint}`, {
        data: { host: { message: why } },
      });
    }
  }
}
