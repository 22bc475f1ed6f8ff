import { basename, join } from "node:path";
import { normalFilePath } from "../../intent/parse/files.ts";
import type { ProjectFile } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import type { AnsweredIntent } from "./write-project.ts";

export interface Write {
  readonly name: string;
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** What must be written so that the lab's file, and the files that it names, are this intent; the lab's own file last. */
export function changesOf(file: ProjectFile, { yaml, files = {} }: AnsweredIntent): readonly Write[] {
  if (yaml === undefined) throw new UsageError("the service answered without an intent");
  const writes: Write[] = [];
  for (const name of Object.keys(files).sort()) {
    const normal = normalFilePath(name);
    if ("problem" in normal) throw new UsageError(`the service answered with the file ${JSON.stringify(name)}: ${normal.problem}`);
    const [before, after] = [file.files[normal.path], files[name] as string];
    if (before !== after) writes.push({ name: normal.path, path: join(file.folder, normal.path), before, after });
  }
  // The lab's own file last: what it refers to is there before it refers to it.
  if (yaml !== file.yaml)
    writes.push({ name: basename(file.path), path: file.path, before: file.yaml === "" ? undefined : file.yaml, after: yaml });
  return writes;
}
