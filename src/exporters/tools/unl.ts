import { type Endpoint, endpointText, type Lab, type LabLink, type LabNode, type Quality } from "../../intent/lab/lab.ts";
import { boxOf, type LabShape } from "../../intent/shapes/shape.ts";
import { drawingOf } from "../drawing/drawing.ts";
import { base64 } from "../shared/base64.ts";
import type { Exported } from "../shared/exported.ts";
import { leftOut, type NodeField, named } from "../shared/left-out.ts";
import { movedDrawing, moveIntoView } from "../shared/moved-drawing.ts";
import { stableId } from "../shared/stable-id.ts";
import { behindNodes, svgElement, svgShape } from "../shared/svg-shape.ts";
import { xmlText } from "../shared/xml-text.ts";
import { indexOf, interfaceCount, type NumberedEnd, numberedInterfaces } from "./interfaces.ts";
import { kindOf } from "./kinds.ts";
import { machineOf } from "./machines.ts";
import { containerImages, fileName, roleOf } from "./targets.ts";

type Attributes = Readonly<Record<string, string | number | undefined>>;

/** A network of the file: a segment or a way out, or the invisible one that stands for a link of two nodes. */
interface Segment {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly isVisible: boolean;
  readonly left: number;
  readonly top: number;
}

/**
 * Returns a lab as a file of EVE-NG and PNETLab. A switch becomes a network, because both have no switch of their own without an image; switches that are
 * linked become one network.
 */
export function unlOf(given: Lab): Exported {
  const places = new Map(drawingOf(given).members.map(({ key, place }) => [key, place]));
  const by = moveIntoView(given);
  const lab = movedDrawing(given, by);
  const ends = numberedInterfaces(lab);
  const place = (key: string) => ({
    left: Math.max(0, Math.round((places.get(key)?.x ?? 0) + by.x)),
    top: Math.max(0, Math.round((places.get(key)?.y ?? 0) + by.y)),
  });
  const nodes = lab.nodes.filter((node) => roleOf(node) !== "switch");
  const { segments, of } = segmentsOf(lab, place);
  const interfaces = (node: LabNode) => lab.links.flatMap((link) => interfacesOf(node, link, ends, of));
  const nodeTexts = nodes.map((node, index) => {
    const inner = interfaces(node).map((each) => `        <interface${attributes(each)}/>\n`);
    return `      <node${attributes({ ...nodeAttributes(node, index + 1, ends.get(node.key)), ...place(node.key) })}>\n${inner.join("")}      </node>\n`;
  });
  const networkTexts = segments.map(({ id, name, type, isVisible, left, top }) => {
    return `      <network${attributes({ id, type, name, left, top, visibility: isVisible ? 1 : 0, icon: type === "nat0" ? "01-Cloud-Default.svg" : "lan.png" })}/>\n`;
  });
  const configs = nodes.flatMap((node, index) =>
    node.startupConfig === undefined ? [] : [`      <config id="${index + 1}">${base64(node.startupConfig)}</config>\n`],
  );
  const texts = lab.texts.map(({ text, x, y }, index) => {
    const html = `<div class="customShape customText" style="display:block;position:absolute;left:${x}px;top:${y}px;z-index:1001"><p style="font-size:14px">${xmlText(text)}</p></div>`;
    return `      <textobject id="${index + 1}" name="text ${index + 1}" type="text">\n        <data>${base64(html)}</data>\n      </textobject>\n`;
  });
  const shapes = behindNodes(lab.shapes ?? []).map((shape, index) => shapeObject(shape, lab.texts.length + index + 1));
  const main = `${fileName(lab.name)}.unl`;
  const description = lab.description === undefined ? "" : `  <description>${xmlText(lab.description)}</description>\n`;
  const head = attributes({ name: lab.name, id: stableId("unl", lab.name), version: 1, scripttimeout: 300, lock: 0 });
  const xml = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<lab${head}>
${description}  <topology>
    <nodes>
${nodeTexts.join("")}    </nodes>
    <networks>
${networkTexts.join("")}    </networks>
  </topology>
  <objects>
    <textobjects>
${texts.join("")}${shapes.join("")}    </textobjects>
    <configs>
${configs.join("")}    </configs>
  </objects>
</lab>
`;
  const moved =
    by.x === 0 && by.y === 0
      ? []
      : [`the drawing is moved by ${by.x}, ${by.y}: nodes of EVE-NG have no places left of or above its corner`];
  return { main, files: { [main]: xml }, notes: [...notesOf(lab), ...moved] };
}

/** EVE-NG has squares and circles; a line is a square whose picture is one. */
function shapeObject(shape: LabShape, id: number): string {
  const type = shape.type === "ellipse" ? "circle" : "square";
  const { x, y, width, height } = boxOf(shape);
  const turn = shape.type === "line" || shape.rotation === undefined ? "" : `;transform:rotate(${shape.rotation}deg)`;
  const drawn = shape.type === "line" ? svgShape(shape, { x, y }) : svgElement(shape, { x, y });
  const size = `width="${Math.max(1, width)}" height="${Math.max(1, height)}"`;
  const style = `display:inline;position:absolute;left:${x}px;top:${y}px;width:${width}px;height:${height}px;z-index:${usualZ + (shape.layer ?? 0)}${turn}`;
  const html = `<div id="customShape${id}" class="customShape context-menu" data-path="${id}" style="${style}"><svg ${size}>${drawn}</svg></div>`;
  return `      <textobject id="${id}" name="${shape.type} ${id}" type="${type}">\n        <data>${base64(html)}</data>\n      </textobject>\n`;
}

/** The layer of EVE-NG for new shapes. */
const usualZ = 999;

function nodeAttributes(node: LabNode, id: number, ends: readonly NumberedEnd[] | undefined): Attributes {
  const role = roleOf(node);
  const common = { id, name: node.name };
  const more = { delay: 0, icon: node.icon ?? icons[role], config: node.startupConfig === undefined ? 0 : 1 };
  const ethernet = interfaceCount(ends, node.ethernet);
  if (role === "pc") return { ...common, type: "vpcs", template: "vpcs", image: "", ethernet, ...more };
  const sizes = { cpu: node.cpu === undefined ? undefined : Math.max(1, Math.round(node.cpu)), ram: node.ram, ethernet };
  if (role === "frr" || role === "linux" || role === "container") {
    const image = role === "container" ? (node.image ?? kindOf(node)?.image ?? "") : containerImages[role];
    return { ...common, type: "docker", template: "docker", image, console: "telnet", ...sizes, ...more };
  }
  const template = role === "vm" ? "linux" : (machineOf(node)?.eve ?? node.template);
  return {
    ...common,
    type: "qemu",
    template,
    image: node.image ?? "",
    console: "telnet",
    ...sizes,
    uuid: stableId("unl", node.key),
    ...more,
  };
}

const icons = {
  frr: "Router.png",
  linux: "Server.png",
  pc: "Desktop.png",
  switch: "Switch.png",
  container: "Server.png",
  vm: "Server.png",
  other: "Router.png",
} as const;

function interfacesOf(
  node: LabNode,
  link: LabLink,
  ends: ReadonlyMap<string, readonly NumberedEnd[]>,
  of: ReadonlyMap<string, number>,
): readonly Attributes[] {
  return link.endpoints.flatMap((end, side) => {
    if (!("node" in end) || end.node !== node.key) return [];
    const quality: Quality = link.quality?.[side === 0 ? "a" : "b"] ?? {};
    const isSuspended = link.suspended?.[side === 0 ? "a" : "b"] === true;
    const { delay, jitter, loss, bandwidth } = quality;
    return [
      {
        id: indexOf(ends, end),
        name: end.interface,
        type: "ethernet",
        network_id: of.get(link.key),
        source_delay: delay,
        source_jitter: jitter,
        source_loss: loss,
        source_bandwidth: bandwidth,
        source_suspend: isSuspended ? 1 : undefined,
      },
    ];
  });
}

/** Returns the networks of the file, and the id of the network of each link. */
function segmentsOf(
  lab: Lab,
  place: (key: string) => { readonly left: number; readonly top: number },
): { readonly segments: readonly Segment[]; readonly of: ReadonlyMap<string, number> } {
  const switches = lab.nodes.filter((node) => roleOf(node) === "switch").map(({ key }) => key);
  const owners = new Map([...switches, ...lab.networks.map(({ key }) => key)].map((key) => [key, key]));
  const root = (key: string): string => {
    let at = key;
    while (owners.get(at) !== at) at = owners.get(at) ?? at;
    return at;
  };
  const memberOf = (end: Endpoint): string | undefined => {
    const key = "node" in end ? end.node : end.network;
    return owners.has(key) ? root(key) : undefined;
  };
  // A network keeps its key: what is joined takes it from the network, not from the switch.
  const isNetwork = (key: string) => lab.networks.some((one) => one.key === key);
  for (const { endpoints } of lab.links) {
    const [a, b] = endpoints.map(memberOf);
    if (a === undefined || b === undefined || a === b) continue;
    if (isNetwork(a)) owners.set(b, a);
    else owners.set(a, b);
  }
  const segments = new Map<string, Segment>();
  for (const key of owners.keys()) {
    if (root(key) !== key) continue;
    const network = lab.networks.find((one) => one.key === key);
    const name = network?.name ?? lab.nodes.find((one) => one.key === key)?.name ?? key;
    const type =
      network === undefined || ["bridge", "vxlan"].includes(network.type) ? "bridge" : network.type === "nat" ? "nat0" : network.type;
    segments.set(key, { id: segments.size + 1, name, type, isVisible: true, ...place(key) });
  }
  const of = new Map<string, number>();
  for (const link of lab.links) {
    const member = link.endpoints.map(memberOf).find((key) => key !== undefined);
    const existing = member === undefined ? undefined : segments.get(member);
    if (existing !== undefined) of.set(link.key, existing.id);
    else {
      const at = link.endpoints.map((end) => place("node" in end ? end.node : end.network));
      const middle = (side: "left" | "top") => Math.round(at.reduce((sum, one) => sum + one[side], 0) / at.length);
      const segment = {
        id: segments.size + 1,
        name: link.endpoints.map(endpointText).join(" "),
        type: "bridge",
        isVisible: false,
        left: middle("left"),
        top: middle("top"),
      };
      segments.set(`link ${link.key}`, segment);
      of.set(link.key, segment.id);
    }
  }
  return { segments: [...segments.values()], of };
}

function notesOf(lab: Lab): readonly string[] {
  const switches = lab.nodes.filter((node) => roleOf(node) === "switch").map(({ key }) => key);
  const containers = lab.nodes.filter((node) => ["frr", "linux", "container"].includes(roleOf(node))).map(({ key }) => key);
  const common: readonly NodeField[] = ["name", "icon", "startupConfig", "ethernet", "position"];
  const isNetwork = (end: Endpoint) => "network" in end || switches.includes(end.node);
  const towards = lab.links.filter(
    ({ endpoints, quality, suspended }) =>
      (isNetwork(endpoints[0]) && (quality?.a !== undefined || suspended?.a === true)) ||
      (isNetwork(endpoints[1]) && (quality?.b !== undefined || suspended?.b === true)),
  );
  return [
    ...leftOut(lab, "EVE-NG", {
      lab: ["description", "texts", "shapes"],
      node: (node) => {
        const role = roleOf(node);
        if (role === "switch") return ["name", "position"];
        if (role === "pc") return common;
        return role === "frr" || role === "linux" ? [...common, "cpu", "ram"] : [...common, "cpu", "ram", "image"];
      },
      network: ["name", "position"],
      link: ["delay", "jitter", "loss", "bandwidth", "suspended"],
    }),
    ...(towards.length === 0
      ? []
      : [`EVE-NG impairs and suspends no interface of a network, only that of the node: ${named(towards.map(({ key }) => key))}`]),
    ...(switches.length === 0 ? [] : [`these switches are networks of EVE-NG, those that are linked are one: ${named(switches)}`]),
    ...(containers.length === 0 ? [] : [`these nodes are containers, which EVE-NG Professional and PNETLab run: ${named(containers)}`]),
  ];
}

function attributes(all: Attributes): string {
  return Object.entries(all)
    .map(([name, value]) => (value === undefined ? "" : ` ${name}="${xmlText(String(value))}"`))
    .join("");
}
