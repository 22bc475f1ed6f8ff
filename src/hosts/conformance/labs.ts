import { type Endpoint, type Lab, type LabLink, type LabNode, linkKey } from "../../intent/lab/lab.ts";

export const node = (key: string, template: string, more: Partial<LabNode> = {}): LabNode => ({
  key,
  name: key,
  template,
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});

export const end = (text: string): Endpoint => {
  const [name = "", port] = text.split(":");
  return port === undefined ? { network: name } : { node: name, interface: port };
};

export const link = (a: string, b: string, more: Partial<LabLink> = {}): LabLink => ({
  key: linkKey(end(a), end(b)),
  endpoints: [end(a), end(b)],
  ...more,
});

export const byKey = <T extends { readonly key: string }>(list: readonly T[]): readonly T[] =>
  [...list].sort((a, b) => (a.key < b.key ? -1 : 1));

export const lab = (parts: Partial<Lab>): Lab => ({
  name: "conformance",
  trafficFilters: [],
  texts: [],
  ...parts,
  nodes: byKey(parts.nodes ?? []),
  networks: byKey(parts.networks ?? []),
  links: byKey(parts.links ?? []),
});

/** One resource of each kind. */
export const smallLab = lab({
  description: "a small lab",
  nodes: [
    node("h1", "linux", { position: { x: 10, y: 20 } }),
    node("p1", "pc"),
    node("r1", "frr", { labels: { site: "a" } }),
    node("sw", "switch"),
  ],
  networks: [{ key: "lan", name: "lan", type: "bridge" }],
  links: [link("h1:eth0", "r1:eth0"), link("h1:eth1", "sw:eth0"), link("p1:eth0", "sw:eth1"), link("r1:eth1", "lan")],
  texts: [{ text: "a note", x: 1, y: 2 }],
  trafficFilters: [{ name: "icmp", match: "icmp" }],
});

export const twoHosts = lab({ nodes: [node("h1", "linux"), node("h2", "linux")], links: [link("h1:eth0", "h2:eth0")] });
