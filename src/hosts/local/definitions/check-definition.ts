import { isIPv4 } from "node:net";
import type { LabDefinition } from "./definition.ts";

/**
 * Checks a lab.json, which may have been edited by hand, before it is used.
 * @param id name of the lab's directory, which must be the file's id
 * @throws Error whose message names the field
 */
export function checkDefinition(value: unknown, id: string): LabDefinition {
  const lab = record(value, "the file");
  if (lab.version !== 1) throw new Error(`version is ${JSON.stringify(lab.version)}, not 1`);
  if (lab.id !== id) throw new Error(`id is ${JSON.stringify(lab.id)}, but the directory is ${id}`);
  for (const word of ["path", "name", "owner"]) text(lab[word], word);
  if (typeof lab.locked !== "boolean") throw new Error("locked is not true or false");
  const next = record(lab.next, "next");

  const nodes = numbered(lab.nodes, "nodes", next.node);
  for (const [place, node] of nodes.entries) {
    text(node.name, `${place}.name`);
    text(node.template, `${place}.template`);
    whole(node.ethernet, `${place}.ethernet`);
    if (!["running", "stopped", "suspended"].includes(node.power as string))
      throw new Error(`${place}.power is not running, stopped or suspended`);
    if (!Array.isArray(node.exec)) throw new Error(`${place}.exec is not a list`);
    for (const word of ["env", "attributes", "labels"]) record(node[word], `${place}.${word}`);
  }
  const networks = numbered(lab.networks, "networks", next.network);
  for (const [place, network] of networks.entries) {
    text(network.name, `${place}.name`);
    text(network.type, `${place}.type`);
    if (network.vxlan !== undefined) {
      const { remote, vni, port = 0, cut } = record(network.vxlan, `${place}.vxlan`);
      if (typeof remote !== "string" || !isIPv4(remote)) throw new Error(`${place}.vxlan.remote is not an IPv4 address`);
      whole(vni, `${place}.vxlan.vni`);
      whole(port, `${place}.vxlan.port`);
      if (cut !== undefined) checkHalf(cut, `${place}.vxlan.cut`);
    }
  }
  const used = new Set<string>();
  for (const [place, link] of numbered(lab.links, "links", next.link).entries) {
    const endpoints = link.endpoints;
    if (!Array.isArray(endpoints) || endpoints.length !== 2) throw new Error(`${place}.endpoints is not a list of two`);
    for (const [i, one] of endpoints.entries()) {
      const endpoint = record(one, `${place}.endpoints[${i}]`);
      if ("network" in endpoint) {
        if (!networks.ids.has(endpoint.network)) throw new Error(`${place}.endpoints[${i}]: there is no network ${endpoint.network}`);
        continue;
      }
      if (!nodes.ids.has(endpoint.node)) throw new Error(`${place}.endpoints[${i}]: there is no node ${endpoint.node}`);
      text(endpoint.interface, `${place}.endpoints[${i}].interface`);
      const key = `${endpoint.node} ${endpoint.interface}`;
      if (used.has(key)) throw new Error(`${place}.endpoints[${i}]: node ${endpoint.node} has another link on ${endpoint.interface}`);
      used.add(key);
    }
  }
  for (const word of ["texts", "trafficFilters"]) if (!Array.isArray(lab[word])) throw new Error(`${word} is not a list`);
  return value as LabDefinition;
}

type Fields = Readonly<Record<string, unknown>>;

function numbered(
  value: unknown,
  name: string,
  next: unknown,
): { entries: readonly (readonly [string, Fields])[]; ids: ReadonlySet<unknown> } {
  if (!Array.isArray(value)) throw new Error(`${name} is not a list`);
  whole(next, `next id of ${name}`);
  const ids = new Set<unknown>();
  const entries = value.map((one, i) => [`${name}[${i}]`, record(one, `${name}[${i}]`)] as const);
  for (const [place, { id }] of entries) {
    whole(id, `${place}.id`);
    if (ids.has(id)) throw new Error(`${place}.id ${id} is taken`);
    if ((id as number) >= (next as number)) throw new Error(`${place}.id ${id} is not below the next id ${next}`);
    ids.add(id);
  }
  return { entries, ids };
}

function checkHalf(value: unknown, place: string): void {
  const { mtu, isDown } = record(value, place);
  whole(mtu, `${place}.mtu`);
  if (isDown !== undefined && isDown !== true) throw new Error(`${place}.isDown is not true`);
}

function record(value: unknown, place: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${place} is not an object`);
  return value as Fields;
}

function text(value: unknown, place: string): void {
  if (typeof value !== "string" || value === "") throw new Error(`${place} is not a string`);
}

function whole(value: unknown, place: string): void {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Error(`${place} is not a whole number`);
}
