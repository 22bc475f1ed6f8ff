/**
 * The keys of the language, by place. `ignored` lists keys of containerlab that have no effect here: a warning names them, so that such a file can be
 * read and nobody expects them to work. Any other key is an error.
 */
export interface Vocabulary {
  readonly known: readonly string[];
  readonly ignored: readonly string[];
  /** Words of similar tools and the key with that meaning here; only for hints. */
  readonly meant: Readonly<Record<string, string>>;
  /** For ignored keys, the key with the same meaning here; only for hints. */
  readonly instead?: Readonly<Record<string, string>>;
}

const sections = ["defaults", "kinds", "groups", "nodes", "networks", "links", "traffic_filters", "texts", "shapes"] as const;

export type Section = (typeof sections)[number];

export const labVocabulary: Vocabulary = {
  known: [
    "name",
    "description",
    "management",
    "mgmt",
    "vars",
    "vars-files",
    "addressing",
    "routing",
    "lease",
    "place",
    ...sections,
    "topology",
    "tests",
  ],
  ignored: ["prefix", "settings", "debug"],
  meant: {
    lab: "name",
    title: "name",
    notes: "description",
    annotations: "texts",
    variables: "vars",
    vars_files: "vars-files",
    addresses: "addressing",
    pools: "addressing",
    leases: "lease",
    expires: "lease",
    "auto-stop": "lease",
    ttl: "lease",
    placement: "place",
    machine: "place",
  },
};

export const placeVocabulary: Vocabulary = {
  known: ["machine", "labels", "spread"],
  ignored: [],
  meant: { host: "machine", node: "machine", label: "labels" },
};

export const leaseVocabulary: Vocabulary = {
  known: ["for", "idle", "then"],
  ignored: [],
  meant: { after: "for", time: "for", duration: "for", unused: "idle", action: "then", end: "then" },
};

/** The protocols of `routing`. */
export const routingProtocols = ["ospf", "isis", "bgp"] as const;

export const routingVocabulary: Vocabulary = {
  known: routingProtocols,
  ignored: [],
  meant: { ospfv2: "ospf", ospf6: "ospf", "is-is": "isis" },
};

export const protocolVocabularies: Readonly<Record<(typeof routingProtocols)[number], Vocabulary>> = {
  ospf: { known: ["area"], ignored: [], meant: { areas: "area" } },
  isis: { known: ["area", "level"], ignored: [], meant: { type: "level", net: "area" } },
  bgp: { known: ["as"], ignored: [], meant: { asn: "as", "as-number": "as" } },
};

/** The pools of `addressing`: links of two nodes, networks and switches, and the nodes themselves. */
export const addressPools = ["p2p", "lan", "loopback"] as const;

export const addressingVocabulary: Vocabulary = {
  known: addressPools,
  ignored: [],
  meant: { loopbacks: "loopback", links: "p2p", networks: "lan", stub: "lan" },
};

const poolOfNetworks: Vocabulary = {
  known: ["ipv4", "prefix", "ipv6", "prefix6"],
  ignored: [],
  meant: { length: "prefix", "prefix-length": "prefix", range: "ipv4", subnet: "ipv4" },
};

export const poolVocabularies: Readonly<Record<(typeof addressPools)[number], Vocabulary>> = {
  p2p: poolOfNetworks,
  lan: poolOfNetworks,
  loopback: { known: ["ipv4", "ipv6"], ignored: [], meant: { range: "ipv4", subnet: "ipv4" } },
};

/** `management`, and `mgmt` of containerlab. */
export const managementVocabulary: Vocabulary = {
  known: ["ipv4-subnet", "ipv6-subnet"],
  ignored: ["network", "bridge", "mtu", "ipv4-gw", "ipv4-range", "ipv6-gw", "ipv6-range", "external-access", "driver-opts"],
  meant: { subnet: "ipv4-subnet", ipv4: "ipv4-subnet", ipv4_subnet: "ipv4-subnet", ipv6: "ipv6-subnet", ipv6_subnet: "ipv6-subnet" },
};

export const topologyVocabulary: Vocabulary = { known: sections, ignored: [], meant: { ...labVocabulary.meant } };

const ignoredOfNodes = [
  "aliases",
  "auto-remove",
  "cap-add",
  "certificate",
  "cgroupns-mode",
  "cmd",
  "components",
  "config",
  "cpu-set",
  "credentials",
  "devices",
  "dns",
  "enforce-startup-config",
  "entrypoint",
  "env-files",
  "extras",
  "healthcheck",
  "license",
  "link-apply-mode",
  "network-mode",
  "publish",
  "restart-policy",
  "runtime",
  "sandbox",
  "shm-size",
  "startup-delay",
  "suppress-startup-config",
  "sysctls",
  "type",
  "user",
  "wait-for",
];

const inheritableKeys = [
  "kind",
  "group",
  "groups",
  "template",
  "image",
  "pull",
  "image-pull-policy",
  "kernel",
  "ssh-keys",
  "startup-config",
  "files",
  "binds",
  "switching",
  "routing",
  "exec",
  "cpu",
  "ram",
  "memory",
  "ethernet",
  "start",
  "icon",
  "env",
  "attributes",
  "labels",
  "ready",
];

const meantOfNodes = {
  device: "template",
  mem: "ram",
  cpus: "cpu",
  interfaces: "ethernet",
  hostname: "name",
  label: "labels",
  environment: "env",
  pull_policy: "pull",
  commands: "exec",
  vlans: "switching",
  "ready-when": "ready",
};

const ofContainers = (attribute: string) => `a node of template container has attributes: {${attribute}: …}`;

const insteadOfNodes = {
  healthcheck: "a node is ready when the conditions of its ready: have passed",
  "wait-for": "depends-on: [NODE] or {NODE: ready}",
  cmd: ofContainers("command"),
  entrypoint: ofContainers("entrypoint"),
  user: ofContainers("user"),
};

export const nodeVocabulary: Vocabulary = {
  known: [...inheritableKeys, "name", "position", "addresses", "ports", "mgmt-ipv4", "mgmt-ipv6", "depends-on", "stages"],
  ignored: ignoredOfNodes,
  meant: { ...meantOfNodes, depends_on: "depends-on", address: "addresses", ip: "addresses" },
  instead: insteadOfNodes,
};

/** Fields of defaults, kinds and groups: fields that make sense for many nodes. */
export const inheritableVocabulary: Vocabulary = {
  known: inheritableKeys,
  ignored: [...ignoredOfNodes, "ports", "mgmt-ipv4", "mgmt-ipv6", "stages"],
  meant: meantOfNodes,
  instead: insteadOfNodes,
};

export const networkVocabulary: Vocabulary = {
  known: ["name", "type", "icon", "position", "vxlan"],
  ignored: ["labels", "mtu"],
  meant: { kind: "type", tunnel: "vxlan" },
};

export const vxlanVocabulary: Vocabulary = {
  known: ["remote", "vni", "port"],
  ignored: [],
  meant: { id: "vni", "udp-port": "port", "dst-port": "port", dstport: "port" },
};

/** The forms of several links in one item. */
export const linkGroups = ["full-mesh", "ring", "star", "clos"] as const;
export type LinkGroup = (typeof linkGroups)[number];

export const linkGroupVocabularies = {
  star: { known: ["hub", "spokes"], ignored: [], meant: { center: "hub", centre: "hub", nodes: "spokes" } },
  clos: { known: ["spines", "leaves"], ignored: [], meant: { spine: "spines", leaf: "leaves", leafs: "leaves" } },
} satisfies Readonly<Record<string, Vocabulary>>;

export const linkVocabulary: Vocabulary = {
  known: ["endpoints", ...linkGroups, "quality", "suspended", "mtu"],
  ignored: ["type", "vars", "labels", "link-apply-mode", "ipv4", "ipv6"],
  meant: {
    endpoint: "endpoints",
    mesh: "full-mesh",
    "hub-and-spoke": "star",
    fabric: "clos",
    "spine-leaf": "clos",
    interfaces: "endpoints",
    netem: "quality",
    suspend: "suspended",
    impairment: "quality",
  },
};

export const endpointVocabulary: Vocabulary = {
  known: ["node", "interface", "network"],
  ignored: ["mac", "ipv4", "ipv6", "vars"],
  meant: { ifname: "interface", port: "interface" },
};

export const qualityVocabulary: Vocabulary = {
  known: ["delay", "jitter", "loss", "bandwidth"],
  ignored: ["corruption", "duplicate", "reorder"],
  meant: { latency: "delay", rate: "bandwidth" },
};

export const sidesVocabulary: Vocabulary = { known: ["a", "b"], ignored: [], meant: {} };

/** The map forms of startup-config. */
export const configVocabulary: Vocabulary = { known: ["text", "template"], ignored: [], meant: { file: "template" } };

export const positionVocabulary: Vocabulary = { known: ["x", "y"], ignored: [], meant: {} };

export const filterVocabulary: Vocabulary = {
  known: ["name", "color", "match", "nodes", "links"],
  ignored: [],
  meant: { filter: "match" },
};

export const textVocabulary: Vocabulary = { known: ["text", "x", "y"], ignored: [], meant: {} };

const look = ["color", "style", "thickness", "layer"] as const;
const meantOfShapes = {
  kind: "type",
  shape: "type",
  colour: "color",
  "border-color": "color",
  "border-style": "style",
  "line-style": "style",
  z: "layer",
};

export const boxVocabulary: Vocabulary = {
  known: ["type", "x", "y", "width", "height", ...look, "fill", "rotation"],
  ignored: [],
  meant: { ...meantOfShapes, "fill-color": "fill", border: "thickness", rotate: "rotation", angle: "rotation" },
};

export const lineVocabulary: Vocabulary = {
  known: ["type", "x", "y", "x2", "y2", ...look, "start", "end"],
  ignored: [],
  meant: { ...meantOfShapes, x1: "x", y1: "y", width: "thickness", "line-start": "start", "line-end": "end", arrow: "end" },
};

/** The checks of a test; a test has exactly one. */
export const testChecks = ["ping", "http", "port", "command", "route", "neighbor", "path", "config"] as const;

export const testVocabulary: Vocabulary = {
  known: ["name", "from", ...testChecks, "within", "expect", "given"],
  ignored: [],
  meant: { neighbour: "neighbor", timeout: "within", node: "from", source: "from", exec: "command", run: "command", tcp: "port" },
};

/** A condition of `ready`: one check of a test. */
export const conditionVocabulary: Vocabulary = { known: testChecks, ignored: [], meant: testVocabulary.meant };

/** containerlab's stages of a node. */
export const stageVocabulary: Vocabulary = { known: ["wait-for"], ignored: ["exec"], meant: {} };
export const waitVocabulary: Vocabulary = { known: ["node", "stage"], ignored: [], meant: {} };

export const givenVocabulary: Vocabulary = { known: ["suspend", "stop"], ignored: [], meant: { suspended: "suspend", stopped: "stop" } };

export const checkVocabularies: Readonly<Record<(typeof testChecks)[number], Vocabulary>> = {
  ping: { known: ["to", "count", "loss", "rtt"], ignored: [], meant: { target: "to", host: "to", latency: "rtt" } },
  http: { known: ["url", "status", "contains"], ignored: [], meant: { code: "status", body: "contains" } },
  port: { known: ["to", "port"], ignored: [], meant: { host: "to", target: "to" } },
  command: {
    known: ["run", "exit", "contains", "lacks"],
    ignored: [],
    meant: { command: "run", cmd: "run", code: "exit", output: "contains", expect: "contains" },
  },
  route: {
    known: ["to", "via", "interface", "protocol"],
    ignored: [],
    meant: { prefix: "to", gateway: "via", dev: "interface", proto: "protocol" },
  },
  neighbor: { known: ["protocol", "peer", "state"], ignored: [], meant: { address: "peer", to: "peer" } },
  path: { known: ["to", "hops"], ignored: [], meant: { through: "hops", via: "hops" } },
  config: { known: ["contains", "lacks"], ignored: [], meant: { lines: "contains", has: "contains" } },
};
