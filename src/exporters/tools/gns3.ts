import { type Endpoint, endpointText, type Lab, type LabLink, type LabNetwork, type LabNode } from "../../intent/lab/lab.ts";
import type { SwitchPort } from "../../intent/lab/switching.ts";
import { boxOf, type ShapeBox } from "../../intent/shapes/shape.ts";
import { drawingOf } from "../drawing/drawing.ts";
import type { Exported } from "../shared/exported.ts";
import { leftOut, type NodeField, named } from "../shared/left-out.ts";
import { stableId } from "../shared/stable-id.ts";
import { behindNodes, svgElement } from "../shared/svg-shape.ts";
import { xmlText } from "../shared/xml-text.ts";
import { strongest } from "./cml.ts";
import { interfaceCount, type NumberedEnd, numberedInterfaces } from "./interfaces.ts";
import { kindOf as containerKind } from "./kinds.ts";
import { machineOf } from "./machines.ts";
import { withOneLinkPerNat } from "./nat-networks.ts";
import { containerImages, fileName, frrConfig, frrDaemons, frrDaemonsPath, roleOf } from "./targets.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** Commands of a container's startup-config and exec, in a directory that GNS3 keeps. */
const bootScript = "/lab/boot.sh";

/** Returns a lab as a project of GNS3 2.2 and later: the .gns3 file and the files of its nodes beside it. */
export function gns3Of(source: Lab): Exported {
  const { lab, added } = withOneLinkPerNat(source);
  const files = new Map<string, string>();
  const places = new Map(drawingOf(lab).members.map(({ key, place }) => [key, place]));
  const ends = numberedInterfaces(lab);
  const id = (...words: readonly string[]) => stableId("gns3", lab.name, ...words);
  const ports = new Map<string, LabLink[]>(lab.networks.map(({ key }) => [key, []]));
  for (const link of lab.links) for (const end of link.endpoints) if ("network" in end) ports.get(end.network)?.push(link);

  const common = (key: string, name: string, symbol: string): Readonly<Record<string, Json>> => ({
    compute_id: "local",
    console: null,
    console_auto_start: false,
    custom_adapters: [],
    first_port_name: null,
    label: { rotation: 0, style: null, text: name, x: null, y: -25 },
    locked: false,
    name,
    node_id: id("node", key),
    port_segment_size: 0,
    symbol: `:/symbols/${symbol}.svg`,
    template_id: null,
    ...place(places.get(key)),
    z: 1,
  });
  const nodes = lab.nodes.map((node): Json => {
    const kind = kindOf(node, ends.get(node.key));
    for (const [path, text] of kind.files) files.set(`project-files/${kind.type}/${id("node", node.key)}/${path}`, text);
    return {
      ...common(node.key, node.name, kind.symbol),
      console_type: kind.console,
      node_type: kind.type,
      port_name_format: "Ethernet{0}",
      properties: kind.properties,
      ...(kind.adapters.length > 0 && { custom_adapters: kind.adapters }),
    };
  });
  const networks = lab.networks.map((network): Json => {
    const { type, properties, symbol } = networkKind(network, ports.get(network.key)?.length ?? 0);
    return {
      ...common(network.key, network.name, symbol),
      console_type: "none",
      node_type: type,
      port_name_format: "Ethernet{0}",
      properties,
    };
  });
  const nodesByKey = new Map(lab.nodes.map((node) => [node.key, node]));
  const endOf = (end: Endpoint, link: LabLink): Json => {
    if ("network" in end)
      return {
        adapter_number: 0,
        label: label(""),
        node_id: id("node", end.network),
        port_number: ports.get(end.network)?.indexOf(link) ?? 0,
      };
    const index = ends.get(end.node)?.find((one) => one.interface === end.interface)?.index ?? 0;
    const isSwitch = roleOf(nodesByKey.get(end.node) ?? { template: "" }) === "switch";
    const [adapter, port] = isSwitch ? [0, index] : [index, 0];
    return { adapter_number: adapter, label: label(end.interface), node_id: id("node", end.node), port_number: port };
  };
  const links = lab.links.map(
    (link): Json => ({
      filters: filtersOf(link),
      link_id: id("link", link.key),
      link_style: {},
      nodes: link.endpoints.map((end) => endOf(end, link)),
      suspend: link.suspended !== undefined,
    }),
  );
  const drawings = lab.texts.map(({ text, x, y }, index): Json => {
    const svg = `<svg height="${16 * text.split("\n").length + 8}" width="${8 * text.length + 8}"><text fill="#000000" font-family="TypeWriter" font-size="10.0">${xmlText(text)}</text></svg>`;
    return { drawing_id: id("drawing", String(index)), locked: false, rotation: 0, svg, x: Math.round(x), y: Math.round(y), z: 2 };
  });
  const shapes = behindNodes(lab.shapes ?? []).map((shape, index): Json => {
    const { x, y, width, height } = boxOf(shape);
    const rotation = shape.type === "line" ? 0 : (shape.rotation ?? 0);
    const svg = `<svg height="${Math.max(1, height)}" width="${Math.max(1, width)}">${svgElement(shape, { x, y })}</svg>`;
    const corner = turnedCorner({ x, y, width, height }, rotation);
    const place = { x: Math.round(corner.x), y: Math.round(corner.y), z: shape.layer ?? 0 };
    return { drawing_id: id("shape", String(index)), locked: false, rotation, svg, ...place };
  });
  const project: Json = {
    auto_close: true,
    auto_open: false,
    auto_start: false,
    name: lab.name,
    project_id: id("project"),
    revision: 9,
    scene_height: 1000,
    scene_width: 2000,
    show_interface_labels: true,
    topology: { computes: [], drawings: [...drawings, ...shapes], links, nodes: [...nodes, ...networks] },
    type: "topology",
    variables: lab.description === undefined ? null : [{ name: "description", value: lab.description }],
    version: "2.2.0",
  };
  const main = `${fileName(lab.name)}.gns3`;
  files.set(main, `${JSON.stringify(project, null, 4)}\n`);
  return { main, files: Object.fromEntries(files), notes: notesOf(source, added, ends) };
}

interface Kind {
  readonly type: string;
  readonly symbol: string;
  readonly console: string;
  readonly properties: Json;
  readonly adapters: readonly Json[];
  readonly files: readonly (readonly [path: string, text: string])[];
}

function kindOf(node: LabNode, ends: readonly NumberedEnd[] = []): Kind {
  const role = roleOf(node);
  const adapters = interfaceCount(ends, node.ethernet);
  if (role === "switch") {
    const mapped = switchPorts(node, ends, adapters);
    return {
      type: "ethernet_switch",
      symbol: "ethernet_switch",
      console: "none",
      properties: { ports_mapping: mapped },
      adapters: [],
      files: [],
    };
  }
  if (isVpcs(node, ends)) {
    const files = node.startupConfig === undefined ? [] : [["startup.vpc", node.startupConfig] as const];
    return { type: "vpcs", symbol: "vpcs_guest", console: "telnet", properties: {}, adapters: [], files };
  }
  const names = ends
    .filter((end) => end.interface !== `eth${end.index}`)
    .map((end): Json => ({ adapter_number: end.index, port_name: end.interface }));
  if (role === "vm" || role === "other") {
    const machine = machineOf(node);
    const properties = {
      adapters,
      adapter_type: machine === undefined ? "virtio-net-pci" : (machine.nic ?? "e1000"),
      cpus: node.cpu,
      hda_disk_image: node.image ?? machine?.disk ?? "",
      ram: node.ram,
      usage: "",
    };
    return { type: "qemu", symbol: role === "vm" ? "qemu_guest" : "router", console: "telnet", properties, adapters: names, files: [] };
  }
  return {
    type: "docker",
    symbol: role === "frr" ? "router" : "docker_guest",
    console: "telnet",
    ...container(node, adapters),
    adapters: names,
  };
}

function container(node: LabNode, adapters: number): Pick<Kind, "properties" | "files"> {
  const role = roleOf(node);
  const files = new Map(Object.entries(node.files ?? {}).map(([path, { text }]) => [path, text]));
  const commands = [...(role !== "linux" || node.startupConfig === undefined ? [] : [node.startupConfig]), ...node.exec];
  if (commands.length > 0) files.set(bootScript, commands.map((text) => text.replace(/\n?$/, "\n")).join(""));
  if (role === "frr") {
    files.set(frrDaemonsPath, frrDaemons);
    if (node.startupConfig !== undefined) files.set(frrConfig, node.startupConfig);
  }
  const folders = new Set([...files.keys()].map((path) => path.slice(0, path.lastIndexOf("/")) || "/"));
  const run = role === "frr" ? "/usr/lib/frr/docker-start" : "sh";
  return {
    properties: {
      adapters,
      environment: Object.entries(node.env)
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
      extra_volumes: [...folders].filter((folder) => folder !== "/").sort(),
      image:
        role === "container"
          ? (node.image ?? containerKind(node)?.image ?? "")
          : role === "frr"
            ? containerImages.frr
            : containerImages.linux,
      start_command: commands.length > 0 ? `sh -c 'sh ${bootScript}; exec ${run}'` : "",
      usage: "",
    },
    files: [...files].map(([path, text]) => [path.slice(1), text] as const),
  };
}

/** A VPCS has exactly one interface. */
/** GNS3 turns a drawing around its upper left corner: returns where that is, so that the middle stays in its place. */
function turnedCorner({ x, y, width, height }: ShapeBox, degrees: number): { readonly x: number; readonly y: number } {
  const [sine, cosine] = [Math.sin((degrees / 180) * Math.PI), Math.cos((degrees / 180) * Math.PI)];
  const [dx, dy] = [width / 2, height / 2];
  return { x: x + dx - (dx * cosine - dy * sine), y: y + dy - (dx * sine + dy * cosine) };
}

function isVpcs(node: LabNode, ends: readonly NumberedEnd[] = []): boolean {
  return roleOf(node) === "pc" && ends.length <= 1;
}

function switchPorts(node: LabNode, ends: readonly NumberedEnd[], count: number): readonly Json[] {
  const names = new Map(ends.map((end) => [end.index, end.interface]));
  return Array.from({ length: count }, (_, index) => {
    const name = names.get(index) ?? `eth${index}`;
    const port: Partial<SwitchPort> = node.switching?.interfaces?.[name] ?? {};
    const isTrunk = port.mode === "trunk";
    return { name, port_number: index, type: isTrunk ? "dot1q" : "access", vlan: (isTrunk ? port.nativeVlan : port.vlan) ?? 1 };
  });
}

function networkKind({ type }: LabNetwork, links: number): { readonly type: string; readonly symbol: string; readonly properties: Json } {
  if (type === "bridge") {
    const ports = Array.from({ length: Math.max(8, links) }, (_, index) => ({ name: `Ethernet${index}`, port_number: index }));
    return { type: "ethernet_hub", symbol: "hub", properties: { ports_mapping: ports } };
  }
  const ports = [{ interface: "virbr0", name: "nat0", port_number: 0, type: "ethernet" }];
  if (type === "nat") return { type: "nat", symbol: "cloud", properties: { ports_mapping: ports } };
  return { type: "cloud", symbol: "cloud", properties: { ports_mapping: [] } };
}

/** GNS3's filters hold for both directions of a link, in whole numbers. */
function filtersOf({ quality = {} }: LabLink): Json {
  const { delay, jitter, loss } = strongest(quality);
  const [latency, variation] = [Math.round(delay ?? 0), Math.round(jitter ?? 0)];
  const percent = loss === undefined ? undefined : Math.max(1, Math.round(loss));
  return {
    ...((latency > 0 || variation > 0) && { delay: [Math.max(1, latency), variation] }),
    ...(percent !== undefined && { packet_loss: [percent] }),
  };
}

function notesOf(lab: Lab, added: readonly string[], ends: ReadonlyMap<string, readonly NumberedEnd[]>): readonly string[] {
  const wide = lab.nodes.filter((node) => roleOf(node) === "pc" && !isVpcs(node, ends.get(node.key))).map(({ key }) => key);
  const foreign = lab.nodes.filter((node) => ["vm", "other"].includes(roleOf(node))).map(({ key }) => key);
  const rounded = lab.links.filter(isRounded).map(({ key, endpoints }) => key || endpoints.map(endpointText).join(" -- "));
  const vlans = lab.nodes
    .filter(({ switching = {} }) => switching.lag ?? switching.mirror ?? switching.spanningTree ?? trunkLists(switching.interfaces))
    .map(({ key }) => key);
  const files: readonly NodeField[] = ["startupConfig", "files", "exec", "env"];
  return [
    ...leftOut(lab, "GNS3", {
      lab: ["description", "texts", "shapes"],
      node: (node) => {
        const role = roleOf(node);
        const common: readonly NodeField[] = ["name", "ethernet", "position"];
        if (role === "switch") return [...common, "switching"];
        if (role === "vm" || role === "other") return [...common, "image", "cpu", "ram"];
        if (role === "pc") return isVpcs(node, ends.get(node.key)) ? [...common, "startupConfig"] : [...common, "files", "exec", "env"];
        return role === "container" ? [...common, "image", "files", "env", "exec"] : [...common, ...files];
      },
      network: ["name", "position"],
      link: ["delay", "jitter", "loss", "suspended"],
    }),
    ...(rounded.length === 0
      ? []
      : [`GNS3 impairs both directions alike, by whole ms and percent; these links were adapted: ${named(rounded)}`]),
    ...((lab.shapes ?? []).some((shape) => shape.type === "line" && (shape.start ?? shape.end) !== undefined)
      ? ["GNS3's lines have no arrows: the ends of lines are plain"]
      : []),
    ...(vlans.length === 0 ? [] : [`GNS3's switch has no groups, spanning tree, mirrors and lists of VLANs: ${named(vlans)}`]),
    ...(added.length === 0 ? [] : [`a NAT node has one link, so these networks have a hub before it: ${named(added)}`]),
    ...(wide.length === 0 ? [] : [`a VPCS has one interface, so these PCs are containers: ${named(wide)}`]),
    ...(foreign.length === 0 ? [] : [`these nodes are virtual machines, whose image must be in GNS3: ${named(foreign)}`]),
  ];
}

function trunkLists(interfaces: Readonly<Record<string, SwitchPort>> = {}): true | undefined {
  return Object.values(interfaces).some(({ vlans }) => vlans !== undefined) || undefined;
}

function isRounded({ quality, suspended }: LabLink): boolean {
  if (suspended !== undefined && suspended.a !== suspended.b) return true;
  if (quality === undefined) return false;
  const both = strongest(quality);
  if (JSON.stringify(quality.a) !== JSON.stringify(quality.b)) return true;
  return (
    [both.delay, both.jitter, both.loss].some((value) => value !== undefined && !Number.isInteger(value)) ||
    (both.jitter !== undefined && both.delay === undefined)
  );
}

function label(text: string): Json {
  return { rotation: 0, style: null, text, x: 0, y: 0 };
}

function place(at: { readonly x: number; readonly y: number } = { x: 0, y: 0 }): { readonly x: number; readonly y: number } {
  return { x: Math.round(at.x), y: Math.round(at.y) };
}
