import { type EndpointKeys, endpointKeys, type JoinedIds, observedLinkKey } from "../../engine/compare/join.ts";
import { nodeFields } from "../../engine/model/node-fields.ts";
import type { ObservedEndpoint, ObservedLab, ObservedLink, ObservedNetwork, ObservedNode } from "../../engine/model/observed.ts";
import type { Operation } from "../../engine/model/plan.ts";

/** The lab that a change was planned on, and the steps that it ran. */
export interface Before {
  /** null: the lab did not exist, or was replaced. */
  readonly observed: ObservedLab | null;
  readonly ids: JoinedIds;
  readonly operations: readonly Operation[];
  /** All steps are done. Otherwise it is unknown which of them the host has done. */
  readonly isWhole: boolean;
}

interface Read {
  readonly lab: ObservedLab;
  readonly ids: JoinedIds;
}

interface KeyedRead extends Read {
  readonly keys: EndpointKeys;
}

/**
 * Returns the definition to record after a change: the lab as the steps of the change made it. A difference that no step made is a change by hand during
 * the change. It is left out, so that the next plan shows it as changed on the host.
 */
export function withoutHandChanges(read: Read, before: Before): Read {
  const { observed } = before;
  const steps = new Steps(before);
  const after = keyed(read);
  const then = observed === null || observed.id !== after.lab.id || steps.makesLab ? undefined : keyed({ lab: observed, ids: before.ids });
  const nodes = nodesOf(after, then, steps);
  const lab: ObservedLab = {
    ...after.lab,
    ...(then !== undefined && labOf(after.lab, then.lab, steps)),
    nodes,
    networks: networksOf(after, then, steps),
    links: linksOf(after, then, steps),
  };
  return { lab, ids: withDeleted(after, then, lab) };
}

function keyed({ lab, ids }: Read): KeyedRead {
  return { lab, ids, keys: endpointKeys(ids) };
}

/** The steps of a change, by the resource that they change. */
class Steps {
  readonly makesLab: boolean;
  readonly labFields: ReadonlySet<string>;
  readonly #made = new Set<string>();
  readonly #deleted = new Set<string>();
  readonly #links = new Set<string>();
  readonly #settings = new Map<string, readonly Setting[]>();

  constructor({ operations, isWhole }: Before) {
    this.makesLab = operations.some(({ step }) => step.do === "create-lab");
    this.labFields = new Set(operations.flatMap(({ step }) => (step.do === "update-lab" ? Object.keys(step) : [])));
    for (const operation of operations) this.#add(operation, isWhole);
  }

  makes(resource: string): boolean {
    return this.#made.has(resource);
  }

  deletes(resource: string): boolean {
    return this.#deleted.has(resource);
  }

  settings(resource: string): readonly Setting[] {
    return this.#settings.get(resource) ?? [];
  }

  changesLink(key: string): boolean {
    return this.#links.has(key);
  }

  #add({ op, kind, key, changes, step }: Operation, isDone: boolean): void {
    const resource = `${kind === "config" ? "node" : kind} ${key}`;
    if (kind === "link") this.#links.add(key);
    else if (step.do === "create-node" || step.do === "create-network") this.#made.add(resource);
    else if (op === "delete") this.#deleted.add(resource);
    if (step.do === "create-node") this.#set(resource, step.node, nodeFields, isDone);
    else if (step.do === "update-node") this.#set(resource, step.node, step.fields, isDone);
    else if (step.do === "update-network")
      this.#set(
        resource,
        step.network,
        changes.map(({ field }) => field),
        isDone,
      );
  }

  #set(resource: string, from: object, fields: readonly string[], isDone: boolean): void {
    const earlier = this.#settings.get(resource);
    this.#settings.set(resource, earlier === undefined ? [{ from, fields, isDone }] : [...earlier, { from, fields, isDone }]);
  }
}

/** Fields that a step set, with their values in `from`. If the step is not known to be done, the values that the host has now count. */
interface Setting {
  readonly from: object;
  readonly fields: readonly string[];
  readonly isDone: boolean;
}

/** Returns the fields of the lab itself that no step changed, as they were. */
function labOf(after: ObservedLab, before: ObservedLab, { labFields }: Steps): Partial<ObservedLab> {
  const fields = (["name", "description", "management", "texts", "trafficFilters"] as const).filter((field) => !labFields.has(field));
  const kept = Object.fromEntries(fields.map((field) => [field, before[field] ?? after[field]]).filter(([, value]) => value !== undefined));
  return kept as Partial<ObservedLab>;
}

function nodesOf(after: KeyedRead, then: KeyedRead | undefined, steps: Steps): readonly ObservedNode[] {
  return partsOf("node", after, then, steps).map(({ now, was, settings }) => {
    if (now === undefined) return was;
    const node = overlaid(was ?? now, now, settings);
    return node.power === now.power ? node : { ...node, power: now.power };
  });
}

function networksOf(after: KeyedRead, then: KeyedRead | undefined, steps: Steps): readonly ObservedNetwork[] {
  return partsOf("network", after, then, steps).map(({ now, was, settings }) =>
    now === undefined ? was : overlaid(was ?? now, now, settings),
  );
}

/** Returns `base` with the fields that steps have set: `base` itself if it has these values, as nearly always in a large lab. */
function overlaid<T extends object>(base: T, now: T, settings: readonly Setting[]): T {
  let result = base as Fields;
  for (const setting of settings)
    for (const field of setting.fields) {
      const value = valueAfter(setting, field, now as Fields);
      if (value === result[field] && (value !== undefined || !(field in result))) continue;
      const { [field]: _, ...others } = result;
      result = value === undefined ? others : { ...others, [field]: value };
    }
  return result as T;
}

/** Positions are read from the host, which may round them or choose them. Attributes that the step does not name are those of the host. */
function valueAfter({ from, isDone }: Setting, field: string, now: Fields): unknown {
  const given = isDone && field !== "position" ? (from as Fields)[field] : undefined;
  if (given === undefined || given === null) return now[field];
  if (field !== "attributes") return given;
  const attributes = now[field] as Fields;
  return Object.entries(given as Fields).every(([name, value]) => attributes[name] === value) ? attributes : { ...attributes, ...given };
}

type Fields = Readonly<Record<string, unknown>>;

/** A part of the lab. `now` is absent if it was deleted by hand, `was` if a step made it. `settings`: the fields that steps have set. */
type Part<T> =
  | { readonly now: T; readonly was: T | undefined; readonly settings: readonly Setting[] }
  | { readonly now?: undefined; readonly was: T; readonly settings: readonly Setting[] };

type Parts = { readonly node: ObservedNode; readonly network: ObservedNetwork };

/** Returns the nodes or networks that existed before or were made by a step, and were not deleted by one. */
function partsOf<Kind extends keyof Parts>(
  kind: Kind,
  after: KeyedRead,
  then: KeyedRead | undefined,
  steps: Steps,
): readonly Part<Parts[Kind]>[] {
  const list = ({ lab }: Read) => (kind === "node" ? lab.nodes : lab.networks) as readonly Parts[Kind][];
  const keysOf = ({ keys }: KeyedRead) => keys[kind === "node" ? "nodes" : "networks"];
  const before = new Map((then === undefined ? [] : list(then)).map((one) => [one.id, one]));
  const keys = keysOf(after);
  const parts: Part<Parts[Kind]>[] = [];
  for (const now of list(after)) {
    const resource = `${kind} ${keys.get(now.id) ?? now.name}`;
    const isMade = steps.makes(resource);
    const was = isMade ? undefined : before.get(now.id);
    before.delete(now.id);
    if (was !== undefined || isMade) parts.push({ now, was, settings: steps.settings(resource) });
  }
  const oldKeys = then === undefined ? new Map<string, string>() : keysOf(then);
  for (const was of before.values()) {
    const resource = `${kind} ${oldKeys.get(was.id) ?? was.name}`;
    if (!steps.deletes(resource) && !steps.makes(resource)) parts.push({ was, settings: [] });
  }
  return parts;
}

function linksOf(after: KeyedRead, then: KeyedRead | undefined, steps: Steps): readonly ObservedLink[] {
  const before = byKey(then);
  const links: ObservedLink[] = [];
  for (const [key, now] of byKey(after)) {
    const was = before.get(key);
    before.delete(key);
    if (steps.changesLink(key)) links.push(now);
    else if (was !== undefined) links.push(sameEnds(was, now) ? was : now);
  }
  // A link ends with its node, without a step of its own.
  const gone = (node: string) => steps.deletes(`node ${node}`) || steps.makes(`node ${node}`);
  const keys = then?.keys;
  const ended = (link: ObservedLink) =>
    link.endpoints.some((end) =>
      "nodeId" in end ? gone(keys?.nodes.get(end.nodeId) ?? "") : steps.deletes(`network ${keys?.networks.get(end.networkId)}`),
    );
  for (const [key, was] of before) if (!steps.changesLink(key) && !ended(was)) links.push(was);
  return links;
}

function byKey(read: KeyedRead | undefined): Map<string, ObservedLink> {
  return new Map(read?.lab.links.map((link) => [observedLinkKey(link, read.keys), link]));
}

function sameEnds(a: ObservedLink, b: ObservedLink): boolean {
  return a.endpoints.every((end, side) => isSameEnd(end, b.endpoints[side]!));
}

function isSameEnd(a: ObservedEndpoint, b: ObservedEndpoint): boolean {
  if ("networkId" in a) return "networkId" in b && a.networkId === b.networkId;
  return "nodeId" in b && a.nodeId === b.nodeId && a.interface === b.interface;
}

/** Returns the ids after the change, and the ids of parts that were deleted by hand during it. With the id, the next plan finds that the recorded part is missing. */
function withDeleted({ ids }: Read, then: Read | undefined, { nodes, networks }: ObservedLab): JoinedIds {
  if (then === undefined) return ids;
  const kept = (
    now: Readonly<Record<string, string>>,
    old: Readonly<Record<string, string>>,
    recorded: readonly { readonly id: string }[],
  ) => {
    const known = new Set(Object.values(now));
    const wanted = new Set(recorded.map(({ id }) => id).filter((id) => !known.has(id)));
    return { ...Object.fromEntries(Object.entries(old).filter(([key, id]) => wanted.has(id) && !Object.hasOwn(now, key))), ...now };
  };
  return { nodes: kept(ids.nodes, then.ids.nodes, nodes), networks: kept(ids.networks, then.ids.networks, networks), links: ids.links };
}
