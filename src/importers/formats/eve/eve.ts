import { htmlWords } from "../../../formats/html/html-words.ts";
import { linksOf, type UnlEnd, type UnlLink } from "../../../formats/unl/links.ts";
import { placedShape } from "../../../formats/unl/placed-shape.ts";
import { placedText } from "../../../formats/unl/placed-text.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import { shapeInBlock } from "../../../intent/shapes/drawn-shape.ts";
import { Draft, type DraftEnd, type DraftNetwork, qualityOf } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import { base64Text } from "../../source/base64.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { textKey } from "../../tree/xml-tree.ts";
import { placeOf, readNode } from "./eve-node.ts";
import { type EveLab, eveLab, integer, linkedLab } from "./networks.ts";

/** Lab files of UNetLab, EVE-NG and PNETLab. */
export const eve: Importer = {
  format: "eve",
  title: "EVE-NG, PNETLab or UNetLab lab",
  recognize: (files, path) => {
    const text = files.text(path) ?? "";
    if (!/^[^<]{0,100}<(\?xml|!--|lab[\s>])/.test(text) || !/<lab[\s>]/.test(text.slice(0, 65_536))) return 0;
    if (!/<(topology|objects)[\s/>]/.test(text)) return 0.3;
    return files.treeIf(path, "xml") === undefined ? 0.5 : 1;
  },
  read,
};

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(files.tree(path, "xml"), path);
  const lab = root.get("lab");
  if (lab === undefined)
    return refuse(`the root element is ${root.entries[0]?.[0] ?? "missing"}, not lab`, { file: path, line: root.line });
  const draft = new Draft();
  draft.setName(lab.get("@name")?.text ?? path.slice(path.lastIndexOf("/") + 1).replace(/\.unl$/i, ""), lab.get("@name"));
  readHead(draft, lab);
  const source = eveLab(below(lab, "topology", "nodes", "node"), below(lab, "topology", "networks", "network"));
  const configs = new Map(below(lab, "objects", "configs", "config").map((config) => [integer(config.get("@id")), config]));
  const nodes = new Map([...source.nodes].map(([id, { part }]) => [id, readNode(draft, part, configs.get(id), options)]));
  readLinks(draft, source, nodes);
  for (const object of below(lab, "objects", "textobjects", "textobject")) readTextObject(draft, object);
  for (const picture of below(lab, "objects", "pictures", "picture")) picture.dropped("a lab has no pictures");
  return { draft, parts: [root] };
}

/** Returns the elements at the end of a path: a file may have several of each container. */
function below(part: Part, ...names: readonly string[]): readonly Part[] {
  return names.reduce<readonly Part[]>((found, name) => found.flatMap((each) => each.get(name)?.items ?? []), [part]);
}

const reasons: Readonly<Record<string, string>> = {
  "@id": "the host chooses it",
  "@version": "a counter of EVE-NG's",
  "@scripttimeout": "nodes are ready when their template's check passes",
  "@countdown": "a lab has no clock",
  "@lock": "labwright lock locks a lab",
  "@author": "the owner is the user who imports the lab",
};

function readHead(draft: Draft, lab: Part): void {
  const description = lab.get("description")?.items[0]?.get(textKey) ?? lab.get("@description");
  if (description !== undefined) draft.setDescription(description.text, description);
  const body = lab.get("body")?.items[0]?.get(textKey);
  if (body?.text !== undefined && body.text.trim() !== "")
    body.mapped(`the file ${draft.file("tasks.txt", `${htmlWords(body.text).trim()}\n`)} beside the lab`);
  for (const [key, reason] of Object.entries(reasons)) lab.get(key)?.dropped(reason);
}

function readLinks(draft: Draft, source: EveLab, nodes: ReadonlyMap<number, DraftNode>): void {
  const links = linksOf(linkedLab(source));
  const hidden = new Set(links.flatMap((link) => (link.kind === "p2p" ? [link.network] : [])));
  const networks = new Map<number, DraftNetwork>();
  for (const [id, part] of source.networks) {
    const isUsed = links.some((link) => link.kind === "attachment" && link.network === id);
    if (hidden.has(id)) part.mapped("a link of two interfaces");
    else if (!isUsed && part.get("@visibility")?.text === "0") part.dropped("a hidden network without links");
    else networks.set(id, readNetwork(draft, part));
  }
  for (const { part } of [...source.nodes.values()].flatMap(({ interfaces }) => [...interfaces.values()])) {
    part.get("@id")?.mapped("the number of the interface");
    part.get("@name")?.dropped("no link uses this interface");
    part.get("@type")?.mapped("an Ethernet interface");
  }
  const endOf = ({ node, interface: face }: UnlEnd): { readonly end: DraftEnd; readonly part: Part | undefined } | undefined => {
    const at = nodes.get(node);
    const part = source.nodes.get(node)?.interfaces.get(face)?.part;
    if (at === undefined) return undefined;
    const name = part?.get("@name");
    const words = ["@name", "@network_id", "@remote_id", "@remote_if"].map((key) => part?.get(key));
    return {
      end: { at, interface: name?.text?.trim() || `${face}`, index: indexOf(source.nodes.get(node)?.part, face), parts: words },
      part,
    };
  };
  for (const link of links) readLink(draft, link, endOf, networks);
}

/** IOL counts the ports of a slot in steps of 16. */
function indexOf(node: Part | undefined, id: number): number {
  return node?.get("@type")?.text === "iol" ? (id % 16) * 4 + Math.floor(id / 16) : id;
}

function readLink(
  draft: Draft,
  link: UnlLink,
  endOf: (end: UnlEnd) => { readonly end: DraftEnd; readonly part: Part | undefined } | undefined,
  networks: ReadonlyMap<number, DraftNetwork>,
): void {
  const a = endOf(link.kind === "attachment" ? link.end : link.a);
  const b = link.kind === "attachment" ? undefined : endOf(link.b);
  const network = link.kind === "attachment" ? networks.get(link.network) : undefined;
  const other = b?.end ?? (network === undefined ? undefined : { at: network });
  if (a?.part === undefined || other === undefined) {
    a?.part?.dropped("the other end of the link is missing");
    return;
  }
  const [sideA, sideB] = [qualities(a.part), qualities(b?.part)];
  const quality = {
    ...optional("a", qualityOf({ ...sideB.destination, ...sideA.source })),
    ...optional("b", qualityOf({ ...sideA.destination, ...sideB.source })),
  };
  const suspended = [a.part, b?.part].some((part) => suspend(part));
  draft.link({ ends: [a.end, other], quality: Object.keys(quality).length === 0 ? undefined : quality, suspended, part: a.part });
}

function optional<Name extends string>(name: Name, value: Quality | undefined): { readonly [N in Name]?: Quality } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in Name]?: Quality };
}

/** The impairments of an interface, for the traffic that it sends and for the traffic that it receives. */
function qualities(part: Part | undefined): { readonly source: Quality; readonly destination: Quality } {
  const of = (direction: string): Quality =>
    Object.fromEntries(
      (["delay", "jitter", "loss", "bandwidth"] as const).flatMap((field) => {
        const value = part?.get(`@${direction}_${field}`);
        if (value?.number === undefined || value.number <= 0) {
          value?.dropped("no impairment");
          return [];
        }
        value.mapped(`quality: ${field}`);
        return [[field, value.number]];
      }),
    );
  return { source: of("source"), destination: of("destination") };
}

function suspend(part: Part | undefined): boolean {
  return ["@source_suspend", "@destination_suspend"].some((key) => {
    const value = part?.get(key);
    if (value?.text === "1") value.mapped("the link is suspended");
    else value?.dropped("the link is not suspended");
    return value?.text === "1";
  });
}

function readNetwork(draft: Draft, part: Part): DraftNetwork {
  const type = part.get("@type");
  const isOutside = /^(pnet|nat|cloud|docker|virbr|eth|external|internet|management)/i.test(type?.text ?? "");
  const network = draft.network(part.get("@name")?.text ?? "net", isOutside ? "nat" : "bridge", { name: part.get("@name"), type });
  const [left, top] = [part.get("@left"), part.get("@top")];
  const position = placeOf(left, top);
  if (position !== undefined) network.position = position;
  part.get("@id")?.mapped("the key of the network");
  part.get("@visibility")?.mapped("a network of its own");
  return network;
}

function readShape(draft: Draft, object: Part, data: Part, html: string): void {
  const placed = placedShape(html);
  const problem =
    placed === undefined ? "neither a text, a rectangle, an ellipse nor a line" : draft.shape(shapeInBlock(placed.shape, placed));
  if (problem !== undefined) {
    object.dropped(problem);
    return;
  }
  data.mapped("its form, place, colors and line, in shapes");
  for (const key of ["@id", "@name", "@type"]) object.get(key)?.mapped("a shape");
}

function readTextObject(draft: Draft, object: Part): void {
  const data = object.get("data")?.items[0]?.get(textKey);
  const html = data?.text === undefined ? undefined : base64Text(data.text);
  const found = html === undefined ? undefined : placedText(html);
  const type = object.get("@type")?.text ?? "text";
  if (data !== undefined && html !== undefined && type !== "text") {
    readShape(draft, object, data, html);
    return;
  }
  if (data === undefined || found === undefined) {
    object.dropped("a drawing without a text");
    return;
  }
  draft.text(found.text, found.x, found.y);
  data.mapped("its words, in texts");
  for (const key of ["@id", "@name", "@type"]) object.get(key)?.mapped("a text");
}
