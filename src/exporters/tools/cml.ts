import type { Endpoint, Lab, LabLink, LabNode, Quality } from "../../intent/lab/lab.ts";
import { qualityFields } from "../../intent/lab/quality.ts";
import { type LabShape, shapeDefaults } from "../../intent/shapes/shape.ts";
import { type Data, writePair } from "../../intent/write/write.ts";
import { drawingOf } from "../drawing/drawing.ts";
import type { Exported } from "../shared/exported.ts";
import { leftOut, named } from "../shared/left-out.ts";
import { behindNodes } from "../shared/svg-shape.ts";
import { interfaceCount, numberedInterfaces } from "./interfaces.ts";
import { machineOf } from "./machines.ts";
import { withOneLinkPerNat } from "./nat-networks.ts";
import { fileName, type Role, roleOf } from "./targets.ts";

/** CML's own node definitions. */
const definitions: Readonly<Record<Role, string | undefined>> = {
  frr: "frr",
  linux: "alpine",
  pc: "alpine",
  switch: "unmanaged_switch",
  container: undefined,
  vm: undefined,
  other: undefined,
};

/** Returns the node definition of a node; undefined: CML has none of its own. */
function definitionOf(node: LabNode): string | undefined {
  return definitions[roleOf(node)] ?? machineOf(node)?.cml;
}

/** Returns a lab as YAML of Cisco Modeling Labs, schema 0.2.2. */
export function cmlOf(source: Lab): Exported {
  const { lab, added } = withOneLinkPerNat(source);
  const drawing = drawingOf(lab);
  const places = new Map(drawing.members.map(({ key, place }) => [key, place]));
  const ends = numberedInterfaces(lab);
  const ids = new Map([...lab.nodes, ...lab.networks].map(({ key }, index) => [key, `n${index}`]));
  const ports = new Map<string, string[]>(lab.networks.map(({ key }) => [key, []]));
  const portOf = (end: Endpoint, link: LabLink): string => {
    if ("node" in end) return `i${ends.get(end.node)?.find((one) => one.interface === end.interface)?.index ?? 0}`;
    const used = ports.get(end.network) ?? [];
    used.push(link.key);
    return `i${used.length - 1}`;
  };
  const links = lab.links.map((link, index): Data => {
    const [a, b] = link.endpoints;
    return {
      id: `l${index}`,
      n1: ids.get("node" in a ? a.node : a.network),
      n2: ids.get("node" in b ? b.node : b.network),
      i1: portOf(a, link),
      i2: portOf(b, link),
      label: link.key,
      conditioning: conditioningOf(link),
    };
  });
  const place = (key: string) => ({ x: Math.round(places.get(key)?.x ?? 0), y: Math.round(places.get(key)?.y ?? 0) });
  const nodes = lab.nodes.map((node): Data => {
    const isSwitch = roleOf(node) === "switch";
    const names = new Map((ends.get(node.key) ?? []).map((one) => [one.index, one.interface]));
    const count = interfaceCount(ends.get(node.key), node.ethernet);
    return {
      id: ids.get(node.key),
      label: node.name,
      node_definition: definitionOf(node) ?? node.template,
      image_definition: definitions[roleOf(node)] === undefined ? node.image : undefined,
      ...place(node.key),
      configuration: configurationOf(node),
      cpus: isSwitch || node.cpu === undefined ? undefined : Math.max(1, Math.round(node.cpu)),
      ram: isSwitch ? undefined : node.ram,
      tags: [],
      interfaces: Array.from({ length: count }, (_, slot) => ({
        id: `i${slot}`,
        label: isSwitch ? `port${slot}` : (names.get(slot) ?? `eth${slot}`),
        slot,
        type: "physical",
      })),
    };
  });
  const networks = lab.networks.map(({ key, name, type }): Data => {
    const isNat = type === "nat";
    const used = Math.max(1, ports.get(key)?.length ?? 0);
    return {
      id: ids.get(key),
      label: name,
      node_definition: type === "bridge" ? "unmanaged_switch" : "external_connector",
      ...place(key),
      configuration: type === "bridge" ? undefined : isNat ? "NAT" : "System Bridge",
      tags: [],
      interfaces: Array.from({ length: used }, (_, slot) => ({
        id: `i${slot}`,
        label: isNat ? "port" : `port${slot}`,
        slot,
        type: "physical",
      })),
    };
  });
  const texts = lab.texts.map(
    ({ text, x, y }): Data => ({
      type: "text",
      text_content: text,
      x1: x,
      y1: y,
      color: "#000000",
      border_color: "#00000000",
      border_style: "",
      rotation: 0,
      text_bold: false,
      text_font: "monospace",
      text_italic: false,
      text_size: 12,
      text_unit: "pt",
      thickness: 1,
      z_index: 0,
    }),
  );
  const annotations = [...behindNodes(lab.shapes ?? []).map(shapeAnnotation), ...texts];
  const data: Readonly<Record<string, Data>> = {
    lab: { title: lab.name, description: lab.description ?? "", notes: "", version: "0.2.2" },
    annotations,
    nodes: [...nodes, ...networks],
    links,
  };
  const main = `${fileName(lab.name)}.yaml`;
  const yaml = Object.entries(data).map(([key, value]) => writePair(key, value, 0, { style: "block" }));
  return { main, files: { [main]: `${yaml.join("\n")}\n` }, notes: notesOf(source, added) };
}

/** An alpine node's configuration is a script, as a linux node's is here; exec follows it. */
function configurationOf(node: LabNode): string | undefined {
  if (roleOf(node) === "switch") return undefined;
  if (roleOf(node) !== "linux") return node.startupConfig;
  const parts = [
    ...(node.startupConfig === undefined ? [] : [node.startupConfig.replace(/\n?$/, "\n")]),
    ...node.exec.map((line) => `${line}\n`),
  ];
  return parts.length === 0 ? undefined : parts.join("");
}

/** CML impairs both directions of a link alike. */
function conditioningOf({ quality }: LabLink): Data | undefined {
  if (quality === undefined) return undefined;
  const { delay: latency, jitter, loss, bandwidth } = strongest(quality);
  return { enabled: true, latency, jitter, loss, bandwidth };
}

/** Returns one quality for both directions: of each impairment the stronger one. */
export function strongest({ a, b }: { readonly a?: Quality; readonly b?: Quality }): Quality {
  const fields = qualityFields.flatMap((field) => {
    const values = [a?.[field], b?.[field]].filter((value) => value !== undefined && value !== 0) as readonly number[];
    if (values.length === 0) return [];
    return [[field, field === "bandwidth" ? Math.min(...values) : Math.max(...values)] as const];
  });
  return Object.fromEntries(fields);
}

/** CML places a rectangle by its corner and size, and an ellipse by its middle and radii. */
function shapeAnnotation(shape: LabShape): Data {
  const border = withAlpha(shape.color ?? shapeDefaults.color);
  const common = {
    type: shape.type,
    border_style: { solid: "", dashed: "5,2", dotted: "2,2" }[shape.style ?? "solid"],
    thickness: shape.thickness ?? shapeDefaults.thickness,
    z_index: shape.layer ?? 0,
  };
  // The color of a line is that of its border too.
  if (shape.type === "line") {
    const ends = { x1: shape.x, y1: shape.y, x2: shape.x2, y2: shape.y2, line_start: shape.start ?? null, line_end: shape.end ?? null };
    return { ...common, ...ends, color: border, border_color: border };
  }
  const { x, y, width, height, rotation = 0 } = shape;
  const look = { color: shape.fill === undefined ? "#FFFFFF00" : withAlpha(shape.fill), border_color: border, rotation };
  if (shape.type === "rectangle") return { ...common, ...look, x1: x, y1: y, x2: width, y2: height, border_radius: 0 };
  return { ...common, ...look, x1: x + width / 2, y1: y + height / 2, x2: width / 2, y2: height / 2 };
}

function withAlpha(color: string): string {
  return `${color}${color.length === 7 ? "ff" : ""}`.toUpperCase();
}

function notesOf(lab: Lab, added: readonly string[]): readonly string[] {
  const uneven = lab.links.filter(({ quality }) => quality !== undefined && JSON.stringify(quality.a) !== JSON.stringify(quality.b));
  const foreign = lab.nodes.filter((node) => definitionOf(node) === undefined);
  const pcs = lab.nodes.filter((node) => roleOf(node) === "pc");
  return [
    ...leftOut(lab, "CML", {
      lab: ["description", "texts", "shapes"],
      node: (node) => {
        const role = roleOf(node);
        if (role === "switch") return ["name", "ethernet", "position"];
        const common = ["name", "startupConfig", "ethernet", "cpu", "ram", "position"] as const;
        if (role === "linux") return [...common, "exec"];
        return definitions[role] === undefined ? [...common, "image"] : common;
      },
      network: ["name", "position"],
      link: ["delay", "jitter", "loss", "bandwidth"],
    }),
    ...(uneven.length === 0
      ? []
      : [`CML impairs both directions alike, the stronger value was written: ${named(uneven.map(({ key }) => key))}`]),
    ...(added.length === 0 ? [] : [`an external connector has one link, so these networks have a switch before it: ${named(added)}`]),
    ...(pcs.length === 0 ? [] : [`these PCs are alpine nodes, whose configuration is a shell script: ${named(pcs.map(({ key }) => key))}`]),
    ...(foreign.length === 0
      ? []
      : [`these nodes need a node definition with the name of their template: ${named(foreign.map(({ key }) => key))}`]),
  ];
}
