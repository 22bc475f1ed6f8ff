import { linksOf } from "../../../formats/unl/links.ts";
import type { EveAccount } from "../account/account.ts";
import type { EveEdition } from "../account/edition.ts";
import { type EveAnswer, hostError, numberOf, recordOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlInterface, UnlLab, UnlNetwork, UnlNode } from "../lab-file/unl.ts";
import { rawAttribute } from "../read/node-attributes.ts";
import { usesConfig } from "../read/observe.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import { type EveTemplate, isSlot } from "../templates/template.ts";
import { type GivenIds, renumbered } from "./given-ids.ts";

/** One call that changes a lab. Its ids are those of the wanted lab; the host may assign others to new objects. */
export interface WriteCall {
  readonly about: string;
  readonly method: "POST" | "PUT" | "DELETE";
  /** Below the lab. */
  readonly path: (ids: GivenIds) => string;
  readonly body?: (ids: GivenIds) => unknown;
  /** Message codes of a success. Default: 60023 and 60006. */
  readonly done?: readonly number[];
  /** The key of the new object whose id is in the answer. */
  readonly gives?: { readonly kind: "node" | "network"; readonly id: number };
}

/**
 * Returns the calls that change one lab into another. Their order avoids references to missing objects: deletions, networks, nodes, connections, and
 * last the hiding of networks, because the host deletes a hidden network without ends.
 */
export function writeCalls(before: UnlLab, after: UnlLab, catalogue: EveCatalogue, edition: EveEdition): readonly WriteCall[] {
  return [
    ...headCalls(before, after),
    ...(edition.quality === undefined ? [] : clearedQuality(before, after)),
    ...disconnections(before, after),
    ...deletions(before, after, edition),
    ...networkCalls(before, after),
    ...nodeCalls(before, after, catalogue, edition),
    ...connections(before, after),
    ...visibilityCalls(before, after),
    ...(edition.quality === undefined ? [] : qualityCalls(before, after)),
    ...textCalls(before, after),
  ];
}

function headCalls(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const head = headChanges(before, after);
  if (Object.keys(head).length === 0) return [];
  const about = `the lab's ${Object.keys(head).join(", ")}`;
  return [{ about, method: "PUT", path: () => "", body: () => head, done: [60023, 20030] }];
}

/** Disconnects interfaces whose target changes, and all interfaces of deleted nodes. The host deletes a hidden network with its last end. */
function disconnections(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const now = byId(after.nodes);
  return before.nodes.flatMap((node) => {
    const wanted = now.get(node.id);
    const off =
      wanted === undefined
        ? node.interfaces
        : node.interfaces.filter((one) => target(one) !== target(wanted.interfaces.find(({ id }) => id === one.id)));
    return interfaceCalls(
      node,
      off.map(({ id }) => [id, undefined] as const),
    );
  });
}

function deletions(before: UnlLab, after: UnlLab, edition: EveEdition): readonly WriteCall[] {
  const now = { nodes: byId(after.nodes), networks: byId(after.networks) };
  // The host deletes hidden networks with their last end.
  const p2p = new Set(linksOf(before).flatMap((link) => (link.kind === "p2p" ? [link.network] : [])));
  const goesByItself = (network: UnlNetwork) =>
    !edition.keepsHidden && (p2p.has(network.id) || (network.visibility !== 1 && hasEnds(before, network)));
  const nodes = before.nodes.filter(({ id }) => !now.nodes.has(id));
  const networks = before.networks.filter((network) => !now.networks.has(network.id) && !goesByItself(network));
  return [
    ...nodes.map(({ id, name }): WriteCall => ({ about: `node ${name}`, method: "DELETE", path: () => `/nodes/${id}` })),
    ...networks.map(({ id, name }): WriteCall => ({ about: `network ${name}`, method: "DELETE", path: () => `/networks/${id}` })),
  ];
}

/** Creates networks and changes them, except for their visibility. */
function networkCalls(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const old = byId(before.networks);
  return after.networks.flatMap((network): WriteCall[] => {
    const known = old.get(network.id);
    const { name, type, left = 100, top = 100 } = network;
    const about = `network ${name}`;
    if (known === undefined) {
      const body = () => ({ count: 1, name, type, left, top, visibility: 1, postfix: 0 });
      return [{ about, method: "POST", path: () => "/networks", body, gives: { kind: "network", id: network.id } }];
    }
    if (known.name === name && known.type === type && known.left === network.left && known.top === network.top) return [];
    return [{ about, method: "PUT", path: () => `/networks/${network.id}`, body: () => ({ name, type, left, top }) }];
  });
}

/** Creates and changes nodes, each with its startup config. */
function nodeCalls(before: UnlLab, after: UnlLab, catalogue: EveCatalogue, edition: EveEdition): readonly WriteCall[] {
  const old = byId(before.nodes);
  const texts = new Map(after.configs.map(({ id, text }) => [id, text]));
  const oldTexts = new Map(before.configs.map(({ id, text }) => [id, text]));
  return after.nodes.flatMap((node) => {
    const known = old.get(node.id);
    const body = () => nodeBody(node, catalogue.template(node.template ?? ""));
    const about = `node ${node.name}`;
    const change: WriteCall = { about, method: "PUT", path: (ids) => `/nodes/${ids.node(node.id)}`, body };
    const calls: WriteCall[] = [];
    if (known === undefined) {
      const newBody = () => ({ ...body(), postfix: 0 });
      calls.push({ about, method: "POST", path: () => "/nodes", body: newBody, gives: { kind: "node", id: node.id }, done: [60023] });
    } else if (JSON.stringify(plain(known)) !== JSON.stringify(plain(node))) {
      calls.push(change);
    }
    const text = texts.get(node.id) ?? "";
    if (text === (oldTexts.get(node.id) ?? "")) return calls;
    calls.push(configCall(node, text, edition));
    // An empty text makes the host mark the config as unused, and a new text does not mark it as used again.
    if (usesConfig(node)) calls.push(change);
    return calls;
  });
}

function configCall({ id, name }: UnlNode, text: string, { configSet }: EveEdition): WriteCall {
  const set = configSet === undefined ? {} : { cfsid: configSet };
  return {
    about: `startup config of node ${name}`,
    method: "PUT",
    path: (ids) => `/configs/${ids.node(id)}`,
    body: (ids) => ({ id: String(ids.node(id)), data: text, ...set }),
  };
}

function connections(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const old = byId(before.nodes);
  return after.nodes.flatMap((node) => {
    const known = old.get(node.id)?.interfaces ?? [];
    const on = node.interfaces.filter((one) => target(one) !== undefined && target(one) !== target(known.find(({ id }) => id === one.id)));
    return interfaceCalls(
      node,
      on.map((one) => [one.id, one] as const),
    );
  });
}

/** Hides and shows networks. A new network is visible. */
function visibilityCalls(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const old = byId(before.networks);
  return after.networks.flatMap((network): WriteCall[] => {
    const was = old.get(network.id);
    const visibility = network.visibility ?? 0;
    if ((was === undefined ? 1 : (was.visibility ?? 0)) === visibility) return [];
    const path: WriteCall["path"] = (ids) => `/networks/${ids.network(network.id)}`;
    return [{ about: `network ${network.name}`, method: "PUT", path, body: () => ({ visibility }) }];
  });
}

function headChanges(before: UnlLab, after: UnlLab): Readonly<Record<string, string | number>> {
  const fields = ["author", "description", "body", "version", "scripttimeout"] as const;
  return Object.fromEntries(
    fields.flatMap((field) => ((before[field] ?? "") === (after[field] ?? "") ? [] : [[field, after[field] ?? ""] as const])),
  );
}

/** Identifies a call among the others; its ids are those of the wanted lab. */
export function callName({ method, about, path, body }: WriteCall): string {
  const ids: GivenIds = { node: (id) => id, network: (id) => id };
  return JSON.stringify([method, about, path(ids), body?.(ids)]);
}

/**
 * Runs the calls in order and returns the wanted lab with the host's ids. Throws host_error, and the errors of the connection.
 * @param begin called with each call before it is sent
 */
export async function runCalls(
  account: EveAccount,
  url: string,
  calls: readonly WriteCall[],
  wanted: UnlLab,
  begin: (call: WriteCall) => void,
): Promise<UnlLab> {
  const nodes = new Map<number, number>();
  const networks = new Map<number, number>();
  const ids: GivenIds = { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id };
  for (const call of calls) {
    const { about, method, path, body, done = [60023, 60006], gives } = call;
    begin(call);
    const answer = await account.call({ method, path: `/api/labs${url}${path(ids)}`, ...(body && { body: body(ids) }), read: false });
    if (answer.status >= 300 || !done.includes(answer.code ?? 0)) throw writeError(about, answer);
    if (gives === undefined) continue;
    const id = numberOf(recordOf(answer.data).id);
    if (id === undefined) throw hostFailure(`${about}: the host made it and does not report its id`);
    (gives.kind === "node" ? nodes : networks).set(gives.id, id);
  }
  return renumbered(wanted, ids);
}

function writeError(about: string, answer: EveAnswer): Error {
  // The host's message for an unknown template, an unknown type and a full lab, with a status of success.
  if (/^Max nodes reached/.test(answer.message)) {
    return hostFailure(`${about}: the host did not make it: it does not know the template or the type, or the lab is full`);
  }
  return hostError(about, answer);
}

/** All values that EVE-NG would otherwise choose: its own defaults differ from the template's. */
function nodeBody(node: UnlNode, template: EveTemplate | undefined): Readonly<Record<string, unknown>> {
  const { name, type, image, icon, left = 100, top = 100, cpu, ram, ethernet, uuid } = node;
  const extra = Object.fromEntries(
    (template?.attributes ?? []).flatMap((one) => {
      const raw =
        rawAttribute(node, one.name) ??
        (one.default === undefined ? undefined : String(one.default === true ? 1 : one.default === false ? 0 : one.default));
      // The host empties a slot only on an explicit request.
      const value = raw ?? (isSlot(one.name) ? "" : undefined);
      return value === undefined ? [] : [[one.name, value]];
    }),
  );
  return {
    template: node.template,
    type,
    name,
    image: image ?? "",
    icon: icon ?? template?.icon ?? "Router.png",
    config: node.config ?? "0",
    delay: node.delay ?? 0,
    left: String(left),
    top: String(top),
    ...(cpu !== undefined && { cpu: String(cpu) }),
    ...(ram !== undefined && { ram: String(ram) }),
    ...(ethernet !== undefined && { ethernet: String(ethernet) }),
    ...(uuid !== undefined && { uuid }),
    ...extra,
    // The host uses the template's options unless the call contains others.
    ...("qemu_options" in extra && { ro_qemu_options: "" }),
  };
}

/** Returns the node without the fields that other calls set. */
function plain(node: UnlNode): unknown {
  const { interfaces: _interfaces, ...rest } = node;
  return rest;
}

function target(one: UnlInterface | undefined): string | undefined {
  if (one === undefined) return undefined;
  if ((one.network_id ?? 0) > 0) return `network ${one.network_id}`;
  return (one.remote_id ?? 0) > 0 ? `node ${one.remote_id}:${one.remote_if ?? 0}` : undefined;
}

function interfaceCalls(node: UnlNode, ends: readonly (readonly [number, UnlInterface | undefined])[]): readonly WriteCall[] {
  if (ends.length === 0) return [];
  return [
    {
      about: `interfaces of node ${node.name}`,
      method: "PUT",
      path: (ids) => `/nodes/${ids.node(node.id)}/interfaces`,
      body: (ids) =>
        Object.fromEntries(
          ends.map(([id, end]) => {
            if (end === undefined) return [String(id), ""];
            if ((end.network_id ?? 0) > 0) return [String(id), String(ids.network(end.network_id ?? 0))];
            return [String(id), `${ids.node(end.remote_id ?? 0)}:${end.remote_if ?? 0}`];
          }),
        ),
    },
  ];
}

const qualityWords = ["delay", "jitter", "loss", "bandwidth"] as const;

/** The host stores quality by the interface's number. It is cleared when a link is deleted, or the next link there would have it. */
function clearedQuality(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const at = (lab: UnlLab, node: number, id: number) => lab.nodes.find((one) => one.id === node)?.interfaces.find((one) => one.id === id);
  const going = (node: number, one: UnlInterface) => target(at(after, node, one.id)) !== target(one);
  const plainOf = (one: UnlInterface): UnlInterface => {
    const { source_delay: _d, source_jitter: _j, source_loss: _l, source_bandwidth: _b, ...rest } = one;
    return rest;
  };
  const links = linksOf(before).filter((link) => {
    const ends = link.kind === "serial" ? [] : link.kind === "p2p" ? [link.a, link.b] : [link.end];
    return ends.some((end) => {
      const one = at(before, end.node, end.interface);
      return one !== undefined && going(end.node, one);
    });
  });
  const touched = new Set(
    links.flatMap((link) => (link.kind === "attachment" ? [link.end] : [link.a, link.b])).map((end) => `${end.node} ${end.interface}`),
  );
  const cleared: UnlLab = {
    ...before,
    nodes: before.nodes.map((node) => ({
      ...node,
      interfaces: node.interfaces.map((one) => (touched.has(`${node.id} ${one.id}`) ? plainOf(one) : one)),
    })),
  };
  return qualityCalls(before, cleared);
}

/** Professional only. Both sides of a link are always written. */
function qualityCalls(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const words = (one: UnlInterface | undefined) => qualityWords.map((word) => String(one?.[`source_${word}`] ?? 0));
  const at = (lab: UnlLab, node: number, id: number) => lab.nodes.find((one) => one.id === node)?.interfaces.find((one) => one.id === id);
  return linksOf(after).flatMap((link): readonly WriteCall[] => {
    if (link.kind === "serial") return [];
    const ends = link.kind === "p2p" ? [link.a, link.b] : [link.end];
    const same = (end: (typeof ends)[number]) => {
      const was = at(before, end.node, end.interface);
      const kept = target(was) === target(at(after, end.node, end.interface));
      const old = kept ? words(was) : words(undefined);
      return old.join() === words(at(after, end.node, end.interface)).join();
    };
    if (ends.every(same)) return [];
    const [source, destination] = ends;
    if (source === undefined) return [];
    const side = (name: "source" | "destination", end: (typeof ends)[number] | undefined) => {
      const values = words(end === undefined ? undefined : at(after, end.node, end.interface));
      return Object.fromEntries(qualityWords.map((word, index) => [`${name}_${word}`, values[index]]));
    };
    const label = (end: (typeof ends)[number]) => at(after, end.node, end.interface)?.name ?? "";
    return [
      {
        about: "the quality of a link",
        method: "PUT",
        path: () => "/quality",
        body: (ids) => ({
          source: String(ids.node(source.node)),
          source_label: label(source),
          source_interfaceId: source.interface,
          ...side("source", source),
          destination: destination === undefined ? `network${ids.network(link.network)}` : String(ids.node(destination.node)),
          destination_label: destination === undefined ? "" : label(destination),
          destination_interfaceId: destination === undefined ? "network" : destination.interface,
          ...side("destination", destination),
          save: 1,
        }),
      },
    ];
  });
}

function textCalls(before: UnlLab, after: UnlLab): readonly WriteCall[] {
  const kept = new Set(after.textObjects.map(({ id }) => id));
  const known = new Map(before.textObjects.map((object) => [object.id, object]));
  const changed = after.textObjects.filter(({ id, name, data }) => {
    const was = known.get(id);
    return was !== undefined && (was.name !== name || was.data !== data);
  });
  const gone = before.textObjects.flatMap(({ id }) => (kept.has(id) ? [] : [id ?? 0]));
  const made = after.textObjects.filter(({ id }) => !known.has(id));
  return [
    ...gone.map((id): WriteCall => ({ about: `text ${id}`, method: "DELETE", path: () => `/textobjects/${id}` })),
    ...changed.map(
      ({ id, name, data }): WriteCall => ({
        about: `text ${id}`,
        method: "PUT",
        path: () => `/textobjects/${id}`,
        body: () => ({ name, data }),
      }),
    ),
    ...made.map(
      ({ name, type, data }): WriteCall => ({
        about: "a text",
        method: "POST",
        path: () => "/textobjects",
        body: () => ({ name, type, data }),
      }),
    ),
  ];
}

function hasEnds(lab: UnlLab, network: UnlNetwork): boolean {
  return lab.nodes.some((node) => node.interfaces.some(({ network_id }) => network_id === network.id));
}

function byId<T extends { readonly id: number }>(list: readonly T[]): ReadonlyMap<number, T> {
  return new Map(list.map((one) => [one.id, one]));
}
