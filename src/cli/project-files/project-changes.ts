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

/** Returns the writes that make the lab's file, and the files that it names, equal to this intent. The lab's own file is the last one. */
export function changesOf(file: ProjectFile, { yaml, files = {} }: AnsweredIntent): readonly Write[] {
  if (yaml === undefined) throw new UsageError("the service's answer contains no intent");
  const writes: Write[] = [];
  for (const name of Object.keys(files).sort()) {
    const normal = normalFilePath(name);
    if ("problem" in normal) throw new UsageError(`the service's answer contains the file ${JSON.stringify(name)}: ${normal.problem}`);
    const [before, after] = [file.files[normal.path], files[name] as string];
    if (before !== after) writes.push({ name: normal.path, path: join(file.folder, normal.path), before, after });
  }
  // The lab's own file is written last, so that the files that it names exist.
  if (yaml !== file.yaml)
    writes.push({ name: basename(file.path), path: file.path, before: file.yaml === "" ? undefined : file.yaml, after: yaml });
  return writes;
}
