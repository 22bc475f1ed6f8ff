import { describe, expect, it } from "vitest";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import { labSchema } from "../../intent/schema.ts";
import { memoryHost } from "./memory-host.ts";

/**
 * No silent field: every key that the schema of the intent knows has here a change of a deployed lab, and that change gives a plan or is
 * reported as unsupported. A key added to the schema fails this test until it has its change here, and the change fails until the engine
 * compares it.
 */

// biome-ignore lint/suspicious/noExplicitAny: an intent is edited here as the plain data that it is
type Intent = any;

const base = (): Intent => ({
  name: "campus",
  description: "before",
  defaults: {},
  kinds: { router: { template: "frr" }, host: { template: "linux" } },
  groups: { core: { icon: "Router.png" }, edge: { icon: "Desktop.png" } },
  nodes: { r1: { kind: "router" }, h1: { kind: "host" }, h2: { kind: "host" } },
  networks: { lan: { type: "bridge" }, other: { type: "bridge" } },
  links: [{ endpoints: ["r1:eth0", "h1:eth0"] }, { endpoints: ["h2:eth0", "lan"] }],
  traffic_filters: [{ name: "one", match: "icmp" }],
  texts: [{ text: "note", x: 1, y: 2 }],
});

/** The change of each key of a node, given to the node itself and to defaults. */
const nodeChanges: Readonly<Record<string, unknown>> = {
  kind: "host",
  group: "edge",
  groups: ["core", "edge"],
  template: "pc",
  image: "other",
  "startup-config": "one\ntwo\n",
  kernel: "own",
  files: { "/etc/motd": "hello" },
  "ssh-keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqJ02XhCEMnTapl6dCbbHQVEoT8ODpOQ3xbZTMeaEIQ ann"],
  switching: { interfaces: { eth1: { vlan: 10 } } },
  exec: ["echo hello"],
  cpu: 2,
  ram: 512,
  memory: 512,
  ethernet: 9,
  start: false,
  icon: "Desktop.png",
  env: { A: "b" },
  attributes: { daemons: "bgpd" },
  labels: { site: "north" },
  name: "R1",
  position: { x: 1, y: 2 },
};

type Case = (intent: Intent) => void;

const cases: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(Object.entries(nodeChanges).map(([key, value]) => [`node.${key}`, (i: Intent) => (i.nodes.r1[key] = value)])),
  ...Object.fromEntries(
    Object.entries(nodeChanges)
      .filter(([key]) => key !== "name" && key !== "position")
      .map(([key, value]) => [
        `inheritable.${key}`,
        (i: Intent) => {
          i.defaults[key] = value;
          // A value beside the defaults would hide them.
          if (key === "kind" || key === "template") for (const node of Object.values<Intent>(i.nodes)) delete node.kind;
        },
      ]),
  ),
  "lab.name": (i) => (i.name = "other"),
  "lab.description": (i) => (i.description = "after"),
  "lab.management": (i) => (i.management = true),
  "lab.mgmt": (i) => (i.mgmt = true),
  "lab.management.ipv4-subnet": (i) => (i.management = { "ipv4-subnet": "172.20.20.0/24" }),
  "lab.mgmt.ipv4-subnet": (i) => (i.mgmt = { "ipv4-subnet": "172.20.20.0/24" }),
  "lab.management.ipv6-subnet": (i) => (i.management = { "ipv6-subnet": "fd00::/64" }),
  "lab.mgmt.ipv6-subnet": (i) => (i.mgmt = { "ipv6-subnet": "auto" }),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable
  "lab.vars": (i) => Object.assign(i, { vars: { v: "after" }, description: "${v}" }),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable
  "lab.vars-files": (i) => Object.assign(i, { "vars-files": ["vars.yaml"], description: "${v}" }),
  "lab.defaults": (i) => (i.defaults.labels = { x: "y" }),
  "lab.kinds": (i) => (i.kinds.router.icon = "Desktop.png"),
  "lab.groups": (i) => (i.nodes.r1.group = "edge"),
  "lab.nodes": (i) => (i.nodes.h3 = { kind: "host" }),
  "lab.networks": (i) => (i.networks.third = { type: "nat" }),
  "lab.links": (i) => i.links.push(["h1:eth1", "h2:eth1"]),
  "lab.traffic_filters": (i) => (i.traffic_filters = []),
  "lab.texts": (i) => (i.texts = []),
  "lab.topology": (i) => {
    const { nodes, links, networks, kinds, groups } = i;
    nodes.h3 = { kind: "host" };
    i.topology = { nodes, links, networks, kinds, groups };
    for (const key of ["nodes", "links", "networks", "kinds", "groups", "defaults", "traffic_filters", "texts"]) delete i[key];
  },
  "topology.defaults": wrapped((i) => (i.defaults.labels = { x: "y" })),
  "topology.kinds": wrapped((i) => (i.kinds.router.icon = "Desktop.png")),
  "topology.groups": wrapped((i) => (i.nodes.r1.group = "edge")),
  "topology.nodes": wrapped((i) => (i.nodes.h3 = { kind: "host" })),
  "topology.networks": wrapped((i) => (i.networks.third = { type: "nat" })),
  "topology.links": wrapped((i) => i.links.push(["h1:eth1", "h2:eth1"])),
  "topology.traffic_filters": wrapped((i) => (i.traffic_filters = [])),
  "topology.texts": wrapped((i) => (i.texts = [])),
  "network.name": (i) => (i.networks.lan.name = "office"),
  "network.type": (i) => (i.networks.lan.type = "nat"),
  "network.icon": (i) => (i.networks.lan.icon = "Cloud.png"),
  "network.vxlan": (i) => (i.networks.lan = { vxlan: { remote: "192.0.2.7", vni: 1 } }),
  "network.vxlan.remote": (i) => (i.networks.lan = { vxlan: { remote: "192.0.2.8", vni: 1 } }),
  "network.vxlan.vni": (i) => (i.networks.lan = { vxlan: { remote: "192.0.2.7", vni: 2 } }),
  "network.vxlan.port": (i) => (i.networks.lan = { vxlan: { remote: "192.0.2.7", vni: 1, port: 14789 } }),
  "network.position": (i) => (i.networks.lan.position = { x: 3, y: 4 }),
  "link.endpoints": (i) => (i.links[0].endpoints = ["r1:eth1", "h1:eth0"]),
  "link.quality": (i) => (i.links[0].quality = "satellite"),
  "link.suspended": (i) => (i.links[0].suspended = true),
  "link.suspended.a": (i) => (i.links[0].suspended = { a: true }),
  "link.suspended.b": (i) => (i.links[0].suspended = { b: true }),
  "link.mtu": (i) => (i.links[0].mtu = 9000),
  "link.full-mesh": (i) => (i.links[0] = { "full-mesh": ["r1", "h1", "h2"] }),
  "link.ring": (i) => (i.links[0] = { ring: ["r1", "h1", "h2"] }),
  "link.star": (i) => (i.links[0] = { star: { hub: "r1", spokes: "h{1..2}" } }),
  "link.star.hub": (i) => (i.links[0] = { star: { hub: "lan", spokes: "r1" } }),
  "link.star.spokes": (i) => (i.links[0] = { star: { hub: "r1", spokes: ["h1", "h2"] } }),
  "link.clos": (i) => (i.links[0] = { clos: { spines: "r1", leaves: "h{1..2}" } }),
  "link.clos.spines": (i) => (i.links[0] = { clos: { spines: ["r1", "h2"], leaves: "h1" } }),
  "link.clos.leaves": (i) => (i.links[0] = { clos: { spines: ["r1"], leaves: "h{1,2}" } }),
  "endpoint.node": (i) => (i.links[0].endpoints[1] = { node: "h2", interface: "eth1" }),
  "endpoint.interface": (i) => (i.links[0].endpoints[1] = { node: "h1", interface: "eth1" }),
  "endpoint.network": (i) => (i.links[1].endpoints[1] = { network: "other" }),
  "quality.delay": (i) => (i.links[0].quality = { delay: 10 }),
  "quality.jitter": (i) => (i.links[0].quality = { jitter: 10 }),
  "quality.loss": (i) => (i.links[0].quality = { loss: 1 }),
  "quality.bandwidth": (i) => (i.links[0].quality = { bandwidth: 1000 }),
  "sides.a": (i) => (i.links[0].quality = { a: { delay: 10 } }),
  "sides.b": (i) => (i.links[0].quality = { b: { delay: 10 } }),
  "filter.name": (i) => (i.traffic_filters[0].name = "two"),
  "filter.color": (i) => (i.traffic_filters[0].color = "red"),
  "filter.match": (i) => (i.traffic_filters[0].match = "arp"),
  "filter.nodes": (i) => (i.traffic_filters[0].nodes = ["r1"]),
  "filter.links": (i) => (i.traffic_filters[0].links = ["h1:eth0 -- r1:eth0"]),
  "text.text": (i) => (i.texts[0].text = "other"),
  "text.x": (i) => (i.texts[0].x = 100),
  "text.y": (i) => (i.texts[0].y = 100),
  "node.position.x": (i) => (i.nodes.r1.position = { x: 9, y: 0 }),
  "node.position.y": (i) => (i.nodes.r1.position = { x: 0, y: 9 }),
  "network.position.x": (i) => (i.networks.lan.position = { x: 9, y: 0 }),
  "network.position.y": (i) => (i.networks.lan.position = { x: 0, y: 9 }),
  ...Object.fromEntries(
    Object.entries<unknown>({
      interfaces: { interfaces: { eth1: { vlan: 10 } } },
      lag: { lag: { lag1: { members: ["eth1", "eth2"] } } },
      "spanning-tree": { "spanning-tree": "rstp" },
      "spanning-tree.mode": { "spanning-tree": { mode: "stp" } },
      "spanning-tree.priority": { "spanning-tree": { priority: 4096 } },
      mirror: { mirror: { from: ["eth1"], to: "eth2" } },
      "mirror.from": { mirror: { from: ["eth3"], to: "eth2" } },
      "mirror.to": { mirror: { from: ["eth1"], to: "eth3" } },
    }).map(([key, value]) => [`switching.${key}`, (i: Intent) => (i.nodes.h1 = { template: "switch", switching: value })]),
  ),
  "node.mgmt-ipv4": (i) => {
    i.management = { "ipv4-subnet": "172.20.20.0/24" };
    i.nodes.r1["mgmt-ipv4"] = "172.20.20.11";
  },
  "node.mgmt-ipv6": (i) => {
    i.management = { "ipv6-subnet": "fd00::/64" };
    i.nodes.r1["mgmt-ipv6"] = "fd00::11";
  },
  "node.ports": (i) => (i.nodes.r1.ports = ["8080:80"]),
  "node.startup-config.text": (i) => (i.nodes.r1["startup-config"] = { text: "hostname x" }),
  "inheritable.binds": (i) => (i.defaults.binds = ["conf:/etc/x"]),
  "node.binds": (i) => (i.nodes.r1.binds = ["conf:/etc/x"]),
  "inheritable.startup-config.text": (i) => (i.defaults["startup-config"] = { text: "hostname x" }),
};

/** Settings of the generated routing, by key. */
const routings: Readonly<Record<string, unknown>> = {
  routing: { ospf: true },
  "routing.ospf": { ospf: true },
  "routing.ospf.area": { ospf: { area: "0.0.0.1" } },
  "routing.isis": { isis: true },
  "routing.isis.area": { isis: { area: "49.0002" } },
  "routing.isis.level": { isis: { level: 1 } },
  "routing.bgp": { bgp: true },
  "routing.bgp.as": { bgp: { as: 65001 } },
};

/** Settings of the pools of generated addresses, by key. */
const pools: Readonly<Record<string, unknown>> = {
  addressing: true,
  ...Object.fromEntries(
    ["p2p", "lan", "loopback"].flatMap((pool) => {
      const ipv4 = pool === "loopback" ? "10.1.0.0/16" : "10.2.0.0/16";
      const ipv6 = `fd0${pool.length}::/48`;
      // A pool alone addresses nothing else.
      const of = (value: unknown) => ({ p2p: { ipv4: "10.3.0.0/16" }, lan: { ipv4: "10.4.0.0/16" }, [pool]: value });
      const lengths =
        pool === "loopback" ? [] : [["prefix", of({ ipv4, prefix: 28 })] as const, ["prefix6", of({ ipv6, prefix6: 112 })] as const];
      return ([["", of({ ipv4 })], ["ipv4", of({ ipv4 })], ["ipv6", of({ ipv6 })], ...lengths] as const).map(([key, value]) => [
        key === "" ? `addressing.${pool}` : `addressing.${pool}.${key}`,
        value,
      ]);
    }),
  ),
};

const generated: Readonly<Record<string, Case>> = {
  ...Object.fromEntries(Object.entries(pools).map(([key, value]) => [`lab.${key}`, (i: Intent) => (i.addressing = value)])),
  ...Object.fromEntries(
    Object.entries(routings).flatMap(([key, value]) => [
      [`lab.${key}`, (i: Intent) => Object.assign(i, { addressing: true, routing: value })],
      [`inheritable.${key}`, (i: Intent) => Object.assign(i, { addressing: true, defaults: { routing: value } })],
      [
        `node.${key}`,
        (i: Intent) => {
          i.addressing = true;
          i.nodes.r1.routing = value;
        },
      ],
    ]),
  ),
  "node.addresses": (i) => (i.nodes.r1.addresses = { eth0: "10.9.9.1/30" }),
  "node.startup-config.template": (i) => (i.nodes.r1["startup-config"] = { template: "t.j2" }),
  "inheritable.startup-config.template": (i) => (i.kinds.router["startup-config"] = { template: "t.j2" }),
};

const all: Readonly<Record<string, Case>> = { ...cases, ...generated };

/** Without effect on the host, each for a reason. */
const withoutEffect: Readonly<Record<string, string>> = {
  "lab.tests": "run by labwright test",
  "lab.lease": "the service ends leases, no host stores them",
  "lab.lease.for": "as lease",
  "lab.lease.idle": "as lease",
  "lab.lease.then": "as lease",
  "lab.place": "the service chooses the machine when the lab is created, no host stores it",
  "lab.place.machine": "as place",
  "lab.place.labels": "as place",
  "lab.place.spread": "as place",
  "lab.shapes": "only drawn, no host stores them",
  "topology.shapes": "the same",
  ...Object.fromEntries(
    ["box", "line"].flatMap((place) =>
      [
        "type",
        "x",
        "y",
        "color",
        "style",
        "thickness",
        "layer",
        ...(place === "box" ? ["width", "height", "fill", "rotation"] : ["x2", "y2", "start", "end"]),
      ].map((key) => [`${place}.${key}`, "as shapes"]),
    ),
  ),
  "node.ready": "the service checks it, no host stores it",
  "inheritable.ready": "the service checks it, no host stores it",
  "node.depends-on": "the service orders starts, no host stores it",
  "node.stages": "as depends-on",
  "node.pull": "read when the image is needed, no host stores it",
  "inheritable.pull": "as the node's own",
  "node.image-pull-policy": "as pull",
  "inheritable.image-pull-policy": "as pull",
};

/** Absent means unmanaged: taking these away keeps what the host has. */
const unmanaged = ["position", "start", "ethernet"];

function wrapped(change: Case): Case {
  return (i) => {
    change(i);
    const { name, description, ...topology } = i;
    for (const key of Object.keys(topology)) delete i[key];
    Object.assign(i, { name, description, topology });
  };
}

function read(intent: Intent): Lab {
  const { lab, diagnostics } = readIntent(JSON.stringify(intent), {
    conf: "text",
    "vars.yaml": "v: after\n",
    "t.j2": "hostname {{ node.key }}\n",
  });
  if (lab === undefined) throw new Error(diagnostics.map(({ path, message }) => `${path}: ${message}`).join("\n"));
  return lab;
}

/** Every key of the schema that is not only read with a warning, by the place it stands in. */
function schemaKeys(): readonly string[] {
  const keys = new Set<string>();
  const visit = (place: string, schema: Intent): void => {
    for (const [key, value] of Object.entries<Intent>(schema.properties ?? {})) {
      if (value.deprecationMessage !== undefined) continue;
      keys.add(`${place}.${key}`);
      visit(`${place}.${key}`, value);
    }
    for (const alternative of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) visit(place, alternative);
    if (schema.items !== undefined) visit(place, schema.items);
  };
  const schema: Intent = labSchema;
  visit("lab", { properties: schema.properties });
  for (const [name, definition] of Object.entries<Intent>(schema.definitions)) visit(name, definition);
  // Tests and conditions describe no part of the lab: no plan compares them.
  return [...keys].filter((key) => !/^(?:lab\.tests|node\.ready|inheritable\.ready|node\.stages)\./.test(key)).sort();
}

/** Keys inside the topology wrapper are those of its own definition. */
const known = (key: string) => key.replace(/^lab\.topology\./, "topology.");

describe("no field of the intent is silent", () => {
  it("every key of the schema has a change here, and every change a key", () => {
    const keys = new Set(schemaKeys().map(known));
    expect([...keys].filter((key) => !Object.hasOwn(all, key) && !Object.hasOwn(withoutEffect, key))).toEqual([]);
    expect([...Object.keys(all), ...Object.keys(withoutEffect)].filter((key) => !keys.has(key))).toEqual([]);
  });

  for (const [key, change] of Object.entries(all)) {
    it(`${key} is compared`, async () => {
      const before = read(base());
      const edited = base();
      change(edited);
      const after = read(edited);
      const forward = await planned(before, after);
      const field = key.split(".")[1] === "memory" ? "ram" : (key.split(".")[1] ?? "");
      const reported = forward.unsupported.some((entry) => entry.includes(`.${field}`));
      expect(forward.actions.length > 0 || forward.blocked.length > 0 || reported).toBe(true);
      if (reported || unmanaged.includes(field) || forward.blocked.length > 0) return;
      const back = await planned(after, before);
      expect(back.actions.length).toBeGreaterThan(0);
    });
  }
});

async function planned(before: Lab, after: Lab) {
  const session = await memoryHost().login("admin", "admin");
  const rules = await session.rules();
  const deploy = planLab({ desired: before, observed: null, rules, prune: true, replace: false });
  const { ids } = await session.apply("/lab", deploy.operations, { ids: { nodes: {}, networks: {}, links: {} }, step: () => {} });
  const observed = await session.observe("/lab");
  const unchanged = planLab({ desired: before, observed, rules, ids, prune: true, replace: false });
  expect(unchanged.actions).toEqual([]);
  return planLab({ desired: after, observed, rules, ids, prune: true, replace: false });
}
