import { createHash } from "node:crypto";
import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ImportData, ImportPayload } from "../../contract/schemas/project.ts";
import { files, flag, map, optionalFlag, text } from "../../contract/schemas/shapes.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { persistedLab } from "../../engine/plan/identity.ts";
import { canonicalText, sameValue } from "../../engine/shared/canonical.ts";
import { maskLab } from "../../engine/show/mask.ts";
import { toLabName } from "../../intent/lab/lab-name.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import { type Manifest, printManifest } from "../../intent/parse/manifest.ts";
import { type IntentText, printLab } from "../../intent/write/print.ts";
import type { ChangeKind, ChangeRun } from "../changes/change-kind.ts";
import { runChange } from "../changes/managed.ts";
import { planAgainstHost } from "../changes/planned.ts";
import { copyProblems, notCopied } from "../checks/not-copied.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { timeText } from "../common/clock.ts";
import { badRequest, labNotFound, pathNotAvailable } from "../common/refusals.ts";
import { addressProject, isHidden, neededIntent, placeOf } from "../context/address.ts";
import { allowUse, mayReadSecrets } from "../context/allow.ts";
import type { ChangeParts, HostPart, StorePart, WorkPart } from "../context/parts.ts";
import { checkFields } from "../context/selector.ts";
import { noIds, type Target } from "../context/target.ts";
import { refuseOutOfReach } from "../sessions/rights.ts";
import { type Intent, readSent } from "../work/intents.ts";
import { applyIntent, deletedOld, refuseBlocked } from "./deploy.ts";
import { extraLine, fidelityReport, type ReportLine } from "./fidelity.ts";

/** Source of an imported lab. */
export interface ImportSource {
  /** The kind of the source's host. */
  readonly format: string;
  readonly lab: string;
  readonly host: { readonly kind: string; readonly url: string };
  /** RFC 3339. */
  readonly imported_at: string;
  /** SHA-256 of the source's persisted definition, hex. */
  readonly digest: string;
  readonly report: readonly ReportLine[];
}

/** Journal request of an import. */
const ImportRequest = Type.Object({
  yaml: text,
  files,
  replace: flag,
  source: Type.Unsafe<ImportSource>(Type.Object({ lab: text, report: Type.Array(Type.Object({})) })),
  /** The source's ids by the keys of the intent. Absent in rows of older versions. */
  ids: Type.Optional(Type.Object({ nodes: map(text), networks: map(text), links: map(text) })),
  /** Whether the caller may read the secrets of the source. Absent: false. */
  secrets: optionalFlag,
});
type ImportRequest = Static<typeof ImportRequest>;

export const importKind: ChangeKind<typeof ImportRequest, ImportData> = {
  operation: "importProject",
  version: 1,
  request: ImportRequest,
  recover: async ({ context, target }, request, row) => ({
    target: { ...target, mode: "import", source: request.source, intent: await readSent(context, request.yaml, request.files) },
    request: { ...request, replace: request.replace && !deletedOld(row) },
  }),
  run: importLab,
};

/**
 * Clones a lab of the host into a stopped, managed working copy in the same folder. The source is only read. The copy's path comes from the manifest,
 * else a free path is chosen. Throws lab_busy while the source changes, lab_exists if the manifest's path is taken.
 */
export async function importProject(
  context: ChangeParts,
  caller: Caller,
  payload: ImportPayload,
  call: ChangeCall,
): Promise<ImportData | JobStarted> {
  const manifest = checkFields(payload);
  // The client's own intent and state belong to another project: they are neither used nor changed.
  const source = await addressProject(context, caller, { lab: payload.lab });
  allowUse({ caller, path: source.path }, "edit");
  if (!(await source.host.capabilities()).features.importLab) throw unsupported("importLab");
  context.jobs.refuseBusy(source.path);
  const observed = await source.host.observe(source.path);
  if (observed === null) throw labNotFound(source.path);

  const own = await context.sessions.hostSession(caller);
  const replace = payload.replace === true;
  const path = await copyPath(context, caller, own, source.path, manifest, replace);
  const rules = await source.host.rules();
  const ids = joinIds(source.intent?.lab ?? null, observed, source.ids);
  const captured = readLab({ observed, rules, ids, ...(source.intent !== undefined && { base: source.intent.lab }) });
  // A copy without the secrets would be a different lab, and a copy with them would disclose them.
  if (!mayReadSecrets(source) && !sameValue(maskLab(captured), captured)) {
    throw new Failure("operation_not_allowed", `${source.path} holds secrets: copying it needs the right to edit it`);
  }
  // Under the source's own name the copy's text alone would address the source.
  const name = path === source.path ? captured.name : toLabName(path.slice(path.lastIndexOf("/") + 1));
  const lab = { ...captured, name };
  const text = await textOf(context, source, lab);
  const intent = await readSent(context, text.yaml, text.files).catch(notCopied(source.path));
  const from: ImportSource = {
    format: context.host.kind,
    lab: source.path,
    host: { kind: context.host.kind, url: context.host.url },
    imported_at: timeText(context.clock.now()),
    digest: definitionDigest(observed),
    report: fidelityReport({ observed, captured, ids, intent, lines: await context.work.lines(intent.yaml, intent.files) }),
  };
  const place = await placeOf(context, caller, path, context.store.labs.get(path));
  const target: Target = { ...place, mode: "import", intent, sent: true, source: from };
  const request: ImportRequest = { yaml: intent.yaml, files: intent.files, replace, source: from, ids, secrets: mayReadSecrets(source) };
  return runChange(context, target, call, importKind, request);
}

/** Safe to repeat: existing parts of the copy stay. */
async function importLab({ context, job, target }: ChangeRun, request: ImportRequest): Promise<ImportData> {
  const intent = await neededIntent(target);
  const { path } = target;
  const options = { direction: "to_host", prune: false, replace: request.replace } as const;
  const planned = await planAgainstHost(context, target, intent, options);
  const plan = { ...planned.plan, blocked: copyProblems(planned.plan.blocked, intent) };
  await refuseBlocked(context, plan, intent).catch(notCopied(request.source.lab));
  const declared = new Set(intent.lab.nodes.filter(({ start }) => start === true).map(({ key }) => key));
  // A copy needs no resources of the machine until somebody starts it.
  const operations = planned.plan.operations.filter(({ step }) => step.do !== "start" || declared.has(step.node));
  const ids = planned.observed === null ? noIds : planned.ids;
  const state = await applyIntent(context, job, target, intent, { operations, ids, replace: request.replace });
  const extras = await copyExtras(context, target, request);
  const after = await planAgainstHost(context, { ...target, ids: context.store.labs.get(path)?.ids ?? noIds }, intent, {
    ...options,
    replace: false,
    explain: true,
  });
  const source: ImportSource = { ...request.source, report: [...request.source.report, ...extras, ...lostLines(after.plan)] };
  const record = context.store.labs.get(path);
  if (record !== undefined) await context.store.labs.put({ ...record, source });
  const { kind, url } = context.host;
  return {
    name: intent.lab.name,
    yaml: intent.yaml,
    files: intent.files,
    mode: "import",
    source_lab: request.source.lab,
    managed_lab: path,
    lab: path,
    state,
    source,
    manifest: printManifest({
      version: 1,
      mode: "import",
      lab: path,
      intent: `${intent.lab.name}.clab.yml`,
      files: Object.keys(intent.files).sort(),
      host: { kind, url },
    }),
  };
}

/**
 * Copies the parts of the source that its definition does not contain, and adds them to the report. If this fails, the error states that the copy exists without them.
 */
async function copyExtras(
  context: StorePart,
  { host, path }: Target,
  { source, ids = noIds, secrets = false }: ImportRequest,
): Promise<readonly ReportLine[]> {
  if (host.copyExtras === undefined) return [];
  try {
    const to = context.store.labs.get(path)?.ids ?? noIds;
    return (await host.copyExtras(source.lab, path, { from: ids, to, configs: secrets })).map(extraLine);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message = `the copy ${path} lacks what ${source.lab} has beyond its definition, such as drawings: ${error.message}; import it again with replace`;
    throw new Failure(error.code, message, { ...(error.data !== undefined && { data: error.data }), cause: error });
  }
}

/** Parts of the source's intent that are missing in the copy, because the host dropped them. */
function lostLines({ actions, unsupported: missing }: Awaited<ReturnType<typeof planAgainstHost>>["plan"]): readonly ReportLine[] {
  return [
    ...actions
      .filter(({ op }) => op !== "start" && op !== "stop")
      .map(({ kind, key, line, changes }): ReportLine => {
        const message = `the copy differs in ${changes.map(({ field }) => field).join(", ") || "this"}`;
        return { path: `/${kind}/${key}`, ...(line !== undefined && { line }), level: "dropped", message };
      }),
    ...missing.map((text): ReportLine => ({ path: "/", level: "dropped", message: text })),
  ];
}

/** A managed source keeps its text with comments. Without a text, or if the caller may not read its secrets, the lab is printed. */
async function textOf({ work }: WorkPart, source: Target, lab: Intent["lab"]): Promise<IntentText> {
  const { intent } = source;
  return intent === undefined || !mayReadSecrets(source) ? printLab(lab) : work.edit(intent.yaml, intent.files, lab);
}

/** A fingerprint that stays equal until the lab changes on its host. Power states are not part of it. */
export function definitionDigest(observed: ObservedLab): string {
  return createHash("sha256")
    .update(canonicalText(persistedLab(observed)))
    .digest("hex");
}

async function copyPath(
  context: HostPart & StorePart,
  caller: Caller,
  host: Target["host"],
  source: string,
  manifest: Manifest | undefined,
  replace: boolean,
): Promise<string> {
  const onHost = new Set(await host.labs());
  const taken = (path: string) => onHost.has(path) || context.store.labs.get(path) !== undefined;
  if (manifest?.lab !== undefined) {
    const checked = checkLabPath(manifest.lab);
    if ("problem" in checked) throw badRequest("/manifest", checked.problem);
    const record = context.store.labs.get(checked.path);
    refuseOutOfReach(caller, checked.path);
    if (checked.path === source) throw badRequest("/manifest", "the working copy needs another path than the source");
    if (await isHidden(context, caller, checked.path)) throw pathNotAvailable(checked.path);
    if (!taken(checked.path)) return checked.path;
    if (!replace || record === undefined) throw new Failure("lab_exists", `${checked.path} exists; set replace to true to recreate it`);
    allowUse({ caller, record, path: checked.path }, "edit");
    return checked.path;
  }
  for (let number = 1; ; number += 1) {
    const path = withSuffix(source, number === 1 ? "-import" : `-import-${number}`);
    if (taken(path) || (await isHidden(context, caller, path))) continue;
    refuseOutOfReach(caller, path);
    return path;
  }
}

/** Returns a path in the same folder. A name that would be too long is shortened. */
function withSuffix(path: string, suffix: string): string {
  const at = path.lastIndexOf("/") + 1;
  return `${path.slice(0, at)}${path.slice(at, at + 64 - suffix.length)}${suffix}`;
}
