import { join, resolve } from "node:path";
import type { ResultOf } from "../../client/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import { readPlain } from "../../files/read-plain-file.ts";
import { normalFilePath } from "../../intent/parse/files.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, labFlag, nodeFlag, nodeOperands, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { ProjectFile } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { namedNodes } from "../parts/named-nodes.ts";
import { type EditedConfigs, editConfigs } from "../project-files/edit-configs.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { changesOf, type Write } from "../project-files/project-changes.ts";
import { replaceFile } from "../project-files/replace-file.ts";
import { unifiedDiff } from "../show/diff.ts";
import { table } from "../show/table.ts";
import { paintChanges } from "../show/terminal.ts";

type Saved = ResultOf<"saveConfigs">;

export const save: Command = {
  name: "save",
  summary: "Save the configuration of running nodes, on the nodes and in the lab's files or in a directory",
  ...nodeOperands,
  details:
    "Each running node stores its running configuration, as `write memory` does, and boots with it from then on. Then save shows the difference to the\n" +
    "lab's file and the startup-config files that it names, asks, and writes them. --dir writes DIR/NODE.cfg instead. Nodes that do not run, or whose\n" +
    "template cannot save, are skipped and named. Exit code 1: a node failed to save, or its configuration comes from a template for several nodes and cannot\n" +
    "be written into the lab's files.",
  flags: [
    topoFlag,
    labFlag,
    nodeFlag,
    {
      long: "dir",
      value: "DIR",
      completes: "folder",
      summary: "Write one file for each node into this directory; it is created if it is missing",
    },
    yesFlag,
    timeoutFlag,
  ],
  readsText: true,
  example: "labwright save -t campus.lw.yml",
  run: async (context, args) => {
    const { selector, file } = await context.project();
    const dir = args.text("dir");
    if (dir === undefined && file === undefined) {
      throw new UsageError("save needs an output", "-t FILE writes into the lab's files, --dir DIR into a directory");
    }
    const client = await context.client();
    const data = await client.saveConfigs({ ...selector, ...namedNodes(args) }, { timeoutMs: args.milliseconds("timeout") });
    const refused = new Map<string, string>();
    const written =
      dir !== undefined ? await writeInto(dir, data.files) : await writeBack(context, args, file as ProjectFile, data, refused);
    context.result({ ...data, written: written ?? [], not_written: Object.fromEntries(refused) }, (shown) => show(shown, written, refused));
    return data.failed > 0 || refused.size > 0 || written === undefined ? 1 : 0;
  },
};

/** Writes one file for each node. Replaces existing files. */
async function writeInto(dir: string, files: Saved["files"] = {}): Promise<readonly string[]> {
  await makeDirectory(dir, 0o777);
  const written: string[] = [];
  for (const [name, text] of Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const normal = normalFilePath(name);
    if ("problem" in normal) throw new UsageError(`the service's answer contains the file ${JSON.stringify(name)}: ${normal.problem}`);
    const path = resolve(dir, normal.path);
    const before = await readPlain(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw fileFailure(error, path);
    });
    if (before === text) continue;
    await replaceFile(path, before, text);
    written.push(join(dir, normal.path));
  }
  return written;
}

/**
 * Writes the configurations to the lab's own files after a confirmation. Returns `undefined` if the user refuses.
 * @param refused receives the nodes whose configuration cannot be written there, with the reasons
 */
async function writeBack(
  { terminal, json }: Context,
  args: Arguments,
  file: ProjectFile,
  data: Saved,
  refused: Map<string, string>,
): Promise<readonly string[] | undefined> {
  const edited = editedFiles(file, data);
  for (const [node, reason] of edited.refused) refused.set(node, reason);
  const { writes } = edited;
  const print = json ? terminal.note : terminal.print;
  for (const { name, before, after } of writes) print(paintChanges(terminal.paint, unifiedDiff(before ?? "", after, name)));
  if (writes.length > 0 && !(await approve(terminal, `Write ${writes.map(({ name }) => name).join(", ")}?`, args.has("yes"))))
    return undefined;
  for (const { path, before, after } of writes) await replaceFile(path, before, after);
  return writes.map(({ name }) => name);
}

function editedFiles(
  file: ProjectFile,
  { nodes, files = {} }: Saved,
): { readonly writes: readonly Write[] } & Pick<EditedConfigs, "refused"> {
  const texts = new Map(
    nodes.flatMap(({ node, file: name }) => {
      const text = name === undefined ? undefined : files[name];
      return text === undefined ? [] : [[node, text] as const];
    }),
  );
  const { lab } = readIntent(file.yaml, file.files);
  if (lab === undefined)
    throw new UsageError(`${file.name} can no longer be read`, "labwright validate shows why; --dir DIR saves without it");
  const { intent, refused } = editConfigs(file, lab, texts);
  return { writes: changesOf(file, intent), refused };
}

function show({ nodes }: Saved, written: readonly string[] | undefined, refused: ReadonlyMap<string, string>): string {
  const rows = nodes.map(({ node, outcome, error }) => {
    const reason = refused.get(node);
    return reason === undefined ? [node, outcome, error ?? ""] : [node, "not written", reason];
  });
  const end =
    written !== undefined && written.length > 0
      ? `wrote ${written.join(", ")}`
      : written === undefined || nodes.every(({ outcome }) => outcome === "failed" || outcome === "skipped")
        ? "nothing was written"
        : refused.size > 0
          ? "nothing else is to be written"
          : "the files are up to date";
  return `${rows.length === 0 ? "the lab has no nodes" : table(["NODE", "OUTCOME", "REASON"], rows)}\n${end}`;
}
