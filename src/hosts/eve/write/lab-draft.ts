import { Failure } from "../../../contract/errors.ts";
import { linksOf } from "../../../formats/unl/links.ts";
import type { LabNode, Position } from "../../../intent/lab/lab.ts";
import type { NativeIds } from "../../host.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab, UnlNetwork, UnlNode } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { InterfaceLists } from "../templates/interface-list.ts";
import type { EveTemplate } from "../templates/template.ts";

/** A lab file to which steps are applied, with the objects of the intent's keys. */
export class LabDraft {
  lab: UnlLab;
  readonly ids: Readonly<Record<keyof NativeIds, Map<string, string>>>;
  readonly catalogue: EveCatalogue;
  readonly lists: InterfaceLists;
  readonly newUuid: () => string;
  /** Positions that the following steps will set. */
  readonly #coming: readonly Position[];
  readonly #taken: TakenIds;
  // The steps do not reuse an id that was used before them, so that a new object is never confused with an old one.
  readonly #usedNodes: Set<number>;
  readonly #usedNetworks: Set<number>;

  constructor(
    lab: UnlLab,
    given: NativeIds,
    about: {
      readonly catalogue: EveCatalogue;
      readonly lists: InterfaceLists;
      readonly taken: TakenIds;
      readonly newUuid: () => string;
      readonly coming?: readonly Position[];
    },
  ) {
    this.lab = lab;
    this.ids = {
      nodes: new Map(Object.entries(given.nodes)),
      networks: new Map(Object.entries(given.networks)),
      links: new Map(Object.entries(given.links)),
    };
    this.catalogue = about.catalogue;
    this.lists = about.lists;
    this.newUuid = about.newUuid;
    this.#coming = about.coming ?? [];
    this.#taken = about.taken;
    this.#usedNodes = new Set(lab.nodes.map(({ id }) => id));
    this.#usedNetworks = new Set(lab.networks.map(({ id }) => id));
  }

  freshNode(): number {
    const { maxNodes } = this.catalogue;
    const free = Array.from({ length: maxNodes }, (_, i) => i + 1);
    const here = new Set(this.lab.nodes.map(({ id }) => id));
    const isBusy = (id: number) => this.#taken.busy?.has(id) === true;
    const found =
      free.find((id) => !this.#usedNodes.has(id) && !isBusy(id) && !this.#taken.nodes.has(id)) ??
      free.find((id) => !this.#usedNodes.has(id) && !isBusy(id)) ??
      free.find((id) => !this.#usedNodes.has(id)) ??
      free.find((id) => !here.has(id));
    if (found === undefined) throw hostFailure(`EVE-NG has at most ${maxNodes} nodes in a lab`);
    this.#usedNodes.add(found);
    return found;
  }

  freshNetwork(): number {
    let id = 1;
    while (this.#usedNetworks.has(id) || this.#taken.networks.has(id)) id++;
    this.#usedNetworks.add(id);
    return id;
  }

  /** Returns a position for an object without one in the intent. @param index number of existing objects of its kind */
  freePlace(index: number, shift = 0): Position {
    return freePlace([...this.#coming, ...shownPlaces(this.lab)], index, shift);
  }

  findNode(key: string, name: string): UnlNode | undefined {
    return find(this.ids.nodes, key, this.lab.nodes, (node) => node.name === name);
  }

  findNetwork(key: string, name: string): UnlNetwork | undefined {
    const p2p = hiddenLinks(this.lab);
    return find(this.ids.networks, key, this.lab.networks, (network) => network.name === name && !p2p.has(network.id));
  }

  /** Finds the node to remove. If the key has an id, only the node with this id counts, not another node of the same name. */
  goingNode(key: string): UnlNode | undefined {
    const id = this.ids.nodes.get(key);
    return id === undefined ? this.findNode(key, key) : this.lab.nodes.find((node) => String(node.id) === id);
  }

  /** Throws node_not_found. */
  nodeOf(key: string): UnlNode {
    const node = this.findNode(key, key);
    if (node === undefined) throw new Failure("node_not_found", `the lab has no node ${key}`);
    return node;
  }

  nodeById(id: number): UnlNode | undefined {
    return this.lab.nodes.find((node) => node.id === id);
  }

  replaceNode(node: UnlNode): void {
    this.lab = { ...this.lab, nodes: this.lab.nodes.map((one) => (one.id === node.id ? node : one)) };
  }

  nativeIds(): NativeIds {
    const record = (map: ReadonlyMap<string, string>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
    return { nodes: record(this.ids.nodes), networks: record(this.ids.networks), links: record(this.ids.links) };
  }
}

/** Throws host_error if the host has no such template. */
export function templateOf(draft: LabDraft, node: LabNode): EveTemplate {
  const template = draft.catalogue.template(node.template);
  if (template === undefined) throw hostFailure(`node ${node.key}: the host has no template ${node.template}`);
  return template;
}

/** Icons that are nearer than this overlap, px. */
const iconSize = 60;

/** Returns the first free position of the grid, from the `index`th on. */
export function freePlace(taken: readonly Position[], index: number, shift = 0): Position {
  for (let at = index; ; at++) {
    const place = { x: 100 + (at % 8) * 120 + shift, y: 100 + Math.floor(at / 8) * 120 + shift };
    if (!taken.some(({ x, y }) => Math.abs(x - place.x) < iconSize && Math.abs(y - place.y) < iconSize)) return place;
  }
}

/** Returns the positions of the lab's nodes and networks. */
export function shownPlaces(lab: UnlLab): readonly Position[] {
  return [...lab.nodes, ...lab.networks.filter(({ visibility }) => visibility === 1)].flatMap(({ left, top }) =>
    left === undefined || top === undefined ? [] : [{ x: left, y: top }],
  );
}

/** Returns the object with the key's id, otherwise an object of this name that no other key refers to. */
function find<T extends { readonly id: number }>(
  ids: ReadonlyMap<string, string>,
  key: string,
  objects: readonly T[],
  fits: (object: T) => boolean,
): T | undefined {
  const joined = objects.find(({ id }) => String(id) === ids.get(key));
  if (joined !== undefined) return joined;
  const claimed = new Set(ids.values());
  return objects.find((object) => fits(object) && !claimed.has(String(object.id)));
}

function hiddenLinks(lab: UnlLab): ReadonlySet<number> {
  return new Set(linksOf(lab).flatMap((link) => (link.kind === "p2p" ? [link.network] : [])));
}
