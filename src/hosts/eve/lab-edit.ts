import { Failure } from "../../contract/errors.ts";
import { interfaceNaming } from "../../engine/interface-names.ts";
import type { Step } from "../../engine/plan.ts";
import { type Endpoint, type LabLink, type LabNetwork, type LabNode, linkKey, type Quality } from "../../intent/lab.ts";
import type { NativeIds } from "../host.ts";
import type { EveCatalogue } from "./catalogue.ts";
import { hostFailure } from "./host-failure.ts";
import type { InterfaceLists } from "./interface-list.ts";
import { writeAttributes } from "./node-attributes.ts";
import { linkId, usesConfig } from "./observe.ts";
import type { EveTemplate } from "./template.ts";
import { readText, textKey, writeText } from "./texts.ts";
import type { UnlInterface, UnlLab, UnlNode } from "./unl.ts";
import { attach, connectSerial, disconnect, linksOf, type UnlEnd, type UnlLink } from "./unl-links.ts";

/** Ids that had better not be used: other labs of the user have them, and the two could not run together. */
export interface TakenIds {
  readonly nodes: ReadonlySet<number>;
  readonly networks: ReadonlySet<number>;
}

export interface LabEdit {
  /** Changes the lab as the step says, or throws host_error and leaves it as it was. Running a step again changes nothing. */
  step(step: Step): void;
  readonly lab: UnlLab;
  readonly ids: NativeIds;
  /** The node that the key stands for. */
  nodeId(key: string): number | undefined;
}

const maxNode = 127;

/** Plays steps on a lab file. Pure: what becomes of it is the caller's. */
export function editLab(
  before: UnlLab,
  given: NativeIds,
  catalogue: EveCatalogue,
  lists: InterfaceLists,
  taken: TakenIds,
  newUuid: () => string,
): LabEdit {
  let lab = before;
  const ids = {
    nodes: new Map(Object.entries(given.nodes)),
    networks: new Map(Object.entries(given.networks)),
    links: new Map(Object.entries(given.links)),
  };
  // An id that was used before these steps is not given again by them: what comes is then never taken for what was there.
  const usedNodes = new Set(before.nodes.map(({ id }) => id));
  const usedNetworks = new Set(before.networks.map(({ id }) => id));

  const freshNode = (): number => {
    const free = Array.from({ length: maxNode }, (_, i) => i + 1);
    const here = new Set(lab.nodes.map(({ id }) => id));
    const found =
      free.find((id) => !usedNodes.has(id) && !taken.nodes.has(id)) ??
      free.find((id) => !usedNodes.has(id)) ??
      free.find((id) => !here.has(id));
    if (found === undefined) throw hostFailure(`EVE-NG has at most ${maxNode} nodes in a lab`);
    usedNodes.add(found);
    return found;
  };
  const freshNetwork = (): number => {
    let id = 1;
    while (usedNetworks.has(id) || taken.networks.has(id)) id++;
    usedNetworks.add(id);
    return id;
  };

  const findNode = (key: string, name: string) => find(ids.nodes, key, lab.nodes, (node) => node.name === name) as UnlNode | undefined;
  const findNetwork = (key: string, name: string) => {
    const p2p = hiddenLinks(lab);
    return find(ids.networks, key, lab.networks, (network) => network.name === name && !p2p.has(network.id));
  };
  /** For what is taken away: where the key has an id, that and no namesake. */
  const goingNode = (key: string) =>
    ids.nodes.has(key) ? lab.nodes.find(({ id }) => String(id) === ids.nodes.get(key)) : findNode(key, key);
  const nodeOf = (key: string): UnlNode => {
    const node = findNode(key, key);
    if (node === undefined) throw new Failure("node_not_found", `the lab has no node ${key}`);
    return node;
  };
  const replaceNode = (node: UnlNode) => {
    lab = { ...lab, nodes: lab.nodes.map((one) => (one.id === node.id ? node : one)) };
  };

  function putNode(wanted: LabNode): void {
    const template = templateOf(catalogue, wanted);
    const existing = findNode(wanted.key, wanted.name);
    if (existing === undefined) {
      const id = freshNode();
      const place = wanted.position ?? defaultPlace(lab.nodes.length);
      const made: UnlNode = {
        id,
        name: wanted.name,
        type: template.type,
        template: template.id,
        ...(template.type === "qemu" && { uuid: newUuid() }),
        left: place.x,
        top: place.y,
        interfaces: [],
      };
      lab = { ...lab, nodes: [...lab.nodes, made] };
      ids.nodes.set(wanted.key, String(id));
      setFields(made, wanted, template, allFields);
      return;
    }
    if (existing.template !== wanted.template) throw hostFailure(`node ${wanted.key}: its template cannot change`);
    ids.nodes.set(wanted.key, String(existing.id));
    setFields(existing, wanted, template, allFields);
  }

  function setFields(node: UnlNode, wanted: LabNode, template: EveTemplate, fields: ReadonlySet<string>): void {
    const has = (field: string) => fields.has(field);
    if (has("name") && !/^[A-Za-z0-9_-]+$/.test(wanted.name)) {
      throw hostFailure(
        `node ${wanted.key}: EVE-NG takes no name ${JSON.stringify(wanted.name)}; letters, digits, underscores and hyphens make one`,
      );
    }
    if (has("image") && template.images !== undefined && !template.images.includes(wanted.image ?? "")) {
      throw hostFailure(`node ${wanted.key}: template ${template.id} has no image ${wanted.image}`);
    }
    const ethernet =
      template.type === "iol"
        ? (node.ethernet ?? template.shape.count / 4)
        : template.shape.countable
          ? wanted.ethernet
          : template.shape.count;
    if (has("ethernet") && ethernet !== undefined && template.shape.countable) {
      const lost = linksOf(lab)
        .flatMap(endsOf)
        .find((end) => end.node === node.id && end.interface >= ethernet);
      if (lost !== undefined) throw hostFailure(`node ${wanted.key}: its interface ${lost.interface} still has a link`);
    }
    const base: UnlNode = {
      ...node,
      ...(has("name") && { name: wanted.name }),
      ...(has("icon") && wanted.icon !== undefined && { icon: wanted.icon }),
      ...(has("image") && { image: template.images === undefined ? "" : (wanted.image ?? "") }),
      ...(has("cpu") && template.cpu !== undefined && wanted.cpu !== undefined && { cpu: wanted.cpu }),
      ...(has("ram") && template.ram !== undefined && wanted.ram !== undefined && { ram: wanted.ram }),
      ...(has("ethernet") && ethernet !== undefined && template.type !== "dynamips" && { ethernet }),
      ...(has("position") && wanted.position !== undefined && { left: wanted.position.x, top: wanted.position.y }),
      ...(has("startupConfig") && { config: (wanted.startupConfig ?? "") === "" ? "0" : usesConfig(node) ? (node.config ?? "1") : "1" }),
    };
    if (has("startupConfig")) {
      const text = wanted.startupConfig ?? "";
      if (text !== "" && !template.startupConfig) throw hostFailure(`node ${wanted.key}: template ${template.id} takes no startup config`);
      const old = lab.configs.find(({ id }) => id === node.id);
      // A config that the node does not use is left: it may be what the user exported.
      if (text !== "" || (old !== undefined && usesConfig(node))) {
        const others = lab.configs.filter(({ id }) => id !== node.id);
        const { encoding: _encoding, ...rest } = old ?? { id: node.id, text: "" };
        const kept = old?.text === text ? old : { ...rest, text };
        lab = { ...lab, configs: text === "" ? others : [...others, kept].sort((a, b) => a.id - b.id) };
      }
    }
    replaceNode(has("attributes") ? writeAttributes(base, wanted.attributes, template) : base);
  }

  function deleteNode(key: string): void {
    const node = goingNode(key);
    if (node !== undefined) {
      for (const end of node.interfaces) cut({ node: node.id, interface: end.id });
      lab = { ...lab, nodes: lab.nodes.filter(({ id }) => id !== node.id), configs: lab.configs.filter(({ id }) => id !== node.id) };
    }
    ids.nodes.delete(key);
  }

  function putNetwork(wanted: LabNetwork): void {
    if (!catalogue.rules.networkTypes.includes(wanted.type))
      throw hostFailure(`network ${wanted.key}: the host has no type ${wanted.type}`);
    const existing = findNetwork(wanted.key, wanted.name);
    const place = wanted.position ?? (existing === undefined ? defaultPlace(lab.networks.length, 60) : undefined);
    const network = {
      ...existing,
      id: existing?.id ?? freshNetwork(),
      type: wanted.type,
      name: wanted.name,
      ...(place !== undefined && { left: place.x, top: place.y }),
      visibility: 1,
    };
    ids.networks.set(wanted.key, String(network.id));
    lab = {
      ...lab,
      networks: existing === undefined ? [...lab.networks, network] : lab.networks.map((one) => (one.id === network.id ? network : one)),
    };
  }

  function deleteNetwork(key: string): void {
    const going = ids.networks.has(key) ? lab.networks.find(({ id }) => String(id) === ids.networks.get(key)) : findNetwork(key, key);
    if (going !== undefined) {
      if (linksOf(lab).some((link) => link.kind === "attachment" && link.network === going.id))
        throw hostFailure(`network ${key} still has links`);
      lab = { ...lab, networks: lab.networks.filter(({ id }) => id !== going.id) };
    }
    ids.networks.delete(key);
  }

  /** Takes off what is at an interface. A network that is hidden and stays with fewer ends is shown from now on, or it would be a link. */
  function cut(end: UnlEnd): void {
    const link = linksOf(lab).find((one) => endsOf(one).some((other) => same(other, end)));
    lab = disconnect(lab, end);
    if (link?.kind !== "attachment") return;
    lab = {
      ...lab,
      networks: lab.networks.map((one) => (one.id === link.network && one.visibility !== 1 ? { ...one, visibility: 1 } : one)),
    };
  }

  function putLink(wanted: LabLink): void {
    const [a, b] = wanted.endpoints;
    const existing = findLink(wanted.key);
    if (existing === undefined) {
      if ("node" in a && "node" in b) joinNodes(wanted.key, nativeEnd(a), nativeEnd(b));
      else if ("node" in a && "network" in b) joinNetwork(wanted.key, nativeEnd(a), b.network);
      else if ("network" in a && "node" in b) joinNetwork(wanted.key, nativeEnd(b), a.network);
      else throw hostFailure(`link ${wanted.key}: EVE-NG does not link networks with each other`);
    }
    setQuality(wanted);
    const made = findLink(wanted.key);
    if (made !== undefined) ids.links.set(wanted.key, linkId(made));
  }

  function joinNodes(key: string, a: UnlEnd, b: UnlEnd): void {
    if (same(a, b)) throw hostFailure(`link ${key}: both ends are the same interface`);
    for (const end of [a, b]) refuseTaken(key, end);
    const [serialA, serialB] = [isSerial(a), isSerial(b)];
    if (serialA !== serialB) throw hostFailure(`link ${key}: a serial interface is linked with a serial interface`);
    if (serialA) {
      lab = connectSerial(lab, a, b);
      return;
    }
    const id = freshNetwork();
    const [one, other] = [nodeById(a.node), nodeById(b.node)];
    const network = {
      id,
      type: "bridge",
      name: `${one?.name}_${a.interface}-${other?.name}_${b.interface}`,
      left: Math.round(((one?.left ?? 0) + (other?.left ?? 0)) / 2),
      top: Math.round(((one?.top ?? 0) + (other?.top ?? 0)) / 2),
      visibility: 0,
    };
    lab = { ...lab, networks: [...lab.networks, network] };
    lab = named(attach(named(attach(lab, a, id), a), b, id), b);
  }

  function joinNetwork(key: string, end: UnlEnd, network: string): void {
    const found = findNetwork(network, network);
    if (found === undefined) throw hostFailure(`link ${key}: the lab has no network ${network}`);
    refuseTaken(key, end);
    if (isSerial(end)) throw hostFailure(`link ${key}: a serial interface cannot be in a network`);
    lab = named(attach(lab, end, found.id), end);
    // Hidden, a network with two ends is a link between nodes.
    if (found.visibility !== 1)
      lab = { ...lab, networks: lab.networks.map((one) => (one.id === found.id ? { ...one, visibility: 1 } : one)) };
  }

  function refuseTaken(key: string, end: UnlEnd): void {
    const link = linksOf(lab).find((one) => endsOf(one).some((other) => same(other, end)));
    if (link !== undefined) throw hostFailure(`link ${key}: ${nodeById(end.node)?.name} has another link at interface ${end.interface}`);
  }

  /** The interface's name beside its number, as EVE-NG writes it. */
  function named(of: UnlLab, end: UnlEnd): UnlLab {
    return {
      ...of,
      nodes: of.nodes.map((node) => {
        if (node.id !== end.node) return node;
        const name = lists.of(node).find(({ id }) => id === end.interface)?.name;
        const interfaces = node.interfaces.map((one) => (one.id === end.interface && name !== undefined ? { ...one, name } : one));
        return { ...node, interfaces };
      }),
    };
  }

  function nativeEnd(end: Endpoint): UnlEnd {
    if (!("node" in end)) throw hostFailure(`${end.network} is no node`);
    const node = nodeOf(end.node);
    const listed = lists.of(node).find(({ name }) => name === end.interface);
    if (listed !== undefined) return { node: node.id, interface: listed.id };
    const template = catalogue.template(node.template ?? "");
    const index = template === undefined ? undefined : interfaceNaming(template.shape.ethFormat).index(end.interface);
    if (template !== undefined && index !== undefined && index < template.shape.max) {
      // The engine asks for interfaces first, where they can be counted; of IOL they come in groups as links need them.
      const grown = growTo(node, template, index);
      const now = grown === undefined ? undefined : lists.of(grown).find(({ name }) => name === end.interface);
      if (grown !== undefined && now !== undefined) {
        replaceNode(grown);
        return { node: node.id, interface: now.id };
      }
    }
    throw hostFailure(`${end.node} has no interface ${end.interface}`);
  }

  function growTo(node: UnlNode, template: EveTemplate, index: number): UnlNode | undefined {
    if (template.type === "iol") {
      const serial = node.interfaces.some(({ type, remote_id }) => type === "serial" || remote_id !== undefined);
      if (serial) throw hostFailure(`node ${node.name}: more ethernet interfaces would rename its serial ones, which have links`);
      return { ...node, ethernet: Math.floor(index / 4) + 1 };
    }
    return template.shape.countable ? { ...node, ethernet: index + 1 } : undefined;
  }

  function isSerial(end: UnlEnd): boolean {
    const node = nodeById(end.node);
    return node !== undefined && lists.of(node).some(({ id, type }) => id === end.interface && type === "serial");
  }

  const nodeById = (id: number) => lab.nodes.find((node) => node.id === id);

  function setQuality(wanted: LabLink): void {
    if (!catalogue.rules.features.linkQuality) return;
    const [a, b] = wanted.endpoints;
    if (wanted.quality !== undefined && "node" in a && "node" in b && a.node === b.node) {
      const why = `link ${wanted.key}: EVE-NG does not tell the quality of a link from a node to itself`;
      throw new Failure("unsupported", why, { data: { feature: "linkQuality" } });
    }
    for (const [i, end] of wanted.endpoints.entries()) {
      if (!("node" in end)) {
        if (Object.values((i === 0 ? wanted.quality?.a : wanted.quality?.b) ?? {}).every((value) => value === 0)) continue;
        const why = `link ${wanted.key}: on EVE-NG only the node's side of a link to a network has a quality`;
        throw new Failure("unsupported", why, { data: { feature: "linkQuality" } });
      }
      const at = nativeEnd(end);
      const quality = i === 0 ? wanted.quality?.a : wanted.quality?.b;
      if (Object.values(quality ?? {}).some((value) => !Number.isInteger(value))) {
        throw new Failure("unsupported", `link ${wanted.key}: EVE-NG takes whole numbers for its quality`, {
          data: { feature: "linkQuality" },
        });
      }
      const node = nodeById(at.node);
      if (node === undefined) continue;
      replaceNode({ ...node, interfaces: node.interfaces.map((one) => (one.id === at.interface ? withQuality(one, quality) : one)) });
    }
  }

  function deleteLink(key: string): void {
    const joined = ids.links.get(key);
    const link = joined === undefined ? findLink(key) : linksOf(lab).find((one) => linkId(one) === joined);
    const end = link === undefined ? undefined : endsOf(link)[0];
    if (end !== undefined) cut(end);
    ids.links.delete(key);
  }

  /** By its ends in intent words, which is what a link is. */
  function findLink(key: string): UnlLink | undefined {
    const nodeKeys = new Map([...ids.nodes].map(([node, id]) => [id, node]));
    const networkKeys = new Map([...ids.networks].map(([network, id]) => [id, network]));
    const word = ({ node, interface: id }: UnlEnd): Endpoint => {
      const of = nodeById(node);
      const name = of === undefined ? "" : (lists.of(of).find((one) => one.id === id)?.name ?? "");
      return { node: nodeKeys.get(String(node)) ?? "", interface: name };
    };
    return linksOf(lab).find((link) => {
      if (link.kind !== "attachment") return linkKey(word(link.a), word(link.b)) === key;
      return linkKey(word(link.end), { network: networkKeys.get(String(link.network)) ?? "" }) === key;
    });
  }

  function updateLab(step: Step & { do: "update-lab" }): void {
    if (step.description !== undefined) lab = { ...lab, description: step.description };
    if (step.texts === undefined) return;
    const wanted = step.texts.map((text) => ({ text, key: textKey(text) }));
    const kept = lab.textObjects.filter((object) => {
      const text = readText(object);
      if (text === undefined) return true;
      const found = wanted.findIndex(({ key }) => key === textKey(text));
      if (found < 0) return false;
      wanted.splice(found, 1);
      return true;
    });
    let id = Math.max(0, ...lab.textObjects.map((object) => object.id ?? 0));
    lab = { ...lab, textObjects: [...kept, ...wanted.map(({ text }) => writeText(++id, text))] };
  }

  function run(step: Step): void {
    switch (step.do) {
      case "create-lab":
        updateLab({ do: "update-lab", description: step.lab.description ?? "", texts: step.lab.texts });
        return;
      case "update-lab":
        updateLab(step);
        return;
      case "create-network":
      case "update-network":
        putNetwork(step.network);
        return;
      case "delete-network":
        deleteNetwork(step.network);
        return;
      case "create-node":
        putNode(step.node);
        return;
      case "update-node": {
        const node = nodeOf(step.node.key);
        if (node.template !== step.node.template) throw hostFailure(`node ${step.node.key}: its template cannot change`);
        setFields(node, step.node, templateOf(catalogue, step.node), new Set(step.fields));
        return;
      }
      case "delete-node":
        deleteNode(step.node);
        return;
      case "create-link":
      case "update-link":
        putLink(step.link);
        return;
      case "delete-link":
        deleteLink(step.link);
        return;
      default:
        throw new Error(`${step.do} does not change the lab's file`);
    }
  }

  return {
    step: (step) => {
      const saved = lab;
      try {
        run(step);
      } catch (error) {
        lab = saved;
        throw error;
      }
    },
    get lab() {
      return lab;
    },
    get ids() {
      return nativeIds(ids);
    },
    nodeId: (key) => goingNode(key)?.id,
  };
}

const allFields: ReadonlySet<string> = new Set([
  "name",
  "icon",
  "image",
  "cpu",
  "ram",
  "ethernet",
  "position",
  "startupConfig",
  "attributes",
]);

function templateOf(catalogue: EveCatalogue, node: LabNode): EveTemplate {
  const template = catalogue.template(node.template);
  if (template === undefined) throw hostFailure(`node ${node.key}: the host has no template ${node.template}`);
  return template;
}

/** The object of the key's id, else one of this name that no other key stands for. */
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

export function endsOf(link: UnlLink): readonly UnlEnd[] {
  return link.kind === "attachment" ? [link.end] : [link.a, link.b];
}

function same(one: UnlEnd, other: UnlEnd): boolean {
  return one.node === other.node && one.interface === other.interface;
}

/** Where what the intent does not place goes, so that nothing lies on anything else. */
function defaultPlace(index: number, shift = 0): { readonly x: number; readonly y: number } {
  return { x: 100 + (index % 8) * 120 + shift, y: 100 + Math.floor(index / 8) * 120 + shift };
}

export function withQuality(one: UnlInterface, quality: Quality | undefined): UnlInterface {
  const { source_delay: _d, source_jitter: _j, source_loss: _l, source_bandwidth: _b, ...rest } = one;
  const words = Object.entries(quality ?? {}).flatMap(([word, value]) =>
    value === undefined || value === 0 ? [] : [[`source_${word}`, value] as const],
  );
  return { ...rest, ...Object.fromEntries(words) };
}

function nativeIds(ids: Readonly<Record<keyof NativeIds, ReadonlyMap<string, string>>>): NativeIds {
  const record = (map: ReadonlyMap<string, string>) => Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { nodes: record(ids.nodes), networks: record(ids.networks), links: record(ids.links) };
}
