import { compareNatural } from "../../base/natural-order.ts";
import type { Endpoint, Lab } from "../../intent/lab/lab.ts";
import { endpointText, linkKey } from "../../intent/lab/lab.ts";
import type { ObservedEndpoint, ObservedLab, ObservedLink } from "../model/observed.ts";

/** Intent key → native id, for everything the host holds. */
export interface JoinedIds {
  readonly nodes: Readonly<Record<string, string>>;
  readonly networks: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
}

/**
 * Maps intent keys to observed objects. Nodes and networks are joined by the recorded id, else by shown name, else by a host name that equals the
 * key. Links are joined by their endpoints. Every observed object gets a key. An object that is not in the intent keeps its recorded key or gets one
 * made from its name, never a key of the intent. Joining with the result as `ids` returns the same result.
 */
export function joinIds(desired: Lab | null, observed: ObservedLab | null, stateIds?: JoinedIds): JoinedIds {
  const taken = intentKeys(desired);
  const nodes = joinNamed(desired?.nodes ?? [], observed?.nodes ?? [], stateIds?.nodes ?? {}, taken, "node");
  const networks = joinNamed(desired?.networks ?? [], observed?.networks ?? [], stateIds?.networks ?? {}, taken, "net");

  const links: Record<string, string> = Object.create(null);
  const keys = endpointKeys({ nodes, networks, links });
  for (const link of observed?.links ?? []) {
    const key = observedLinkKey(link, keys);
    // An interface cannot have two links. If a host reports two, the second gets a key of its own, so that it is not lost.
    links[key in links ? `${key} (${link.id})` : key] = link.id;
  }
  return { nodes, networks, links };
}

/** Returns the keys of nodes by their native ids: the same keys as joinIds, from their ids and names alone. */
export function nodeKeys(
  desired: Lab | null,
  nodes: readonly { readonly id: string; readonly name: string }[],
  stateIds?: Pick<JoinedIds, "nodes">,
): ReadonlyMap<string, string> {
  const ids = joinNamed(desired?.nodes ?? [], nodes, stateIds?.nodes ?? {}, intentKeys(desired), "node");
  return new Map(Object.entries(ids).map(([key, id]) => [id, key]));
}

/** Returns the keys that an object outside of the intent must not get. */
function intentKeys(desired: Lab | null): Set<string> {
  return new Set([...(desired?.nodes ?? []), ...(desired?.networks ?? [])].map(({ key }) => key));
}

/** Returns the intent key of a native node or network id. */
export interface EndpointKeys {
  readonly nodes: ReadonlyMap<string, string>;
  readonly networks: ReadonlyMap<string, string>;
}

export function endpointKeys(ids: JoinedIds): EndpointKeys {
  const invert = (record: Readonly<Record<string, string>>) => new Map(Object.entries(record).map(([key, id]) => [id, key]));
  return { nodes: invert(ids.nodes), networks: invert(ids.networks) };
}

/** Returns an observed endpoint with intent keys. An id that the lab does not hold stays as it is. */
export function endpointOf(endpoint: ObservedEndpoint, keys: EndpointKeys): Endpoint {
  return "nodeId" in endpoint
    ? { node: keys.nodes.get(endpoint.nodeId) ?? `?${endpoint.nodeId}`, interface: endpoint.interface }
    : { network: keys.networks.get(endpoint.networkId) ?? `?${endpoint.networkId}` };
}

export function observedLinkKey(link: ObservedLink, keys: EndpointKeys): string {
  return linkKey(endpointOf(link.endpoints[0], keys), endpointOf(link.endpoints[1], keys));
}

/** Whether the observed sides are in the opposite order of the intent's. */
export function isTurned(link: ObservedLink, wanted: readonly [Endpoint, Endpoint], keys: EndpointKeys): boolean {
  return endpointText(endpointOf(link.endpoints[0], keys)) !== endpointText(wanted[0]);
}

interface Named {
  readonly key: string;
  readonly name: string;
}

interface NativeNamed {
  readonly id: string;
  readonly name: string;
}

function joinNamed(
  desired: readonly Named[],
  observed: readonly NativeNamed[],
  state: Readonly<Record<string, string>>,
  taken: Set<string>,
  kind: string,
): Readonly<Record<string, string>> {
  const ids: Record<string, string> = Object.create(null);
  const free = new Map(observed.map((one) => [one.id, one]));
  const claim = (key: string, id: string) => {
    ids[key] = id;
    free.delete(id);
  };

  for (const { key } of desired) {
    const id = Object.hasOwn(state, key) ? state[key] : undefined;
    if (id !== undefined && free.has(id)) claim(key, id);
  }
  for (const word of ["name", "key"] as const) {
    if (free.size === 0) break;
    const byName = new Map<string, string[]>();
    for (const one of [...free.values()].sort((a, b) => compareNatural(b.id, a.id))) {
      const same = byName.get(one.name);
      if (same === undefined) byName.set(one.name, [one.id]);
      else same.push(one.id);
    }
    // Sorted in the order in which freshKey counts, so that objects of the same name get the same keys each time.
    for (const one of desired.filter(({ key }) => !(key in ids)).sort((a, b) => compareNatural(a.key, b.key))) {
      const id = byName.get(one[word])?.pop();
      if (id !== undefined) claim(one.key, id);
    }
  }

  const stateKeys = new Map<string, string>();
  for (const key of Object.keys(state).sort()) {
    const id = state[key];
    if (id !== undefined && free.has(id) && !taken.has(key) && !stateKeys.has(id)) stateKeys.set(id, key);
  }
  for (const [id, key] of stateKeys) {
    taken.add(key);
    claim(key, id);
  }
  for (const one of [...free.values()].sort((a, b) => compareNatural(a.name, b.name) || compareNatural(a.id, b.id))) {
    const key = freshKey(one.name, taken, kind);
    taken.add(key);
    claim(key, one.id);
  }
  return ids;
}

/** Returns a key made from a shown name: letters, digits and "._-", at most 63, starting with a letter or digit. */
function freshKey(name: string, taken: ReadonlySet<string>, kind: string): string {
  const base =
    name
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 56)
      .replace(/[^A-Za-z0-9]+$/, "") || kind;
  if (!taken.has(base)) return base;
  for (let n = 2; ; n++) if (!taken.has(`${base}-${n}`)) return `${base}-${n}`;
}
