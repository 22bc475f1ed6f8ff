import { Failure } from "../../contract/errors.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { RecentMap } from "../common/recent-map.ts";
import type { LabRecord } from "../store/store.ts";
import type { Work } from "./work.ts";

export interface Intent {
  readonly lab: Lab;
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
  readonly warnings: readonly Diagnostic[];
}

/** Reads an intent that a caller sent. Throws invalid_intent with every diagnostic. */
export async function readSent({ work }: { readonly work: Work }, yaml: string, files: Readonly<Record<string, string>>): Promise<Intent> {
  const { lab, diagnostics, shown } = await work.read(yaml, files);
  if (lab === undefined) throw new Failure("invalid_intent", shown, { data: { diagnostics } });
  return { lab, yaml, files, warnings: diagnostics };
}

/** Cache of parsed recorded intents, so that status polls need not parse YAML. */
const byRecord = new WeakMap<LabRecord, Intent>();
const byPath = new RecentMap<Intent>(200);

export async function recordedIntent({ work }: { readonly work: Work }, record: LabRecord | undefined): Promise<Intent | undefined> {
  if (record?.yaml === undefined) return undefined;
  const known = byRecord.get(record);
  if (known !== undefined) return known;
  // A record changes more often than its intent.
  const last = byPath.get(record.path);
  const same = last !== undefined && last.yaml === record.yaml && JSON.stringify(last.files) === JSON.stringify(record.files);
  // A text that only an older version accepts must not prevent reading or destroying its lab.
  const intent = same ? last : await readable(work, record.yaml, record.files);
  if (intent === undefined) return undefined;
  byRecord.set(record, intent);
  byPath.set(record.path, intent);
  return intent;
}

/** Returns `undefined` for a text that is not a valid lab. */
export async function readable(work: Work, yaml: string, files: Readonly<Record<string, string>>): Promise<Intent | undefined> {
  try {
    const { lab, diagnostics } = await work.read(yaml, files);
    return lab && { lab, yaml, files, warnings: diagnostics };
  } catch (error) {
    if (error instanceof Failure && error.code === "invalid_intent") return undefined;
    throw error;
  }
}
