import { cssColor } from "../../../intent/shapes/color.ts";
import type { LabShape, LineStyle } from "../../../intent/shapes/shape.ts";
import { Draft, type DraftEnd, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { textKey } from "../../tree/xml-tree.ts";

/** VIRL 1.x: an XML topology whose connections point at nodes and interfaces by their numbers. */
export const virl: Importer = {
  format: "virl",
  title: "VIRL 1 topology",
  recognize: (files, path) => {
    const text = files.text(path) ?? "";
    if (!/<([\w.-]+:)?topology[\s>]/.test(text.slice(0, 65_536)) || !text.includes("www.cisco.com/VIRL")) return 0;
    return files.treeIf(path, "xml") === undefined ? 0.5 : 1;
  },
  read,
};

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(files.tree(path, "xml"), path);
  const [name, topology] = root.entries[0] ?? ["", root];
  if (!/^(.+:)?topology$/.test(name)) refuse(`the root element is ${name}, not topology`, { file: path, line: root.line });
  const draft = new Draft();
  draft.setName(path.slice(path.lastIndexOf("/") + 1).replace(/\.(virl|xml)$/i, ""));
  for (const [key, part] of topology.entries) {
    if (/^@(xmlns|xsi|schemaVersion)/.test(key)) part.mapped("read as VIRL 1");
  }
  const children = (of: Part, element: string) =>
    of.entries.find(([key]) => key === element || key.endsWith(`:${element}`))?.[1].items ?? [];
  const places = children(topology, "node").map((node) => readNode(draft, node, children, options));
  for (const connection of children(topology, "connection")) readConnection(draft, connection, places);
  for (const annotations of children(topology, "annotations")) {
    for (const note of children(annotations, "text")) readNote(draft, note);
    for (const element of ["rect", "ellipse", "line"] as const)
      for (const shape of children(annotations, element)) readShape(draft, element, shape);
  }
  return { draft, parts: [root] };
}

type Children = (of: Part, element: string) => readonly Part[];

interface ReadNode {
  readonly place: DraftPlace;
  /** In the order of the file, by which connections count them. */
  readonly interfaces: readonly (Part | undefined)[];
}

function readNode(draft: Draft, node: Part, children: Children, options: ReadOptions): ReadNode {
  const [name, type, subtype] = ["@name", "@type", "@subtype"].map((key) => node.get(key));
  const isSimple = type?.text === undefined || type.text === "SIMPLE";
  const choice = chooseTemplate(options, "cml", (isSimple ? subtype?.text : type?.text) ?? "server", node.get("@vmImage")?.text);
  const place = draft.place(name?.text ?? "node", choice, { name, type: isSimple ? subtype : type, image: node.get("@vmImage") });
  if (isSimple) type?.mapped("a node");
  else subtype?.dropped("its type alone counts");
  const location = node.get("@location");
  const at = /^\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*$/.exec(location?.text ?? "");
  if (at !== null) {
    const position = positionOf(Number(at[1]), Number(at[2]));
    if (place instanceof DraftNode) place.set("position", { ...position }, location);
    else {
      place.position = position;
      location?.kept();
    }
  }
  for (const entry of children(node, "extensions").flatMap((each) => children(each, "entry"))) {
    const [key, text] = [entry.get("@key"), entry.get(textKey)];
    if (key?.text !== "config" || text?.text === undefined || !(place instanceof DraftNode)) continue;
    for (const part of [key, entry.get("@type")]) part?.mapped("the configuration");
    carryConfig(draft, place, text.text, text);
  }
  const interfaces = children(node, "interface").map((each) => {
    for (const key of ["@ipv4", "@ipv6", "@netPrefixLenV4", "@netPrefixLenV6"])
      each.get(key)?.dropped("addresses come from the configuration");
    each.get("@id")?.mapped("the number of the interface");
    return each.get("@name")?.dropped("no link uses this interface");
  });
  return { place, interfaces };
}

/** "/virl:topology/virl:node[2]/virl:interface[1]"; a segment has no interface. */
const reference = /node\[(\d{1,6})\](?:\/(?:[\w.-]+:)?interface\[(\d{1,6})\])?$/;

function readConnection(draft: Draft, connection: Part, nodes: readonly ReadNode[]): void {
  const ends = ["@src", "@dst"].map((key): DraftEnd | undefined => {
    const part = connection.get(key);
    const [, number, face] = reference.exec(part?.text ?? "") ?? [];
    const node = nodes[Number(number) - 1];
    if (node === undefined) return undefined;
    const name = node.interfaces[Number(face) - 1];
    return { at: node.place, interface: name?.text ?? face ?? "0", index: Number(face ?? 1) - 1, parts: [part, name] };
  });
  const [a, b] = ends;
  if (a === undefined || b === undefined) connection.dropped("an end of the connection is not a node of the file");
  else draft.link({ ends: [a, b], part: connection });
}

function readNote(draft: Draft, note: Part): void {
  const [text, x, y] = ["@string", "@x", "@y"].map((key) => note.get(key));
  if (text?.text === undefined || x?.number === undefined || y?.number === undefined) {
    note.dropped("a text without a place");
    return;
  }
  draft.text(text.text, x.number, y.number);
  for (const part of [text, x, y]) part.kept();
  for (const key of ["@stroke", "@stroke-opacity"]) note.get(key)?.dropped("texts have no colour");
}

const linePatterns: Readonly<Record<string, LineStyle>> = { Dot: "dotted", Dash: "dashed", DashDot: "dashed", DashDotDot: "dashed" };

/** The schema of VIRL: a rectangle has its corner, an ellipse its middle and its radii. Colours have no "#"; absent attributes have defaults. */
function readShape(draft: Draft, element: "rect" | "ellipse" | "line", part: Part): void {
  const number = (name: string) => part.get(`@${name}`)?.number ?? Number.NaN;
  const color = (name: string, otherwise: string) =>
    cssColor(`#${part.get(`@${name}`)?.text ?? otherwise}`, part.get(`@${name}-opacity`)?.number ?? 1);
  const [stroke, fill] = [color("stroke", "000000"), color("fill", "CCCCCC")];
  const look = {
    ...(stroke !== undefined && { color: stroke }),
    style: linePatterns[part.get("@stroke-pattern")?.text ?? ""] ?? "solid",
    thickness: part.get("@stroke-width")?.number ?? 3,
  };
  const inside = { ...look, ...(fill !== undefined && { fill }) };
  const shapes: Readonly<Record<typeof element, LabShape>> = {
    rect: { type: "rectangle", x: number("x"), y: number("y"), width: number("width"), height: number("height"), ...inside },
    ellipse: {
      type: "ellipse",
      x: number("xc") - number("xr"),
      y: number("yc") - number("yr"),
      width: 2 * number("xr"),
      height: 2 * number("yr"),
      ...inside,
    },
    line: { type: "line", x: number("x1"), y: number("y1"), x2: number("x2"), y2: number("y2"), ...look },
  };
  const problem = draft.shape(shapes[element]);
  if (problem !== undefined) {
    part.dropped(problem);
    return;
  }
  if (element === "rect") for (const key of ["@rx", "@ry"]) part.get(key)?.dropped("rectangles have sharp corners");
  for (const [key, value] of part.entries) if (!["@rx", "@ry"].includes(key)) value.mapped("a shape, in shapes");
}
