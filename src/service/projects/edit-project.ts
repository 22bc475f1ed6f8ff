import { createHash } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { EditData, EditPayload, PublicProjectData, PublicProjectPayload } from "../../contract/schemas/editing.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import { canonicalText } from "../../engine/shared/canonical.ts";
import { maskLab } from "../../engine/show/mask.ts";
import { unmaskLab } from "../../engine/show/unmask.ts";
import type { EditableSection } from "../../intent/edit/replace-section.ts";
import { sameData } from "../../intent/lab/canonical.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { type IntentText, printLab } from "../../intent/write/print.ts";
import { recordHistory } from "../changes/record-history.ts";
import { checkOnHost } from "../checks/host-check.ts";
import type { Call, Caller } from "../common/call.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import { addressEdit, addressProject, addressText } from "../context/address.ts";
import { mayReadSecrets } from "../context/allow.ts";
import type { ClockPart, JobsPart, LookupParts, StorePart, WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { type Intent, readSent } from "../work/intents.ts";

/**
 * Returns the intent without secrets. It is printed from the parsed lab: comments and inheritance, which may contain secrets, are left out. For a lab
 * without an intent, returns the host's definition. as_written: the original text, for users who may edit it.
 */
export async function publicProject(context: LookupParts, caller: Caller, selector: PublicProjectPayload): Promise<PublicProjectData> {
  const asWritten = selector.as_written === true;
  const target = asWritten ? await addressText(context, caller, selector) : await addressProject(context, caller, selector);
  const intent = target.intent ?? (await observedIntent(target));
  if (asWritten) {
    const { yaml, files, lab } = intent;
    return { lab: target.path, name: lab.name, yaml, files, traffic_filters: [...lab.trafficFilters], revision: revisionOf(intent) };
  }
  const masked = maskLab(intent.lab);
  const shown = printLab(masked);
  // A hash of the whole text would let users who may not read its secrets test guesses.
  const revision = revisionOf(target.sent || mayReadSecrets(target) ? intent : shown);
  return { lab: target.path, name: masked.name, ...shown, traffic_filters: [...masked.trafficFilters], revision };
}

async function observedIntent({ host, path, ids }: Target): Promise<Pick<Intent, "lab" | "yaml" | "files">> {
  const [rules, observed] = await Promise.all([host.rules(), host.observe(path)]);
  if (observed === null) throw labNotFound(path);
  const lab = readLab({ observed, rules, ids: joinIds(null, observed, ids) });
  return { lab, ...printLab(lab) };
}

/** Returns a text that changes only with the text and the files of an intent. */
export function revisionOf({ yaml, files }: Pick<Intent, "yaml" | "files">): string {
  return createHash("sha256")
    .update(canonicalText([yaml, files]))
    .digest("hex");
}

/**
 * Replaces one section of an intent and keeps the rest of its text, or replaces the whole text. With a sent text, returns the changed text. Without one, changes the recorded
 * intent; the next reconcile changes the host. Throws plan_stale for another revision, and invalid_intent if the result is not a valid lab.
 */
export async function editProject(
  context: LookupParts & ClockPart & JobsPart,
  caller: Caller,
  payload: EditPayload,
  { signal }: Call,
): Promise<EditData> {
  const target = await addressEdit(context, caller, payload);
  const { intent } = target;
  if (payload.revision !== undefined && payload.revision !== revisionOf(intent)) {
    throw new Failure("plan_stale", "the intent is not of this revision any more; read it again", {
      data: { revision: revisionOf(intent) },
    });
  }
  const text = await wantedText(context, intent, payload);
  const { warnings: _warnings, ...edited } = await readSent(context, text.yaml, text.files);
  if (payload.intent !== undefined) refuseMasked(edited.lab, intent.lab);
  await checkOnHost(context, target.host, edited, { signal, known: intent.lab });
  if (!target.sent) await recordText(context, target, intent, edited);
  return { yaml: edited.yaml, revision: revisionOf(edited) };
}

async function wantedText(context: WorkPart, intent: Intent, { section, value, intent: whole }: EditPayload): Promise<IntentText> {
  if (whole !== undefined) {
    if (section !== undefined) throw badRequest("/section", "send either a section with its value, or the whole intent");
    return whole;
  }
  if (section === undefined) throw badRequest("/section", "name the section to replace, or send the whole text as intent");
  if (value === undefined) throw badRequest("/value", "the new content of the section is missing; null takes it away");
  return context.work.edit(intent.yaml, intent.files, await wantedLab(context, intent, section, value));
}

async function wantedLab({ work }: WorkPart, intent: Intent, section: EditableSection, value: unknown): Promise<Lab> {
  const { lab: read, diagnostics, shown } = await work.replaceSection(intent.yaml, intent.files, section, value);
  if (read === undefined) {
    throw new Failure("invalid_intent", shown, { data: { diagnostics } });
  }
  const { lab, lost } = unmaskLab(read, intent.lab);
  if (lost.length === 0) return lab;
  throw maskedValues(lost.map((path) => `/value${path}`));
}

/** A whole text is stored as it is, so it must not contain the masks of a public one. */
function refuseMasked(sent: Lab, known: Lab): void {
  const { lab, lost } = unmaskLab(sent, known);
  if (lost.length > 0) throw maskedValues(lost.map((path) => `/intent${path}`));
  if (!sameData(lab, sent)) throw maskedValues(["/intent"]);
}

function maskedValues(paths: readonly string[]): Failure {
  return new Failure("bad_request", "the text contains a redacted value; enter the value itself", {
    data: { problems: paths.map((path) => ({ path, message: "is masked" })) },
  });
}

async function recordText(
  context: StorePart & ClockPart & JobsPart,
  { path, caller }: Target,
  intent: Intent,
  edited: Pick<Intent, "yaml" | "files" | "lab">,
): Promise<void> {
  context.jobs.refuseBusy(path);
  const now = context.store.labs.get(path);
  if (now === undefined) throw labNotFound(path);
  if (now.yaml !== intent.yaml) throw new Failure("plan_stale", "the intent was changed meanwhile; read it again");
  const record = {
    ...now,
    yaml: edited.yaml,
    files: edited.files,
    serial: now.serial + 1,
    plans: {},
    updatedAt: context.clock.now(),
  };
  await context.store.labs.put(record);
  await recordHistory(context, record, edited.lab, { user: caller.user, operation: "editProject" }, now);
}
