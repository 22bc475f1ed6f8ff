import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { Endpoint, LabLink, LabNetwork } from "../../intent/lab/lab.ts";
import type { NativeIds } from "../host.ts";
import { type Half, halfName, type Merged, ownId, vniOf } from "./merge.ts";

/** The network between the machines, as one of them has it. */
export interface Underlay {
  readonly address: string;
  /** The largest MTU of links between machines. */
  readonly mtu: number;
}

export interface SplitFacts {
  readonly home: number;
  /** The machine of each node and network, by key. */
  readonly places: ReadonlyMap<string, number>;
  readonly merged: Merged | undefined;
  readonly ids: NativeIds;
  readonly underlays: ReadonlyMap<number, Underlay>;
  readonly nameOf: (machine: number) => string;
  /** The numbers of the tunnels of links between machines, by key of the link. */
  readonly vnis: ReadonlyMap<string, number>;
}

export const defaultMtu = 1500;

/** Returns the machines of the ends of a link. */
export function machinesOf(places: ReadonlyMap<string, number>, { endpoints }: Pick<LabLink, "endpoints">): readonly [number, number] {
  const at = (end: Endpoint) => places.get("node" in end ? nodeWord(end.node) : networkWord(end.network)) ?? Number.NaN;
  return [at(endpoints[0]), at(endpoints[1])];
}

/** Nodes and networks may have the same key. */
export function nodeWord(key: string): string {
  return `node ${key}`;
}
export function networkWord(key: string): string {
  return `network ${key}`;
}

/** Returns the largest MTU of a link between two machines. */
export function cutMtu(link: Pick<LabLink, "mtu">, underlays: readonly Underlay[]): number {
  return Math.min(link.mtu ?? defaultMtu, ...underlays.map(({ mtu }) => mtu));
}

/** Returns the steps of each machine. A step on a link between machines is a step on each half. */
export function splitSteps(batch: readonly Operation[], facts: SplitFacts): ReadonlyMap<number, readonly Operation[]> {
  const steps = new Map<number, Operation[]>();
  const push = (machine: number | undefined, operation: Operation) => {
    const at = machine ?? facts.home;
    steps.set(at, [...(steps.get(at) ?? []), operation]);
  };
  for (const operation of batch) {
    const { step } = operation;
    switch (step.do) {
      case "create-node":
      case "update-node":
        push(facts.places.get(nodeWord(step.node.key)), operation);
        break;
      case "delete-node":
      case "start":
      case "stop":
      case "wipe":
        push(facts.places.get(nodeWord(step.node)), operation);
        break;
      case "create-network":
      case "update-network":
        push(facts.places.get(networkWord(step.network.key)), operation);
        break;
      case "delete-network":
        push(facts.places.get(networkWord(step.network)), operation);
        break;
      case "create-link":
      case "update-link": {
        const [a, b] = machinesOf(facts.places, step.link);
        for (const half of strayHalves(step.link, facts))
          for (const one of removalSteps(operation, half.network.name, half)) push(half.machine, one);
        if (a === b) push(a, operation);
        else for (const side of [0, 1] as const) for (const one of halfSteps(operation, step, side, facts)) push(side === 0 ? a : b, one);
        break;
      }
      case "delete-link": {
        const known = facts.ids.links[step.link];
        const vni = vniOf(known);
        if (vni === undefined) push(known === undefined ? undefined : ownId(facts.home, known).machine, operation);
        else
          for (const half of facts.merged?.cuts.get(vni) ?? [])
            if (half !== undefined) for (const one of removalSteps(operation, step.link, half)) push(half.machine, one);
        break;
      }
      default:
        push(facts.home, operation);
    }
  }
  return steps;
}

/** Returns the halves that an interrupted change has left at the ends of a link, and that are not those of the link as it is made now. */
function strayHalves(link: LabLink, { home, ids, merged, places, vnis }: SplitFacts): readonly Half[] {
  const [a, b] = machinesOf(places, link);
  return [...(merged?.cuts ?? [])].flatMap(([vni, halves]) => {
    if (halves.every((half) => half !== undefined)) return [];
    return halves.filter(
      (half): half is Half =>
        half !== undefined &&
        (a === b || vni !== vnis.get(link.key) || ![a, b].includes(half.machine)) &&
        link.endpoints.some((end) => {
          if (!("node" in end) || end.interface !== half.node.interface) return false;
          const { machine, id } = ownId(home, ids.nodes[end.node] ?? "");
          return machine === half.machine && id === half.node.nodeId;
        }),
    );
  });
}

function halfSteps(
  operation: Operation,
  { do: what, link, ...fields }: Extract<Operation["step"], { readonly do: "create-link" | "update-link" }>,
  side: 0 | 1,
  { places, underlays, nameOf, vnis, merged, ids }: SplitFacts,
): readonly Operation[] {
  const machines = machinesOf(places, link);
  const end = link.endpoints[side];
  if (!link.endpoints.every((one) => "node" in one)) throw acrossMachines(link, machines.map(nameOf));
  const [own, other] = [machines[side], machines[side === 0 ? 1 : 0]].map((machine) => {
    const found = underlays.get(machine);
    if (found !== undefined) return found;
    throw new Failure(
      "machine_unreachable",
      `link ${link.key}: the machine ${nameOf(machine)} reports no address for links between machines`,
      {
        data: { machine: nameOf(machine) },
      },
    );
  }) as [Underlay, Underlay];
  const vni = vnis.get(link.key)!;
  const name = halfName(vni, side, link.mtu);
  const mtu = cutMtu(link, [own, other]);
  const network: LabNetwork = { key: name, name, type: "vxlan", vxlan: { remote: other.address, vni, cut: { mtu } } };
  const { quality, suspended, ...rest } = link;
  const [ownQuality, isSuspended] = side === 0 ? [quality?.a, suspended?.a] : [quality?.b, suspended?.b];
  const half = {
    ...rest,
    endpoints: [end, { network: name }] as const,
    mtu,
    ...(ownQuality !== undefined && { quality: { a: ownQuality } }),
    ...(suspended !== undefined && { suspended: { a: isSuspended === true, b: false } }),
  } as LabLink;
  // Ends that have changed places, another MTU, or another machine at the other end.
  const before = merged?.cuts.get(vni)?.find((one) => one?.machine === machines[side]);
  const isSame = before?.network.name === name && before.network.vxlan?.remote === other.address;
  return [
    ...(before === undefined || isSame
      ? []
      : removalSteps(operation, ids.links[link.key] === undefined ? before.network.name : link.key, before)),
    { ...operation, step: { do: "create-network", network } },
    { ...operation, step: { do: what, link: half, ...fields } as Operation["step"] },
  ];
}

function removalSteps(operation: Operation, link: string, { network }: Half): readonly Operation[] {
  return [
    { ...operation, step: { do: "delete-link", link } },
    { ...operation, step: { do: "delete-network", network: network.name } },
  ];
}

export function acrossMachines(link: Pick<LabLink, "key">, machines: readonly string[]): Failure {
  return new Failure(
    "bad_request",
    `link ${link.key}: the node and the network are on the machines ${machines.join(" and ")}, and a network of a spread lab is on one machine: link the ` +
      "node to a switch node instead, or deploy the lab again",
  );
}

/** Returns the ids that one machine knows, of those of the whole lab. */
export function ownIds(ids: NativeIds, machine: number, { home, merged }: Pick<SplitFacts, "home" | "merged">): NativeIds {
  const own = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).flatMap(([key, id]) => {
      const found = ownId(home, id);
      return found.machine === machine && vniOf(id) === undefined ? [[key, found.id] as const] : [];
    });
  const halves = [...(merged?.cuts.entries() ?? [])].flatMap(([vni, both]) =>
    both.flatMap((half) => (half?.machine === machine ? [{ vni, half }] : [])),
  );
  const linkKeys = new Map(Object.entries(ids.links).map(([key, id]) => [vniOf(id), key]));
  return {
    nodes: Object.fromEntries(own(ids.nodes)),
    networks: Object.fromEntries([...own(ids.networks), ...halves.map(({ half: { network } }) => [network.name, network.id] as const)]),
    links: Object.fromEntries([
      ...own(ids.links),
      // Halves of links that nobody knows, after an interrupted change, have the names of their networks.
      ...halves.map(({ vni, half }) => [linkKeys.get(vni) ?? half.network.name, half.link.id] as const),
    ]),
  };
}
