import type { Quality } from "../../../intent/lab/lab.ts";
import { toColor } from "../../../intent/shapes/color.ts";
import { lineEnds, shapeTypes, styleOfDashes } from "../../../intent/shapes/shape.ts";
import { Draft, type DraftEnd, type DraftPlace, positionOf, qualityOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { Notation, SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { readConfiguration } from "./configuration.ts";

/** Labs of Cisco Modeling Labs 2 and VIRL 2: schema 0.0.x to 0.3.x, as YAML or JSON. */
export const cml: Importer = {
  format: "cml",
  title: "CML 2 lab",
  recognize: (files, path) => {
    const text = files.text(path) ?? "";
    if (!/node_definition/.test(text)) return 0;
    const tree = files.treeIf(path, notationOf(text));
    if (tree === undefined) return 0.2;
    const root = Part.of(tree, path);
    const nodes = sectionOf(root, "nodes");
    return nodes?.items.some((node) => node.get("node_definition") !== undefined) ? 1 : 0;
  },
  read,
};

function notationOf(text: string): Notation {
  return text.trimStart().startsWith("{") ? "json" : "yaml";
}

/** Most files have the sections beside `lab`, some inside. */
function sectionOf(root: Part, key: string): Part | undefined {
  return root.get(key) ?? root.at("lab", key) ?? root.at("topology", key);
}

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(files.tree(path, notationOf(files.text(path) ?? "")), path);
  const nodes = sectionOf(root, "nodes");
  if (nodes === undefined || nodes.node.kind !== "list") return refuse("the lab has no list of nodes", { file: path, line: root.line });
  const draft = new Draft();
  readHead(draft, root, path);
  const found = new Map<string, ReadNode>();
  for (const node of nodes.items) {
    const read = readNode(draft, node, options);
    for (const key of ["id", "label"]) {
      const text = node.get(key)?.text;
      if (text !== undefined && !found.has(text)) found.set(text, read);
    }
  }
  for (const link of sectionOf(root, "links")?.items ?? []) readLink(draft, link, found);
  for (const note of sectionOf(root, "annotations")?.items ?? []) readAnnotation(draft, note);
  for (const note of sectionOf(root, "smart_annotations")?.items ?? []) note.dropped("a frame around the nodes of a tag");
  return { draft, parts: [root] };
}

function readHead(draft: Draft, root: Part, path: string): void {
  const head = (key: string) => root.at("lab", key) ?? root.get(key) ?? root.get(`lab_${key}`);
  const title = head("title");
  draft.setName(title?.text ?? path.slice(path.lastIndexOf("/") + 1).replace(/\.(ya?ml|json)$/i, ""), title);
  const [description, notes] = [head("description"), head("notes")];
  if (description !== undefined) draft.setDescription(description.text, description);
  if (notes?.text !== undefined && notes.text.trim() !== "") notes.mapped(`the file ${draft.file("notes.md", notes.text)} beside the lab`);
  else notes?.dropped("empty");
  head("version")?.mapped("the schema, read as such");
  for (const key of ["timestamp", "created", "owner", "id"]) root.at("lab", key)?.dropped("the host chooses it");
}

interface ReadNode {
  readonly place: DraftPlace;
  /** By id and by label. */
  readonly interfaces: ReadonlyMap<string, { readonly label: Part | undefined; readonly index: number | undefined }>;
}

const reasons: Readonly<Record<string, string>> = {
  boot_disk_size: "a disk has the size of its image",
  data_volume: "a node has one disk",
  hide_links: "drawings show all links",
  cpu_limit: "cpu limits a node",
  compute_id: "a lab has one machine",
  pinned_compute_id: "a lab has one machine",
  parameters: "attributes of the template choose the options of QEMU",
  pyats: "credentials are not carried along",
  priority: "depends-on orders starts",
};

function readNode(draft: Draft, part: Part, options: ReadOptions): ReadNode {
  const [label, definition, image] = ["label", "node_definition", "image_definition"].map((key) => part.get(key));
  const wanted = image?.text?.trim() === "" ? undefined : image?.text;
  const choice = chooseTemplate(options, "cml", definition?.text ?? "server", wanted);
  const place = draft.place(label?.text ?? part.get("id")?.text ?? "node", choice, {
    name: label,
    type: definition,
    image: wanted === undefined ? undefined : image,
  });
  part.get("id")?.mapped(`the key ${place.key}`);
  const [x, y] = [part.get("x"), part.get("y")];
  if (x?.number !== undefined && y?.number !== undefined) {
    const position = positionOf(x.number, y.number);
    if (place instanceof DraftNode) place.set("position", { ...position });
    else place.position = position;
    for (const each of [x, y]) each.kept();
  }
  for (const [key, reason] of Object.entries(reasons)) part.get(key)?.dropped(reason);
  if (place instanceof DraftNode) {
    readSize(place, part);
    readTags(place, part.get("tags"));
    readConfiguration(draft, place, part.get("configuration"));
  } else {
    part.get("configuration")?.dropped("a network has no configuration");
    part.get("tags")?.dropped("a network has no labels");
  }
  return { place, interfaces: readInterfaces(part) };
}

function readSize(node: DraftNode, part: Part): void {
  const [cpus, ram] = [part.get("cpus"), part.get("ram")];
  const isOwn = node.machine !== undefined || node.template === "container";
  for (const [field, value, max] of [
    ["cpu", cpus, 1024],
    ["ram", ram, 16 * 1024 * 1024],
  ] as const) {
    const number = value?.number;
    if (value === undefined) continue;
    if (!isOwn) value.dropped(`nodes of template ${node.template} have the processors and memory that the template needs`);
    else if (value.isNull || number === 0) value.dropped("the template's default");
    else node.set(field, number !== undefined && Number.isInteger(number) && number > 0 && number <= max ? number : undefined, value);
  }
}

function readTags(node: DraftNode, tags: Part | undefined): void {
  const words = (tags?.items ?? []).flatMap((tag) => (tag.text === undefined || tag.text.trim() === "" ? [] : [tag]));
  if (words.length === 0) return;
  node.put("labels", "tags", words.map((tag) => tag.text).join(","));
  for (const tag of words) tag.mapped("the label tags");
}

function readInterfaces(part: Part): ReadNode["interfaces"] {
  const interfaces = new Map<string, { readonly label: Part | undefined; readonly index: number | undefined }>();
  for (const each of part.get("interfaces")?.items ?? []) {
    const [id, label, slot] = ["id", "label", "slot"].map((key) => each.get(key));
    const isLoopback = each.get("type")?.text === "loopback";
    if (isLoopback) {
      each.dropped("a configuration makes loopback interfaces");
      continue;
    }
    for (const one of [id, slot]) one?.mapped("the number of the interface");
    each.get("type")?.mapped("an Ethernet interface");
    label?.dropped("no link uses this interface");
    each.get("mac_address")?.dropped("the host chooses addresses of interfaces");
    const index = slot?.number;
    const face = { label, index: index !== undefined && Number.isInteger(index) && index >= 0 ? index : undefined };
    for (const key of [label?.text, id?.text]) if (key !== undefined) interfaces.set(key, face);
  }
  return interfaces;
}

function readLink(draft: Draft, link: Part, nodes: ReadonlyMap<string, ReadNode>): void {
  const ends = (
    [
      ["n1", "i1"],
      ["n2", "i2"],
    ] as const
  ).map(([n, i]): DraftEnd | undefined => {
    // Some tools write node_a and interface_a.
    const [node, face] = [
      link.get(n) ?? link.get(n === "n1" ? "node_a" : "node_b"),
      link.get(i) ?? link.get(i === "i1" ? "interface_a" : "interface_b"),
    ];
    const found = nodes.get(node?.text ?? "");
    if (found === undefined) return undefined;
    const known = found.interfaces.get(face?.text ?? "");
    const name = known?.label?.text ?? face?.text ?? "0";
    return {
      at: found.place,
      interface: name,
      ...(known?.index !== undefined && { index: known.index }),
      parts: [node, face, known?.label],
    };
  });
  const [a, b] = ends;
  if (a === undefined || b === undefined) {
    link.dropped("an end of the link is not a node of the lab");
    return;
  }
  link.get("id")?.mapped("links have no ids");
  link.get("label")?.dropped("links have no labels");
  const quality = conditioning(link.get("conditioning") ?? link.get("link_conditioning"));
  draft.link({ ends: [a, b], quality: quality && { a: quality, b: quality }, part: link });
}

/** Both directions have the values. Bandwidth is in kbit/s, times in ms. */
function conditioning(part: Part | undefined): Quality | undefined {
  if (part === undefined) return undefined;
  if (part.get("enabled")?.boolean === false) {
    part.dropped("the conditioning is switched off");
    return undefined;
  }
  part.get("enabled")?.mapped("quality");
  const values: Record<string, number> = {};
  for (const [key, field] of [
    ["bandwidth", "bandwidth"],
    ["latency", "delay"],
    ["jitter", "jitter"],
    ["loss", "loss"],
  ] as const) {
    const value = part.get(key);
    if (value?.number !== undefined && value.number > 0) {
      values[field] = value.number;
      value.mapped(`quality: ${field}`);
    } else value?.dropped("no impairment");
  }
  return qualityOf(values);
}

/** Returns whether the annotation is a shape. A rectangle has its corner and its size, an ellipse its middle and its radii, a line both ends. */
function readShapeAnnotation(draft: Draft, note: Part): boolean {
  const type = note.get("type");
  const kind = shapeTypes.find((one) => one === type?.text);
  if (kind === undefined) return false;
  const numbers = ["x1", "y1", "x2", "y2"].map((key) => note.get(key)?.number ?? Number.NaN) as [number, number, number, number];
  const [x1, y1, x2, y2] = numbers;
  const color = (key: string) => toColor(note.get(key)?.text ?? "");
  const thickness = note.get("thickness")?.number;
  const border = kind === "line" ? (color("border_color") ?? color("color")) : color("border_color");
  const look = {
    ...(border !== undefined && { color: border }),
    style: styleOfDashes(note.get("border_style")?.text, 2),
    thickness: thickness ?? 1,
    layer: Math.min(0, note.get("z_index")?.number ?? 0),
  };
  const fill = color("color");
  const rotation = note.get("rotation")?.number ?? 0;
  const inside = { ...(fill !== undefined && { fill }), rotation };
  const mark = (key: string) => lineEnds.find((one) => one === note.get(key)?.text);
  const [start, end] = [mark("line_start"), mark("line_end")];
  const marks = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
  const problem = draft.shape(
    kind === "line"
      ? { type: kind, x: x1, y: y1, x2, y2, ...look, ...marks }
      : kind === "rectangle"
        ? { type: kind, x: x1, y: y1, width: x2, height: y2, ...look, ...inside }
        : { type: kind, x: x1 - x2, y: y1 - y2, width: 2 * x2, height: 2 * y2, ...look, ...inside },
  );
  if (problem !== undefined) {
    note.dropped(problem);
    return true;
  }
  type?.kept();
  for (const key of ["x1", "y1", "x2", "y2"]) note.get(key)?.mapped("the place and the size of the shape");
  for (const key of ["color", "border_color", "border_style", "thickness", "z_index", "rotation", "line_start", "line_end"])
    note.get(key)?.mapped("the look of the shape");
  note.get("border_radius")?.dropped("rectangles have sharp corners");
  note.get("id")?.dropped("shapes have no ids");
  return true;
}

function readAnnotation(draft: Draft, note: Part): void {
  const [text, x, y] = ["text_content", "x1", "y1"].map((key) => note.get(key));
  if (readShapeAnnotation(draft, note)) return;
  if (text?.text === undefined || x?.number === undefined || y?.number === undefined) {
    note.dropped("an annotation without a text");
    return;
  }
  draft.text(text.text, x.number, y.number);
  for (const each of [text, x, y]) each.kept();
  note.get("type")?.mapped("a text");
}
