import { isMap, isSeq, type YAMLMap, type YAMLSeq } from "yaml";
import { sameData } from "../lab/canonical.ts";
import { type Endpoint, endpointText, type Lab, type LabLink } from "../lab/lab.ts";
import type { MapValue } from "../parse/parse.ts";
import type { Reading } from "../read/read.ts";
import type { ReadLink } from "../read/read-links.ts";
import { authorEndpoints, authorLink, authorQuality, authorSuspended } from "../write/author.ts";
import { type Data, isList } from "../write/write.ts";
import { CannotChangePart, dataOf, sameTarget } from "./expanded.ts";
import { Changes, Items, remove, type Target } from "./rewrite.ts";

/**
 * Links are identified by their key. Links that stay keep their order. A link that moved to another network or node keeps its place and its comments.
 * Other new links are added at the end, in the form of the last one.
 */
export function changeLinks(reading: Reading, before: Lab, after: Lab): Items | undefined {
  if (sameData(before.links, after.links)) return undefined;
  const wanted = new Map(after.links.map((link) => [link.key, link]));
  const moved = movedLinks(reading, wanted);
  const items: { readonly from?: number; readonly to?: Target }[] = [];
  const several = new Map<number, ReadLink[]>();
  for (const read of reading.links) if (read.isOneOfSeveral) several.set(read.index, [...(several.get(read.index) ?? []), read]);
  for (const read of reading.links) {
    if (read.isOneOfSeveral) {
      const all = several.get(read.index);
      if (all?.[0] === read) items.push(...changeSeveral(all, wanted));
      continue;
    }
    const link = wanted.get(read.link.key) ?? moved.get(read.link.key);
    if (link === undefined) continue;
    wanted.delete(link.key);
    const to = changeLink(read, link);
    items.push(to === undefined ? { from: read.index } : { from: read.index, to });
  }
  const isLong = lastIsMap(reading);
  for (const link of wanted.values()) {
    const data = authorLink(link);
    items.push({ to: isLong && isList(data) ? { endpoints: data } : data });
  }
  return new Items(items);
}

/**
 * Returns the item of several links: as it is, without an item if all links are removed, or with a change that all of them have.
 * @throws CannotChangePart for any other change.
 */
function changeSeveral(
  all: readonly ReadLink[],
  wanted: Map<string, LabLink>,
): readonly { readonly from?: number; readonly to?: Target }[] {
  const { index, value } = all[0] as ReadLink;
  const kept = all.filter(({ link }) => wanted.has(link.key));
  if (kept.length === 0) return [];
  const targets = all.map((read) => {
    const link = wanted.get(read.link.key);
    return link === undefined || sameData(read.link, link) ? undefined : changeEffects(read, link);
  });
  if (kept.length < all.length || !targets.every((target) => sameTarget(target, targets[0]))) {
    const changed = all.find(({ link }) => !sameData(link, wanted.get(link.key))) as ReadLink;
    const message = `link ${changed.link.key} comes from an item that stands for ${all.length} links: write its links one by one; labwright render prints them`;
    throw new CannotChangePart(value, message);
  }
  for (const { link } of all) wanted.delete(link.key);
  return [targets[0] === undefined ? { from: index } : { from: index, to: targets[0] }];
}

/** Returns the change of quality, suspended and mtu. The short form has no place for them. */
function changeEffects(read: ReadLink, wanted: LabLink): Target | undefined {
  const { value } = read;
  if (value.kind === "map") return changeLink(read, wanted);
  const { endpoints: _endpoints, ...effects } = authorLink(wanted) as Readonly<Record<string, Data>>;
  if (value.kind === "list") return { endpoints: dataOf(value) as Data, ...effects };
  throw new CannotChangePart(
    value,
    `link ${read.link.key} comes from a short form that stands for several links: write its links one by one; labwright render prints them`,
  );
}

/** Returns by the key of a removed link the new link that uses one of its interfaces. */
function movedLinks({ links }: Reading, wanted: ReadonlyMap<string, LabLink>): ReadonlyMap<string, LabLink> {
  const kept = new Set(links.map(({ link }) => link.key));
  const added = new Map(
    [...wanted.values()].flatMap((link) => (kept.has(link.key) ? [] : interfacesOf(link).map((name) => [name, link] as const))),
  );
  const moved = new Map<string, LabLink>();
  for (const { link, isOneOfSeveral } of links) {
    if (wanted.has(link.key) || isOneOfSeveral) continue;
    const now = interfacesOf(link).flatMap((name) => added.get(name) ?? [])[0];
    if (now === undefined) continue;
    moved.set(link.key, now);
    for (const name of interfacesOf(now)) added.delete(name);
  }
  return moved;
}

function interfacesOf({ endpoints }: LabLink): readonly string[] {
  return endpoints.flatMap((end) => ("node" in end ? [endpointText(end)] : []));
}

function changeLink(read: ReadLink, wanted: LabLink): Target | undefined {
  const { value } = read;
  // "r1-r2" takes the next free interfaces. If links change, its interfaces are written out so that they stay the same.
  if (value.kind === "scalar") return authorLink(wanted);
  if (sameData(read.link, wanted)) return undefined;
  if (value.kind === "list") return authorLink(wanted);

  const sameOrder = sameData(read.link.endpoints, wanted.endpoints);
  const old = inTextOrder(read.link, read.turned);
  const now = inTextOrder(wanted, read.turned && sameOrder);
  const edits = new Map<string, Target | typeof remove>();
  if (!sameOrder) edits.set("endpoints", authorEndpoints(wanted.endpoints));
  const fields: readonly (readonly [string, Data | undefined, Data | undefined])[] = [
    ["quality", authorQuality(old), authorQuality(now)],
    ["suspended", authorSuspended(old), authorSuspended(now)],
    ["mtu", old.mtu, now.mtu],
  ];
  for (const [key, from, to] of fields) {
    if (sameData(from, to)) continue;
    edits.set(key, to ?? (isMerged(value, key) ? null : remove));
  }
  return new Changes(edits);
}

function isMerged(map: MapValue, key: string): boolean {
  return map.entries.get(key)?.merged ?? false;
}

/** Sides a and b in the order of the text's endpoints: a link that is written network first has them swapped. */
function inTextOrder(link: LabLink, turned: boolean): LabLink {
  if (!turned) return link;
  const { quality, suspended } = link;
  const endpoints: readonly [Endpoint, Endpoint] = [link.endpoints[1], link.endpoints[0]];
  return {
    ...link,
    endpoints,
    ...(quality === undefined
      ? {}
      : { quality: { ...(quality.b === undefined ? {} : { a: quality.b }), ...(quality.a === undefined ? {} : { b: quality.a }) } }),
    ...(suspended === undefined ? {} : { suspended: { a: suspended.b, b: suspended.a } }),
  };
}

function lastIsMap({ document, bodyPath }: Reading): boolean {
  const root = document.contents as YAMLMap;
  const list = (root.get("links", true) ?? (bodyPath === "" ? undefined : root.getIn(["topology", "links"], true))) as YAMLSeq | undefined;
  return isSeq(list) && isMap(list.items.at(-1));
}
