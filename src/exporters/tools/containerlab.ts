import { type Endpoint, endpointText, type Lab, type LabLink, type LabNode, vxlanPort } from "../../intent/lab/lab.ts";
import { opacityOf } from "../../intent/shapes/color.ts";
import { type LabShape, shapeDefaults } from "../../intent/shapes/shape.ts";
import { type Data, writePair } from "../../intent/write/write.ts";
import type { Exported } from "../shared/exported.ts";
import { leftOut, type NodeField, named } from "../shared/left-out.ts";
import { behindNodes } from "../shared/svg-shape.ts";
import { interfaceOf, kindOf } from "./kinds.ts";
import { machineOf } from "./machines.ts";
import { containerImages, fileName, frrConfig, frrDaemons, frrDaemonsPath, roleOf } from "./targets.ts";

/** Where a container finds its startup-config if it is a script. */
const scriptPath = "/startup-config.sh";
const daemonsFile = "configs/daemons";

/** Returns a lab for containerlab: its topology, the configurations beside it, the places for its drawing, and the commands that impair its links. */
export function containerlabOf(lab: Lab): Exported {
  const files = new Map<string, string>();
  const main = `${fileName(lab.name)}.clab.yml`;
  const bridges = new Map<string, string>();
  const links = lab.links.map((link) => linkData(link, lab, bridges));
  const nodes: Record<string, Data> = {};
  for (const node of lab.nodes) nodes[node.key] = nodeData(node, lab, files);
  for (const { key, type } of lab.networks) if (type !== "nat" && !singleTunnel(lab, key)) nodes[key] = { kind: "bridge" };
  const { management } = lab;
  const data: Record<string, Data | undefined> = {
    name: lab.name,
    mgmt:
      management && (management.ipv4Subnet ?? management.ipv6Subnet) !== undefined
        ? { "ipv4-subnet": management.ipv4Subnet, "ipv6-subnet": management.ipv6Subnet }
        : undefined,
    topology: { nodes, ...(links.length > 0 && { links }) },
  };
  const yaml = Object.entries(data).flatMap(([key, value]) => (value === undefined ? [] : [writePair(key, value, 0)]));
  files.set(main, `${yaml.join("\n")}\n`);
  const annotations = annotationsOf(lab);
  if (annotations !== undefined) files.set(`${main}.annotations.json`, annotations);
  const impairments = impairmentsOf(lab);
  if (impairments !== "") files.set("impairments.sh", impairments);
  return { main, files: Object.fromEntries(files), notes: notesOf(lab, impairments !== "") };
}

function nodeData(node: LabNode, lab: Lab, files: Map<string, string>): Data {
  const role = roleOf(node);
  if (role === "switch") return { kind: "bridge" };
  const binds: string[] = [];
  const exec: string[] = [];
  const kind = kindOf(node);
  const config = `configs/${fileName(node.key)}.${role === "linux" ? "sh" : suffixOf(kind?.kind, node.startupConfig)}`;
  let startup: string | undefined;
  if (node.startupConfig !== undefined) {
    files.set(config, node.startupConfig);
    if (role === "frr") binds.push(`${config}:${frrConfig}`);
    else if (kind?.config !== undefined) binds.push(`${config}:${kind.config}`);
    else if (role === "linux") {
      binds.push(`${config}:${scriptPath}`);
      exec.push(`sh ${scriptPath}`);
    } else startup = config;
  }
  if (role === "frr" || (node.template === "frr-container" && node.files?.[frrDaemonsPath] === undefined)) {
    files.set(daemonsFile, frrDaemons);
    binds.push(`${daemonsFile}:${frrDaemonsPath}`);
  }
  for (const [path, { text }] of Object.entries(node.files ?? {})) {
    const source = `files/${fileName(node.key)}${path}`;
    files.set(source, text);
    binds.push(`${source}:${path}`);
  }
  const usesFirst = lab.links.some(({ endpoints }) => endpoints.some((end) => endpointText(end) === `${node.key}:eth0`));
  const { attributes } = node;
  const waits = lab.boots?.find((boot) => boot.node === node.key)?.dependsOn ?? [];
  return {
    kind:
      kind?.kind ??
      (role === "frr" || role === "linux" || role === "pc" || role === "container"
        ? "linux"
        : (machineOf(node)?.containerlab ?? node.template)),
    image: imageOf(node),
    "network-mode": usesFirst ? "none" : undefined,
    "startup-config": startup,
    binds: listed(binds),
    exec: listed([...exec, ...(node.startupConfig === undefined ? [] : (kind?.exec ?? [])), ...node.exec]),
    cmd: role === "container" ? (textOf(attributes["command"]) ?? (node.startupConfig === undefined ? undefined : kind?.cmd)) : undefined,
    entrypoint: role === "container" ? textOf(attributes["entrypoint"]) : undefined,
    user: role === "container" ? textOf(attributes["user"]) : undefined,
    ports: node.ports === undefined ? undefined : listed(node.ports),
    "mgmt-ipv4": node.mgmtIpv4,
    "mgmt-ipv6": node.mgmtIpv6,
    cpu: node.cpu,
    memory: node.ram === undefined ? undefined : `${node.ram}MiB`,
    env: recordOf(node.env),
    labels: recordOf(node.labels),
    stages:
      waits.length === 0
        ? undefined
        : { create: { "wait-for": waits.map((one) => ({ node: one.node, stage: one.state === "ready" ? "healthy" : "configure" })) } },
  };
}

function imageOf(node: LabNode): string | undefined {
  const role = roleOf(node);
  if (role === "frr") return containerImages.frr;
  return role === "linux" || role === "pc" ? containerImages.linux : (node.image ?? kindOf(node)?.image);
}

/** SR Linux reads JSON at its start, and enters commands. */
function suffixOf(kind: string | undefined, text: string | undefined): string {
  if (kind !== "nokia_srlinux") return "conf";
  return text?.trimStart().startsWith("{") === true ? "json" : "cli";
}

/** Returns whether the network is a tunnel with one link: that link is the tunnel's in containerlab. */
function singleTunnel({ networks, links }: Lab, key: string): boolean {
  const { vxlan } = networks.find((network) => network.key === key) ?? {};
  return (
    vxlan !== undefined && links.filter(({ endpoints }) => endpoints.some((end) => "network" in end && end.network === key)).length === 1
  );
}

function tunnelData({ endpoints, mtu }: LabLink, lab: Lab): Data | undefined {
  const [a, b] = endpoints;
  if (!("node" in a) || !("network" in b) || !singleTunnel(lab, b.network)) return undefined;
  const { remote = "", vni = 0, port = vxlanPort } = lab.networks.find(({ key }) => key === b.network)?.vxlan ?? {};
  const endpoint = { node: a.node, interface: interfaceName(a, lab) };
  return { type: "vxlan", endpoint, remote, vni, "udp-port": port, ...(mtu !== undefined && { mtu }) };
}

function linkData(link: LabLink, lab: Lab, bridges: Map<string, string>): Data {
  const tunnel = tunnelData(link, lab);
  if (tunnel !== undefined) return tunnel;
  const endpoints = link.endpoints.map((end) => endText(end, link, lab, bridges));
  return link.mtu === undefined ? { endpoints } : { endpoints, mtu: link.mtu };
}

/** Returns the name of the interface in containerlab. */
function interfaceName(end: { readonly node: string; readonly interface: string }, { nodes }: Lab): string {
  const node = nodes.find(({ key }) => key === end.node);
  return node === undefined ? end.interface : interfaceOf(node, end.interface);
}

/** The interface of a bridge is one of the machine: its name has at most 15 characters, and no other lab or bridge may use it. */
function endText(end: Endpoint, { endpoints }: LabLink, lab: Lab, bridges: Map<string, string>): string {
  const isNat = "network" in end && lab.networks.some(({ key, type }) => key === end.network && type === "nat");
  const isBridge = "network" in end || lab.nodes.some((node) => node.key === end.node && roleOf(node) === "switch");
  if (!isBridge) return endpointText({ ...end, interface: interfaceName(end, lab) });
  const id = "network" in end ? `${end.network} ${endpoints.map(endpointText).join(" ")}` : endpointText(end);
  const port = bridges.get(id) ?? `lw${bridges.size}`;
  bridges.set(id, port);
  return isNat ? `mgmt-net:${port}` : `${"node" in end ? end.node : end.network}:${port}`;
}

/** Returns the places of nodes and texts as containerlab's editors keep them. */
function annotationsOf(lab: Lab): string | undefined {
  const placed = [...lab.nodes, ...lab.networks].flatMap(({ key, position }) => (position === undefined ? [] : [{ id: key, position }]));
  const texts = lab.texts.map(({ text, x, y }, index) => ({ id: `text-${index + 1}`, text, position: { x, y } }));
  const shapes = behindNodes(lab.shapes ?? []).map(shapeAnnotation);
  if (placed.length === 0 && texts.length === 0 && shapes.length === 0) return undefined;
  const drawn = shapes.length === 0 ? {} : { freeShapeAnnotations: shapes };
  return `${JSON.stringify({ ...drawn, freeTextAnnotations: texts, nodeAnnotations: placed }, null, 2)}\n`;
}

/** Editors of containerlab place a shape by its middle; a line begins there. */
function shapeAnnotation(shape: LabShape, index: number) {
  const common = {
    id: `shape-${index + 1}`,
    shapeType: shape.type === "ellipse" ? "circle" : shape.type,
    borderColor: shape.color ?? shapeDefaults.color,
    borderWidth: shape.thickness ?? shapeDefaults.thickness,
    borderStyle: shape.style ?? shapeDefaults.style,
    zIndex: shape.layer ?? 0,
  };
  if (shape.type === "line") {
    const ends = { position: { x: shape.x, y: shape.y }, endPosition: { x: shape.x2, y: shape.y2 } };
    const { start, end } = shape;
    return { ...common, ...ends, ...(start !== undefined && { lineStartArrow: true }), ...(end !== undefined && { lineEndArrow: true }) };
  }
  const { x, y, width, height, rotation } = shape;
  const fill = shape.fill === undefined ? { color: "#ffffff", opacity: 0 } : opacityOf(shape.fill);
  const place = { position: { x: x + width / 2, y: y + height / 2 }, width, height };
  return { ...common, ...place, ...(rotation !== undefined && { rotation }), fillColor: fill.color, fillOpacity: fill.opacity };
}

/** Returns a script that impairs the links of the running lab: containerlab's topology has no place for that. */
function impairmentsOf(lab: Lab): string {
  const lines = lab.links.flatMap(({ endpoints, quality, suspended }) =>
    (["a", "b"] as const).flatMap((side, index) => {
      const end = endpoints[index];
      if (end === undefined || !("node" in end) || lab.nodes.some((node) => node.key === end.node && roleOf(node) === "switch")) return [];
      const { delay, jitter, loss, bandwidth } = quality?.[side] ?? {};
      const flags = [
        ...(delay === undefined ? [] : [`--delay ${delay}ms`]),
        ...(jitter === undefined ? [] : [`--jitter ${jitter}ms`]),
        ...(suspended?.[side] === true ? ["--loss 100"] : loss === undefined ? [] : [`--loss ${loss}`]),
        ...(bandwidth === undefined ? [] : [`--rate ${bandwidth}`]),
      ];
      if (flags.length === 0) return [];
      return [`containerlab tools netem set -n clab-${lab.name}-${end.node} -i ${interfaceName(end, lab)} ${flags.join(" ")}`];
    }),
  );
  return lines.length === 0 ? "" : `#!/bin/sh\n# Run this after containerlab deploy.\n${lines.join("\n")}\n`;
}

function notesOf(lab: Lab, hasImpairments: boolean): readonly string[] {
  const isSwitch = (node: LabNode) => roleOf(node) === "switch";
  const bridges = [...lab.nodes.filter(isSwitch), ...lab.networks.filter(({ key, type }) => type !== "nat" && !singleTunnel(lab, key))].map(
    ({ key }) => key,
  );
  const ofVrnetlab = lab.nodes.filter((node) => machineOf(node)?.containerlab !== undefined);
  const machines = lab.nodes.filter(
    (node) => !ofVrnetlab.includes(node) && (["vm", "other"].includes(roleOf(node)) || kindOf(node)?.kind === "vrnetlab"),
  );
  const pcs = lab.nodes.filter((node) => roleOf(node) === "pc" && node.startupConfig !== undefined);
  const common: readonly NodeField[] = [
    "startupConfig",
    "files",
    "ports",
    "mgmtIpv4",
    "mgmtIpv6",
    "exec",
    "cpu",
    "ram",
    "position",
    "env",
    "labels",
  ];
  const quality = ["delay", "jitter", "loss", "bandwidth", "suspended"] as const;
  return [
    ...leftOut(lab, "containerlab", {
      lab: ["management", "texts", "shapes", "dependsOn"],
      node: (node) => (isSwitch(node) ? ["position"] : roleOf(node) === "container" ? [...common, "image", "attributes"] : common),
      network: lab.networks.every(({ key, vxlan }) => vxlan === undefined || singleTunnel(lab, key)) ? ["position", "vxlan"] : ["position"],
      link: hasImpairments ? [...quality, "mtu"] : ["mtu"],
    }),
    ...(hasImpairments ? ["impairments.sh has the impairments and suspended links: run it after containerlab deploy"] : []),
    ...(bridges.length === 0
      ? []
      : [`these bridges must exist on the machine (ip link add NAME type bridge; ip link set NAME up): ${named(bridges)}`]),
    ...(pcs.length === 0 ? [] : [`the image of these PCs does not read their startup-config: ${named(pcs.map(({ key }) => key))}`]),
    ...(ofVrnetlab.length === 0
      ? []
      : [`vrnetlab makes the images of these nodes from the vendors' disks: ${named(ofVrnetlab.map(({ key }) => key))}`]),
    ...(machines.length === 0 ? [] : [`these nodes need a kind and an image of containerlab: ${named(machines.map(({ key }) => key))}`]),
  ];
}

function listed(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list;
}

function recordOf(record: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  return Object.keys(record).length === 0 ? undefined : record;
}

function textOf(value: string | number | boolean | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
