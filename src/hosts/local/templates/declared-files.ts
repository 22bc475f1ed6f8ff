import { shellWord } from "../../../base/shell-word.ts";
import type { LabFile } from "../../../intent/lab/lab.ts";

type Files = Readonly<Record<string, LabFile>>;

export const usualMode = 0o644;

/** Returns the declared files of a node, as they are written before it boots. They belong to root until ownerCommands have run. */
export function declaredFiles(files: Files = {}): readonly { readonly path: string; readonly mode: number; readonly text: string }[] {
  return Object.entries(files).map(([path, { text, mode = usualMode }]) => ({ path, mode, text }));
}

/** Returns the commands that set the owners of declared files. The node resolves the names. */
export function ownerCommands(files: Files = {}): readonly string[] {
  return Object.entries(files).flatMap(([path, { owner }]) =>
    owner === undefined ? [] : [`chown ${shellWord(owner)} ${shellWord(path)}`],
  );
}
