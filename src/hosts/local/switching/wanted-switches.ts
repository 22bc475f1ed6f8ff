import { createHash } from "node:crypto";
import { interfaceNaming } from "../../../base/names/interface-names.ts";
import type { LacpMode, SpanningTreeMode, Switching, SwitchPort } from "../../../intent/lab/switching.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { macAddress } from "../definitions/mac-address.ts";
import type { LocalTemplate } from "../templates/template.ts";

/** A bridge of Open vSwitch that the definition asks for. */
export interface WantedSwitch {
  /** `s<node>`. */
  readonly name: string;
  readonly node: number;
  readonly mac: string;
  readonly spanningTree: { readonly mode: SpanningTreeMode; readonly priority: number };
  readonly ports: readonly WantedSwitchPort[];
  /** Names of ports. */
  readonly mirror?: { readonly from: readonly string[]; readonly to: string };
  /** Changes with everything above. */
  readonly digest: string;
}

export interface WantedSwitchPort {
  /** The name in Open vSwitch: that of its only device, or `s<node>-<group>`. */
  readonly name: string;
  /** The name in the lab: eth1, lag1. */
  readonly label: string;
  readonly interfaces: readonly SwitchInterface[];
  readonly vlans: SwitchPort;
  readonly lacp?: LacpMode;
}

export interface SwitchInterface {
  /** `n<node>x<index>`, in the net namespace of Open vSwitch. */
  readonly device: string;
  readonly label: string;
}

/** Returns whether the node is a switch with VLANs, which Open vSwitch runs. */
export const isVlanSwitch = (node: Pick<DefinedNode, "template" | "switching">, template: LocalTemplate | undefined): boolean =>
  template?.backend === "bridge" && node.switching !== undefined;

export function switchName(node: number): string {
  return `s${node}`;
}

/** Returns the VLAN-aware switches that should run. Only interfaces with a link have a port. */
export function wantedSwitches(definition: LabDefinition, template: (id: string) => LocalTemplate | undefined): readonly WantedSwitch[] {
  const nodes = definition.nodes.filter((node) => node.power === "running" && isVlanSwitch(node, template(node.template)));
  if (nodes.length === 0) return [];
  const linked = new Map<number, string[]>();
  for (const end of definition.links.flatMap(({ endpoints }) => endpoints)) {
    if (!("node" in end)) continue;
    const names = linked.get(end.node);
    if (names === undefined) linked.set(end.node, [end.interface]);
    else names.push(end.interface);
  }
  return nodes.map((node) => wantedSwitch(definition.id, node, template(node.template)?.ethFormat ?? "eth{0}", linked.get(node.id) ?? []));
}

function wantedSwitch(lab: string, { id, switching = {} }: DefinedNode, format: string, linked: readonly string[]): WantedSwitch {
  const naming = interfaceNaming(format);
  const found = linked.flatMap((label): (SwitchInterface & { readonly index: number })[] => {
    const index = naming.index(label);
    return index === undefined ? [] : [{ device: `n${id}x${index}`, label, index }];
  });
  const interfaces = new Map(found.sort((a, b) => a.index - b.index).map(({ device, label }) => [label, { device, label }]));
  const ports = wantedPorts(id, switching, interfaces);
  const { mode = "off", priority = 32_768 } = switching.spanningTree ?? {};
  const mirror = wantedMirror(switching, ports);
  const rest = {
    name: switchName(id),
    node: id,
    // No interface has this index. Without a fixed address, the bridge's identity would change with its ports.
    mac: macAddress(lab, id, 255),
    spanningTree: { mode, priority },
    ports,
    ...(mirror !== undefined && { mirror }),
  };
  return { ...rest, digest: createHash("sha256").update(JSON.stringify(rest)).digest("hex").slice(0, 32) };
}

function wantedPorts(
  node: number,
  { interfaces: declared = {}, lag = {}, mirror }: Switching,
  linked: ReadonlyMap<string, SwitchInterface>,
): readonly WantedSwitchPort[] {
  const members = new Set<string>();
  const groups = Object.entries(lag).flatMap(([label, { members: names, lacp = "active", ...vlans }]): WantedSwitchPort[] => {
    const there = names.flatMap((name) => linked.get(name) ?? []);
    for (const { label: member } of there) members.add(member);
    const [first, second] = there;
    if (first === undefined) return [];
    const name = second === undefined ? first.device : `${switchName(node)}-${label}`;
    return [{ name, label, interfaces: there, vlans, lacp }];
  });
  const single = [...linked.values()].filter(({ label }) => !members.has(label));
  return [
    ...single.map((one): WantedSwitchPort => {
      const own = Object.hasOwn(declared, one.label) && one.label !== mirror?.to ? declared[one.label] : undefined;
      return { name: one.device, label: one.label, interfaces: [one], vlans: own ?? { mode: "access" } };
    }),
    ...groups,
  ];
}

/** Returns the mirror, if its output and at least one of its sources are linked. */
function wantedMirror({ mirror }: Switching, ports: readonly WantedSwitchPort[]): WantedSwitch["mirror"] {
  if (mirror === undefined) return undefined;
  const names = new Map(ports.map(({ label, name }) => [label, name]));
  // A member of a group has no port of its own: its group is mirrored.
  for (const { name, interfaces } of ports) for (const { label } of interfaces) names.set(label, names.get(label) ?? name);
  const from = [...new Set(mirror.from.flatMap((label) => names.get(label) ?? []))];
  const to = names.get(mirror.to);
  return to === undefined || from.length === 0 ? undefined : { from, to };
}
