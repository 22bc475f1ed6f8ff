import type { DefinedEndpoint, DefinedLink } from "./definition.ts";

/** Returns a text that is the same for the same interface or network. */
export function endpointWord(endpoint: DefinedEndpoint): string {
  return "node" in endpoint ? `${endpoint.node} ${endpoint.interface}` : `network ${endpoint.network}`;
}

/** The links of a definition that is being edited, by id and by their ends. */
export class PlacedLinks {
  readonly #links = new Map<number, DefinedLink>();
  readonly #atPlace = new Map<string, Set<number>>();
  readonly #atNode = new Map<number, Set<number>>();

  constructor(links: readonly DefinedLink[]) {
    for (const link of links) this.set(link);
  }

  values(): Iterable<DefinedLink> {
    return this.#links.values();
  }

  has(id: number): boolean {
    return this.#links.has(id);
  }

  /** Returns the links with an end at this interface or in this network. */
  at(endpoint: DefinedEndpoint): readonly DefinedLink[] {
    return this.#all(this.#atPlace.get(endpointWord(endpoint)));
  }

  atNode(node: number): readonly DefinedLink[] {
    return this.#all(this.#atNode.get(node));
  }

  /** Adds the link, or replaces the link with its id. */
  set(link: DefinedLink): void {
    this.delete(link.id);
    this.#links.set(link.id, link);
    for (const end of link.endpoints) {
      addTo(this.#atPlace, endpointWord(end), link.id);
      if ("node" in end) addTo(this.#atNode, end.node, link.id);
    }
  }

  delete(id: number): void {
    const link = this.#links.get(id);
    if (link === undefined) return;
    this.#links.delete(id);
    for (const end of link.endpoints) {
      this.#atPlace.get(endpointWord(end))?.delete(id);
      if ("node" in end) this.#atNode.get(end.node)?.delete(id);
    }
  }

  #all(ids: ReadonlySet<number> | undefined): readonly DefinedLink[] {
    return [...(ids ?? [])].flatMap((id) => this.#links.get(id) ?? []);
  }
}

function addTo<K>(index: Map<K, Set<number>>, key: K, id: number): void {
  const ids = index.get(key);
  if (ids === undefined) index.set(key, new Set([id]));
  else ids.add(id);
}
