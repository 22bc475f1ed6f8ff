import { linksOf } from "../../../formats/unl/links.ts";
import type { CopiedExtra, ExtrasCopy } from "../../host.ts";
import { readText, writeText } from "../lab-file/texts.ts";
import type { Other, UnlLab, UnlNode, UnlTextObject } from "../lab-file/unl.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import { drawingKey, hasHotspots, pictureInCopy, pictureKey, sameThings } from "./lab-extras.ts";
import { usesConfig } from "./observe.ts";

/** Reports the outcome for each part of the source that an intent cannot express. Compares the source with the copy as it was read back. */
export function extrasReport(source: UnlLab, copy: UnlLab, ids: ExtrasCopy, catalogue: EveCatalogue): readonly CopiedExtra[] {
  return [
    ...headLines(source, copy),
    ...drawingLines(source, copy),
    ...pictureLines(source, copy, ids),
    ...configLines(source, copy, ids),
    ...networkLines(source, copy, ids),
    ...unknownLines(source, copy, catalogue),
  ];
}

function headLines(source: UnlLab, copy: UnlLab): readonly CopiedExtra[] {
  const words = { author: "the author", version: "the version", scripttimeout: "the script timeout", body: "the tasks" } as const;
  return (["author", "version", "scripttimeout", "body"] as const).flatMap((field): CopiedExtra[] => {
    const value = String(source[field] ?? "");
    return value === "" ? [] : [{ level: levelOf(value === String(copy[field] ?? "")), message: words[field] }];
  });
}

function drawingLines(source: UnlLab, copy: UnlLab): readonly CopiedExtra[] {
  const shapes = source.textObjects.filter((object) => readText(object) === undefined);
  const styled = source.textObjects.filter((object) => hasLook(object));
  const there = copy.textObjects.map(drawingKey);
  const count = (number: number, one: string, many: string) => `${number} ${number === 1 ? one : many}`;
  const lines = (objects: readonly UnlTextObject[], message: (number: number) => string): readonly CopiedExtra[] => {
    const left = [...there];
    const lost = objects.filter((object) => {
      const at = left.indexOf(drawingKey(object));
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    }).length;
    const kept = objects.length - lost;
    return [
      ...(kept > 0 ? [{ level: "kept" as const, message: message(kept) }] : []),
      ...(lost > 0 ? [{ level: "dropped" as const, message: message(lost) }] : []),
    ];
  };
  return [
    ...lines(shapes, (number) => count(number, "shape", "shapes")),
    ...lines(styled, (number) => `the look of ${count(number, "text", "texts")}`),
  ];
}

/** Returns whether a text looks different from the texts that Labwright draws. */
function hasLook(object: UnlTextObject): boolean {
  const text = readText(object);
  return text !== undefined && drawingKey({ ...writeText(0, text), name: object.name ?? "" }) !== drawingKey(object);
}

function pictureLines(source: UnlLab, copy: UnlLab, ids: ExtrasCopy): readonly CopiedExtra[] {
  const nodes = sameThings(ids.from.nodes, ids.to.nodes);
  const there = new Set(copy.pictures.map(pictureKey));
  return source.pictures.map((picture): CopiedExtra => {
    const what = `the picture ${JSON.stringify(picture.name ?? "")}`;
    if (!there.has(pictureKey(pictureInCopy(picture, nodes)))) return { level: "dropped", message: what };
    if (!hasHotspots(picture)) return { level: "kept", message: what };
    return { level: "mapped", message: `${what}: its hotspots open the copy's nodes` };
  });
}

/** Configs that nodes use are part of the intent. */
function configLines(source: UnlLab, copy: UnlLab, { from, to }: ExtrasCopy): readonly CopiedExtra[] {
  const texts = new Map(copy.configs.map(({ id, text }) => [String(id), text]));
  return source.configs.flatMap(({ id, text }): CopiedExtra[] => {
    const node = source.nodes.find((one) => one.id === id);
    if (node !== undefined && usesConfig(node)) return [];
    const key = keyOf(from.nodes, id);
    const kept = key !== undefined && texts.get(to.nodes[key] ?? "") === text;
    const message = key === undefined ? `a startup config of node ${id}, which does not exist` : "a startup config that is not in use";
    return [{ level: levelOf(kept), message, ...(key !== undefined && { node: key }) }];
  });
}

function networkLines(source: UnlLab, copy: UnlLab, { from, to }: ExtrasCopy): readonly CopiedExtra[] {
  const bridges = new Set(linksOf(source).flatMap((link) => (link.kind === "p2p" ? [link.network] : [])));
  return source.networks.flatMap((network): CopiedExtra[] => {
    const key = keyOf(from.networks, network.id);
    if (key === undefined || bridges.has(network.id)) return [];
    const copied = copy.networks.find(({ id }) => String(id) === to.networks[key]);
    const { icon = "", visibility = 0 } = network;
    return [
      ...(icon === "" ? [] : [{ level: levelOf(copied?.icon === icon), message: "the icon", network: key }]),
      ...(visibility === 0 && copied?.visibility === 1
        ? [{ level: "mapped" as const, message: "it is hidden; the copy shows it", network: key }]
        : []),
    ];
  });
}

/** The unknown parts of the file. Drawings are copied completely. Other parts refer to the source's ids, or have an unknown meaning. */
function unknownLines(source: UnlLab, copy: UnlLab, catalogue: EveCatalogue): readonly CopiedExtra[] {
  const { nodes, networks, containers = {} } = source;
  const definition = [
    source,
    ...Object.values(containers),
    ...networks,
    ...nodes.flatMap((node) => [withoutKnown(node, catalogue), ...node.interfaces]),
  ];
  const drawings = (lab: UnlLab) => otherNames([...lab.textObjects, ...lab.pictures, ...lab.configs]);
  const there = new Set(drawings(copy));
  const lost = drawings(source).filter((name) => !there.has(name));
  const unknown = [...new Set([...otherNames(definition), ...lost])].sort();
  return unknown.length === 0
    ? []
    : [{ level: "dropped", message: `parts of the file that Labwright does not know: ${unknown.join(", ")}` }];
}

function otherNames(parts: readonly Other[]): readonly string[] {
  return parts.flatMap(({ otherAttributes = [], otherElements = [] }) => [
    ...otherAttributes.map(([name]) => name),
    ...otherElements.flatMap((child) => (typeof child === "string" ? [] : [`<${child.name}>`])),
  ]);
}

/** Fields of the template's form are attributes of the intent; PNETLab keeps the startup config as an attribute. */
function withoutKnown({ template = "", otherAttributes = [], otherElements = [] }: UnlNode, catalogue: EveCatalogue): Other {
  const known = new Set(["config_data", ...(catalogue.template(template)?.attributes ?? []).map(({ name }) => name)]);
  return { otherAttributes: otherAttributes.filter(([name]) => !known.has(name)), otherElements };
}

function levelOf(kept: boolean): CopiedExtra["level"] {
  return kept ? "kept" : "dropped";
}

function keyOf(ids: Readonly<Record<string, string>>, id: number): string | undefined {
  return Object.entries(ids).find(([, native]) => native === String(id))?.[0];
}
