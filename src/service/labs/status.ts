import { Failure } from "../../contract/errors.ts";
import type { LiveData, LiveNetemData, LiveNodeData, StatusData } from "../../contract/schemas/observe.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { share } from "../../contract/shared-answer.ts";
import { type EndpointKeys, endpointKeys, endpointOf, joinIds, nodeKeys } from "../../engine/compare/join.ts";
import type { ObservedLab, ObservedLink } from "../../engine/model/observed.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import type { LiveStatus } from "../../hosts/host.ts";
import { endpointText } from "../../intent/lab/lab.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { orIfFailed } from "../common/or-if-failed.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressProject, makes } from "../context/address.ts";
import { mayReadSecrets, originOf } from "../context/allow.ts";
import { chosenNodes, liveOf, refuseUnknown } from "../context/chosen-nodes.ts";
import { sourceOf } from "../context/lab-source.ts";
import { movedTo } from "../context/moved.ts";
import type { ConditionsPart, JobsPart, LookupParts, ObservationsPart, ResumePart, UsesPart } from "../context/parts.ts";
import { isQuarantined } from "../context/quarantine.ts";
import type { Target } from "../context/target.ts";
import { usesOf } from "../leases/lease.ts";
import { ownMachine } from "../placement/own-machine.ts";
import { resumeState } from "../power/resume.ts";
import { includes, rightOn } from "../sessions/rights.ts";

/** Maximum age of the cached structure, ms. It changes rarely and only provides names. Shown data is at most twice as old. */
const structureMs = 2_500;

/** The light live poll. A failed live read is an answer (live.available false), not an error. */
export async function projectStatus(
  context: LookupParts & JobsPart & ObservationsPart & ResumePart & ConditionsPart & UsesPart,
  caller: Caller,
  payload: ProjectPayload,
): Promise<StatusData> {
  const target = await addressProject(context, caller, payload);
  const { path, host, record, mode, intent } = target;
  using limit = new Limit(hostMs);
  const read = await readLive(context, target, limit);
  const failed = read instanceof Failure;
  const exists = read !== null && (!failed || record?.labId !== undefined);
  // If the host does not answer, it is unknown whether the lab exists: that is a failed read, not a missing lab.
  if (read === null && record === undefined && !makes(context, caller, path)) throw labNotFound(path);
  const reading = () => limit.of(context.observations.recentStructure(host, path, structureMs));
  // If the structure cannot be read, the rows have no names.
  const structure = read === null ? null : await reading().catch(orIfFailed(null));
  const quarantined = read === null && (await isQuarantined(context, path, record));
  // If the labs of the host cannot be read, a missing lab is reported without its new path.
  const moved = read === null && !quarantined ? await limit.of(movedTo(context, target)).catch(orIfFailed(undefined)) : undefined;
  const right = record && rightOn(record, caller);
  const operation = context.jobs.running(path);
  const last = record === undefined && caller.role !== "admin" ? undefined : context.store.jobs.lastEnd(path, record);
  const resume = await resumeState(context, path, record, read === null || failed ? [] : read.nodes);
  const mayRun = right === undefined ? caller.role === "admin" : includes(right, "operate") && caller.role !== "viewer";
  const whole = exists || failed ? await withConditions(context, target, liveData(target, read, structure), mayRun) : undefined;
  const live = whole === undefined || mayReadSecrets(target) ? whole : withoutSecrets(whole);
  const chosen = chosenNodes(payload);
  // A failed read does not prove that a node is missing.
  if (chosen !== undefined && (live === undefined || live.available)) refuseUnknown(chosen, live?.nodes ?? [], target);
  return {
    lab: path,
    ...ownMachine(context.store),
    name: structure?.name ?? intent?.lab.name ?? path.split("/").at(-1)!,
    mode,
    ...(right !== undefined && { right }),
    exists,
    ...(quarantined && { quarantined }),
    ...(moved !== undefined && { moved_to: moved }),
    locked: structure?.locked ?? false,
    ...(operation !== undefined && { operation }),
    ...(last !== undefined && {
      last_job: {
        job: last.id,
        operation: last.operation,
        outcome: last.outcome,
        finished_at: timeText(last.finishedAt),
        ...(last.failedEarly && { failed_early: true }),
      },
    }),
    ...originOf(target),
    ...sourceOf(target, payload.report === true),
    ...(resume !== undefined && { resume }),
    ...usesOf(context, record),
    ...(live !== undefined && { live: chosen === undefined ? live : liveOf(live, chosen) }),
  };
}

/** How long an answer waits for conditions that are checked, ms. */
const conditionsMs = 1000;

/** Adds the conditions of the intent to the rows of running nodes. @param mayRun whether the caller may run programs in nodes: others get known results */
async function withConditions(
  { conditions }: ConditionsPart,
  { host, path, intent }: Target,
  live: LiveData,
  mayRun: boolean,
): Promise<LiveData> {
  const wanted = new Map(intent?.lab.boots?.flatMap((boot) => (boot.ready.length > 0 ? [[boot.node, boot] as const] : [])));
  if (wanted.size === 0 || live.nodes === undefined || host.processes === undefined) return live;
  const keyOf = ({ unique_key: key, name }: LiveNodeData) => key ?? name;
  const rows = live.nodes.flatMap((row) => {
    const boot = wanted.get(keyOf(row));
    if (boot === undefined) return [];
    if (row.status !== "running") conditions.forget(path, row.id);
    return row.status === "running" && row.ready !== false ? [{ row, boot }] : [];
  });
  const missing = await conditions.missing(mayRun ? host : undefined, path, rows, conditionsMs);
  const nodes = live.nodes.map((row) => {
    if (!wanted.has(keyOf(row)) || row.status !== "running" || row.ready === false) return row;
    const reason = missing.get(row.id);
    return reason === undefined ? { ...row, ready: true } : { ...row, ready: false, not_ready: reason };
  });
  return { ...live, nodes };
}

/** A condition, or a command of `exec`, may quote a secret of the intent in the reason why a node is not ready. */
function withoutSecrets(live: LiveData): LiveData {
  if (live.nodes?.every(({ not_ready: reason }) => reason === undefined || maskText(reason) === reason) !== false) return live;
  return {
    ...live,
    nodes: live.nodes.map((row) => (row.not_ready === undefined ? row : { ...row, not_ready: maskText(row.not_ready) })),
  };
}

/** Milliseconds in which the host has to answer: the call itself has 15 s, and a host that hangs must not end it. */
const hostMs = 12_000;

/** One time for several reads. */
class Limit implements Disposable {
  readonly #over: Promise<never>;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#over = new Promise((_resolve, reject) => {
      this.#timer = setTimeout(() => reject(new Failure("host_timeout", `the host did not answer within ${ms / 1000} s`)), ms);
    });
    // Avoids an unhandled rejection if no caller waits any more.
    this.#over.catch(() => undefined);
  }

  /** Throws host_timeout if the time is over first; the read itself goes on for others. */
  of<T>(read: Promise<T>): Promise<T> {
    return Promise.race([read, this.#over]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** null: the host has no such lab. A failure: nothing could be read. */
async function readLive(context: ObservationsPart, { host, path }: Target, limit: Limit): Promise<LiveStatus | Failure | null> {
  try {
    return await limit.of(context.observations.status(host, path));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.code === "lab_not_found") return null;
    // Without a session nothing can be read until the user logs in again: that is not a failed read.
    // A path that no lab can have is the caller's mistake.
    if (error.code === "expired_host_session" || error.code === "bad_request") throw error;
    return error;
  }
}

/** The rows last computed from a read: all pollers of one interval share them. */
const shown = new WeakMap<LiveStatus, Shown>();

interface Shown {
  readonly intent: Target["intent"] | undefined;
  readonly ids: Target["ids"];
  readonly structure: ObservedLab | null;
  readonly live: LiveData;
}

function liveData(target: Target, read: LiveStatus | Failure | null, structure: ObservedLab | null): LiveData {
  if (read === null) return { available: false };
  if (read instanceof Failure) return { available: false, error: { code: read.code, error: read.message } };
  const known = shown.get(read);
  if (known !== undefined && known.structure === structure && known.intent === target.intent && known.ids === target.ids) return known.live;
  const live = share(joinLive(target, read, structure));
  shown.set(read, { intent: target.intent, ids: target.ids, structure, live });
  return live;
}

/** The intent keys for the links of a read. */
interface Names {
  readonly intent: Target["intent"] | undefined;
  readonly ids: Target["ids"];
  readonly linkKeys: ReadonlyMap<string, string>;
  readonly links: ReadonlyMap<string, ObservedLink>;
  readonly ends: EndpointKeys;
}

/** Cached by its inputs, which rarely change, while reads come several times per second. */
const named = new WeakMap<ObservedLab, Names>();

function namesOf(target: Target, structure: ObservedLab | null): Names {
  const before = structure === null ? undefined : named.get(structure);
  if (before !== undefined && before.intent === target.intent && before.ids === target.ids) return before;
  const ids = structure === null ? target.ids : joinIds(target.intent?.lab ?? null, structure, target.ids);
  const names: Names = {
    intent: target.intent,
    ids: target.ids,
    linkKeys: new Map(Object.entries(ids.links).map(([key, id]) => [id, key])),
    links: new Map((structure?.links ?? []).map((link) => [link.id, link])),
    ends: endpointKeys(ids),
  };
  if (structure !== null) named.set(structure, names);
  return names;
}

function joinLive(target: Target, read: LiveStatus, structure: ObservedLab | null): LiveData {
  const { linkKeys, links, ends } = namesOf(target, structure);
  const lab = target.intent?.lab;
  const known = lab && new Set(lab.nodes.map(({ key }) => key));
  // From the rows themselves: the structure may be older, or not readable.
  const keys = nodeKeys(lab ?? null, read.nodes, target.ids);
  const nodes = read.nodes.map((row): LiveNodeData => {
    const key = keys.get(row.id) ?? row.name;
    return { ...row, node: known === undefined || known.has(key) ? key : null, unique_key: key };
  });
  const netem = read.links.map(({ id, a, b }): LiveNetemData => {
    const key = linkKeys.get(id);
    const link = links.get(id);
    const endpoints = link === undefined ? (key?.split(" -- ") ?? []) : link.endpoints.map((end) => endpointText(endpointOf(end, ends)));
    return { link: key ?? id, endpoints, ...(a !== undefined && { a }), ...(b !== undefined && { b }) };
  });
  return {
    available: true,
    joined: nodes.every(({ node }) => node !== null),
    nodes: nodes.sort((a, b) => (a.id < b.id ? -1 : 1)),
    netem: netem.sort((a, b) => (a.link < b.link ? -1 : 1)),
  };
}
