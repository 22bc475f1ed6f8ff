import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkDefinition } from "../definitions/check-definition.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import { readLastGood } from "../definitions/last-good.ts";
import { isUuid } from "../machine/uuid.ts";

/** The labs and kept disks that an account owns on this machine. */
export interface OwnedLabs {
  /** Paths, sorted. */
  readonly labs: readonly string[];
  /** Labs that were removed without their disks, sorted by path. Several may have the same path. */
  readonly keptDisks: readonly { readonly id: string; readonly lab: string }[];
}

/** Reads what this account owns from the state directory; a lab whose definition is unreadable has no known owner. */
export async function ownedLabs(state: string, owner: string): Promise<OwnedLabs> {
  const directory = join(state, "labs");
  const names = await readdir(directory).catch(unlessMissing<readonly string[]>([]));
  const labs: string[] = [];
  const keptDisks: { id: string; lab: string }[] = [];
  for (const id of names.filter(isUuid)) {
    const at = join(directory, id);
    const lab = await readDefinition(join(at, "lab.json"), id);
    const kept = lab === undefined ? await readDefinition(join(at, "kept.json"), id) : undefined;
    const known = lab ?? kept ?? (await readLastGood(at, id));
    if (known?.owner !== owner) continue;
    if (kept === undefined) labs.push(known.path);
    else keptDisks.push({ id, lab: known.path });
  }
  const byText = (a: string, b: string) => (a < b ? -1 : 1);
  return { labs: labs.sort(byText), keptDisks: keptDisks.sort((a, b) => byText(a.lab + a.id, b.lab + b.id)) };
}

/** Returns `undefined` for a file that is missing or is not a valid definition. */
async function readDefinition(file: string, id: string): Promise<LabDefinition | undefined> {
  const text = await readFile(file, "utf8").catch(unlessMissing(undefined));
  if (text === undefined) return undefined;
  try {
    return checkDefinition(JSON.parse(text), id);
  } catch {
    // The last good copy of the definition has the owner.
    return undefined;
  }
}

/** Returns `value` if the file is missing. Throws other errors. */
function unlessMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return value;
    throw error;
  };
}
