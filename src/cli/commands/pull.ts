import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Arguments } from "../command/arguments.ts";
import { approve } from "../command/ask.ts";
import { type Command, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { ProjectFile } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { noteLabFlag } from "../parts/labs-of-file.ts";
import { changesOf, type Write } from "../project-files/project-changes.ts";
import { replaceFile } from "../project-files/replace-file.ts";
import { unifiedDiff } from "../show/diff.ts";
import { paintChanges } from "../show/terminal.ts";

export const pull: Command = {
  name: "pull",
  summary: "Update the file from the host: show the difference, ask, write",
  details:
    "pull changes only the differing parts of the file and keeps its comments, order and formatting. It does not change the host. With --lab and a file\n" +
    "that does not exist yet, it writes the lab as a new file. Exit code 2: --dry-run found a difference.",
  flags: [topoFlag, labFlag, yesFlag, { long: "dry-run", summary: "Only show the difference" }, timeoutFlag],
  readsText: true,
  example: "labwright pull -t campus.lw.yml",
  run: async (context, args) => {
    const { file, selector } = await target(context, args);
    const { terminal } = context;
    const [dry, yes] = [args.has("dry-run"), args.has("yes")];
    /** With `peek` the service records nothing, so that --dry-run and a refused question change nothing there. */
    const fetch = (of: object, peek: boolean) =>
      runChange(
        context,
        "reconcileProject",
        { ...of, direction: "from_host", ...(peek && { peek: true }) },
        { what: `pull ${file.name}`, timeoutMs: args.milliseconds("timeout") },
      );
    const show = context.json ? terminal.note : terminal.print;
    let data = await fetch(selector, true);
    let writes = changesOf(file, data);
    const showDifference = () => {
      for (const { name, before, after } of writes) show(paintChanges(terminal.paint, unifiedDiff(before ?? "", after, name)));
    };
    showDifference();
    while (!dry && !yes && writes.length > 0) {
      if (!(await approve(terminal, `Write ${writes.map(({ name }) => name).join(", ")}?`, false))) return 1;
      data = await fetch(selector, true);
      const now = changesOf(file, data);
      if (JSON.stringify(now) === JSON.stringify(writes)) break;
      terminal.note("the lab on the host has changed meanwhile; this is the difference now");
      writes = now;
      showDifference();
    }
    if (!dry) {
      await replaceAll(writes);
      // Only now: if the file could not be written, the service still knows which changes were made on the host.
      await fetch({ ...selector, ...(data.yaml !== undefined && { yaml: data.yaml, files: data.files ?? {} }) }, false);
    }
    if (context.json) terminal.print(JSON.stringify({ ...data, written: dry ? [] : writes.map(({ name }) => name) }, null, 2));
    else if (writes.length === 0) terminal.print(`${file.name} is up to date`);
    else if (!dry) terminal.print(`wrote ${writes.map(({ name }) => name).join(", ")}`);
    noteLabFlag(context, file.name, data);
    return dry && writes.length > 0 ? 2 : 0;
  },
};

/** Writes all files. If one cannot be written, the error names it and those that are written already. */
async function replaceAll(writes: readonly Write[]): Promise<void> {
  const written: string[] = [];
  for (const { name, path, before, after } of writes) {
    try {
      await replaceFile(path, before, after);
    } catch (error) {
      if (written.length === 0 || !(error instanceof UsageError)) throw error;
      throw new UsageError(`${error.message}; written already: ${written.join(", ")}`, error.hint);
    }
    written.push(name);
  }
}

/** Returns the file to write. An existing file is sent to the service, which edits it instead of writing a new one. */
async function target(context: Context, args: Arguments): Promise<{ readonly file: ProjectFile; readonly selector: object }> {
  const [topo, lab] = [args.text("topo"), args.text("lab")];
  if (topo === undefined || lab === undefined || (await exists(topo))) return await context.projectFile();
  const path = resolve(topo);
  return { file: { name: topo, path, folder: dirname(path), yaml: "", files: {} }, selector: { lab } };
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
