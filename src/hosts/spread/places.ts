import { Failure } from "../../contract/errors.ts";
import type { HostRules, Operation } from "../../engine/model/plan.ts";
import { type SpreadMachine, type SpreadPart, spreadParts } from "../../engine/spread/partition.ts";
import type { LabLink } from "../../intent/lab/lab.ts";
import type { NativeIds } from "../host.ts";
import { type Merged, ownId } from "./merge.ts";
import { networkWord, nodeWord } from "./split-steps.ts";

/** Memory of a node that has no limit of its own, MiB. */
const nodeMemory = 32;

export interface PlacesFacts {
  readonly home: number;
  readonly merged: Merged | undefined;
  readonly ids: NativeIds;
  readonly rules: Pick<HostRules, "templates">;
  /** The machines that may get new nodes. */
  readonly machines: readonly SpreadMachine[];
  /** Nodes with the same label `group` stay together. */
  readonly byGroup: boolean;
}

/**
 * Returns the machine of each node and network that exists or that the steps make, by key. Nodes of one network are on one machine. Throws host_error if the new
 * nodes do not fit.
 */
export function placesOf(operations: readonly Operation[], facts: PlacesFacts): ReadonlyMap<string, number> {
  const { home, merged, ids } = facts;
  const parts = new Map<string, { readonly memory: number; readonly at?: number; readonly label?: string }>();
  const words = new Map<string, string>();
  const labelled = (labels: Readonly<Record<string, string>>) => {
    const label = facts.byGroup ? labels["group"] : undefined;
    return label === undefined ? {} : { label };
  };
  const add = (word: string, id: string, labels: Readonly<Record<string, string>> = {}) => {
    words.set(id, word);
    parts.set(word, { memory: 0, at: ownId(home, id).machine, ...labelled(labels) });
  };
  for (const { id, labels } of merged?.lab.nodes ?? []) add(nodeWord(keyOf(ids.nodes, id)), id, labels);
  for (const { id } of merged?.lab.networks ?? []) add(networkWord(keyOf(ids.networks, id)), id);
  // A switch is a bridge, without a process of its own.
  const needs = new Map(facts.rules.templates.map(({ id, need, type }) => [id, need ?? (type === "switch" ? 0 : undefined)]));
  const ends: (readonly [string, string])[] = [];
  const endOf = (end: LabLink["endpoints"][number]) => ("node" in end ? nodeWord(end.node) : networkWord(end.network));
  for (const { step } of operations) {
    if (step.do === "create-network" && !parts.has(networkWord(step.network.key))) parts.set(networkWord(step.network.key), { memory: 0 });
    if (step.do === "create-link") ends.push([endOf(step.link.endpoints[0]), endOf(step.link.endpoints[1])]);
    if (step.do !== "create-node" || parts.has(nodeWord(step.node.key))) continue;
    const memory = step.node.ram ?? needs.get(step.node.template) ?? nodeMemory;
    parts.set(nodeWord(step.node.key), { memory, ...labelled(step.node.labels) });
  }
  for (const { endpoints } of merged?.lab.links ?? []) {
    const [a, b] = endpoints.map((end) => words.get("nodeId" in end ? end.nodeId : end.networkId));
    if (a !== undefined && b !== undefined) ends.push([a, b]);
  }
  const groups = groupsOf(parts, ends);
  const isNew = [...parts.values()].some(({ at }) => at === undefined);
  if (!isNew) return new Map([...parts].map(([word, { at }]) => [word, at!]));
  const found = spreadParts({
    parts: [...parts].map(([key, { memory, at }]): SpreadPart => {
      const group = groups.get(key);
      return { key, memory, ...(at !== undefined && { at }), ...(group !== undefined && { group }) };
    }),
    links: ends,
    machines: facts.machines,
  });
  if ("refused" in found)
    throw new Failure("host_error", `the lab cannot be spread over the machines of the fleet: ${found.refused}`, {
      data: { host: found.refused, hint: "labwright machines list shows the room of the machines" },
    });
  return merged === undefined || merged.lab.nodes.length === 0
    ? withHome(found.places, { parts, machines: facts.machines, home })
    : found.places;
}

/** A new lab without nodes on its home machine would need one machine more to answer: those of another machine are there instead, if they fit. */
function withHome(
  places: ReadonlyMap<string, number>,
  {
    parts,
    machines,
    home,
  }: {
    readonly parts: ReadonlyMap<string, { readonly memory: number }>;
    readonly machines: readonly SpreadMachine[];
    readonly home: number;
  },
): ReadonlyMap<string, number> {
  const used = new Map<number, number>();
  for (const [key, machine] of places) used.set(machine, (used.get(machine) ?? 0) + parts.get(key)!.memory);
  const room = machines.find(({ number }) => number === home)?.room;
  if (room === undefined || used.has(home)) return places;
  const [moved] = [...used].filter(([, memory]) => memory <= room).sort(([a, x], [b, y]) => y - x || a - b)[0] ?? [];
  return moved === undefined ? places : new Map([...places].map(([key, machine]) => [key, machine === moved ? home : machine]));
}

function keyOf(keys: Readonly<Record<string, string>>, id: string): string {
  let known = inverse.get(keys);
  if (known === undefined) {
    known = new Map(Object.entries(keys).map(([key, one]) => [one, key]));
    inverse.set(keys, known);
  }
  // A node that was made by hand has no key.
  return known.get(id) ?? `#${id}`;
}

const inverse = new WeakMap<object, ReadonlyMap<string, string>>();

/** Joins the nodes of each network, and those with one label. Parts that exist on several machines already are left alone. */
function groupsOf(
  parts: ReadonlyMap<string, { readonly label?: string; readonly at?: number }>,
  ends: readonly (readonly [string, string])[],
): ReadonlyMap<string, string> {
  const leader = new Map<string, string>();
  const find = (word: string): string => {
    let at = word;
    while (leader.has(at) && leader.get(at) !== at) at = leader.get(at)!;
    return at;
  };
  const join = (a: string, b: string) => {
    const [x, y] = [find(a), find(b)].sort();
    leader.set(y!, x!);
    leader.set(x!, x!);
  };
  for (const [a, b] of ends) if (a.startsWith(networkWord("")) || b.startsWith(networkWord(""))) join(a, b);
  const labelled = new Map<string, string>();
  for (const [word, { label }] of parts) {
    if (label === undefined) continue;
    if (labelled.has(label)) join(labelled.get(label)!, word);
    else labelled.set(label, word);
  }
  const groups = new Map([...parts.keys()].flatMap((word) => (leader.has(word) ? [[word, find(word)] as const] : [])));
  const machines = new Map<string, Set<number>>();
  for (const [word, group] of groups) {
    const { at } = parts.get(word)!;
    if (at !== undefined) machines.set(group, (machines.get(group) ?? new Set()).add(at));
  }
  return new Map([...groups].filter(([, group]) => (machines.get(group)?.size ?? 0) <= 1));
}
