import { defined } from "../../../engine/shared/defined.ts";
import type { ExtrasCopy } from "../../host.ts";
import { readText, textKey } from "../lab-file/texts.ts";
import type { UnlConfig, UnlLab, UnlPicture, UnlTextObject } from "../lab-file/unl.ts";
import { lowestFree } from "../lab-file/unl-links.ts";
import { usesConfig } from "./observe.ts";

/**
 * Returns the copy with the parts that an intent cannot express: author, version, script timeout, tasks, shapes, the look of texts, unused startup
 * configs, and, if the copy is written as a file, pictures and icons of networks. Returns the same object if the copy already has them.
 */
export function withExtras(source: UnlLab, copy: UnlLab, ids: ExtrasCopy, asFile: boolean): UnlLab {
  const nodes = sameThings(ids.from.nodes, ids.to.nodes);
  const { author, version, scripttimeout, body } = source;
  const pictures = source.pictures.map((picture) => pictureInCopy(picture, nodes));
  return {
    ...copy,
    ...defined<Pick<UnlLab, "author" | "version" | "scripttimeout" | "body">>({
      author: author ?? copy.author,
      version: version ?? copy.version,
      scripttimeout: scripttimeout ?? copy.scripttimeout,
      body: body ?? copy.body,
    }),
    textObjects: mergedTexts(source.textObjects, copy.textObjects),
    configs: [...copy.configs, ...(ids.configs ? spareConfigs(source, copy, nodes) : [])].sort((a, b) => a.id - b.id),
    ...(asFile && { pictures: mergedPictures(pictures, copy.pictures), networks: withIcons(source, copy, ids) }),
  };
}

/** Native id of an object in the source → its id in the copy. */
export function sameThings(from: Readonly<Record<string, string>>, to: Readonly<Record<string, string>>): ReadonlyMap<number, number> {
  return new Map(Object.entries(from).flatMap(([key, id]) => (to[key] === undefined ? [] : [[Number(id), Number(to[key])] as const])));
}

/** A hotspot contains the number of the node whose console it opens. */
const hotspot = /\{\{NODE(\d+)\}\}/g;

export function hasHotspots({ map }: UnlPicture): boolean {
  return (map ?? "").search(hotspot) >= 0;
}

export function pictureInCopy(picture: UnlPicture, nodes: ReadonlyMap<number, number>): UnlPicture {
  if (picture.map === undefined) return picture;
  const map = picture.map.replaceAll(hotspot, (whole, id: string) => {
    const copied = nodes.get(Number(id));
    return copied === undefined ? whole : `{{NODE${copied}}}`;
  });
  return { ...picture, map };
}

/** Returns the same text for pictures that differ only in their number. */
export function pictureKey({ name, type, data, map }: UnlPicture): string {
  return JSON.stringify([name ?? "", type ?? "", data ?? "", map ?? ""]);
}

/** Returns the same text for drawings that differ only in their number. */
export function drawingKey(object: UnlTextObject): string {
  const { name, type, data } = numbered(object, 0);
  return JSON.stringify([name ?? "", type ?? "", data ?? ""]);
}

/** Returns the startup configs that the host stores for nodes of the source that do not use them, with the ids of the copy's nodes. */
export function spareConfigs(source: UnlLab, copy: UnlLab, nodes: ReadonlyMap<number, number>): readonly UnlConfig[] {
  return source.configs.flatMap((config) => {
    const id = nodes.get(config.id);
    const node = source.nodes.find((one) => one.id === config.id);
    if (id === undefined || node === undefined || usesConfig(node) || copy.configs.some((one) => one.id === id)) return [];
    return [{ ...config, id }];
  });
}

function withIcons(source: UnlLab, copy: UnlLab, ids: ExtrasCopy): UnlLab["networks"] {
  const networks = sameThings(ids.from.networks, ids.to.networks);
  const icons = new Map(source.networks.map(({ id, icon }) => [networks.get(id), icon]));
  return copy.networks.map((network) => ({ ...network, ...defined<{ icon?: string }>({ icon: icons.get(network.id) ?? network.icon }) }));
}

/** Returns the copy's pictures, and the missing pictures of the source under free numbers. */
function mergedPictures(source: readonly UnlPicture[], copy: readonly UnlPicture[]): readonly UnlPicture[] {
  const there = new Set(copy.map(pictureKey));
  const all = [...copy];
  for (const one of source) if (!there.has(pictureKey(one))) all.push({ ...one, id: freeId(all) });
  return all;
}

/** Gives the copy's texts the look that they have in the source, and adds the source's other drawings. */
function mergedTexts(source: readonly UnlTextObject[], copy: readonly UnlTextObject[]): readonly UnlTextObject[] {
  const all = [...copy];
  const matched = new Set<number>();
  for (const object of source) {
    const key = objectKey(object);
    const found = all.findIndex((one, index) => !matched.has(index) && objectKey(one) === key);
    // A text that the copy does not have was left out on purpose.
    if (found < 0 && readText(object) !== undefined) continue;
    const index = found < 0 ? all.length : found;
    matched.add(index);
    all[index] = numbered(object, all[found]?.id ?? freeId(all));
  }
  return all;
}

function objectKey(object: UnlTextObject): string {
  const text = readText(object);
  return text === undefined ? drawingKey(object) : textKey(text);
}

/** EVE-NG's page finds a drawing by its number in the drawing's own HTML. */
function numbered(object: UnlTextObject, id: number): UnlTextObject {
  const html = Buffer.from(object.data ?? "", "base64").toString("utf8");
  // Data that is not base64 stays as it is.
  const isHtml = Buffer.from(html, "utf8").toString("base64") === object.data;
  const [opening = ""] = isHtml ? (/^\s*<[^>]*>/.exec(html) ?? []) : [];
  const now = opening
    .replace(/(\bid\s*=\s*["']?custom(?:Text|Shape))\d+/i, (_, start: string) => `${start}${id}`)
    .replace(/(\bdata-path\s*=\s*["']?)\d+/i, (_, start: string) => `${start}${id}`);
  if (now === opening) return { ...object, id };
  return { ...object, id, data: Buffer.from(now + html.slice(opening.length), "utf8").toString("base64") };
}

function freeId(list: readonly { readonly id?: number }[]): number {
  return lowestFree(list.map(({ id = 0 }) => ({ id })));
}
