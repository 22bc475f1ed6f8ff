import { describe, expect, it } from "vitest";
import { type Endpoint, type Lab, type LabLink, type LabNode, linkKey } from "../../intent/lab/lab.ts";
import { joinIds } from "../compare/join.ts";
import type { ObservedLab, Power } from "../model/observed.ts";
import type { HostRules, Plan, TemplateRules } from "../model/plan.ts";
import { type PlanInput, planLab } from "./plan-lab.ts";
import { splitByDisruption } from "./split.ts";

const template = (id: string, more: Partial<TemplateRules> = {}): TemplateRules => ({
  id,
  type: id,
  image: "base",
  images: ["base", "big"],
  attributes: { forwarding: false },
  startupConfig: true,
  fields: { image: "recreate", env: "restart", startupConfig: "restart" },
  links: "live",
  ethFormat: "eth{0}",
  maxInterfaces: 8,
  ...more,
});

const rules: HostRules = {
  templates: [
    template("linux"),
    template("vm", { links: "restart", ram: 512, fields: { ram: "restart", ethernet: "restart" } }),
    template("box", { links: "recreate" }),
    template("bare", { images: [] }),
    template("switch", { startupConfig: false, fields: { image: "unsupported" }, why: { image: "a switch has no image" } }),
  ],
  networkTypes: ["bridge", "nat"],
  features: { linkQuality: true, linkSuspend: true, wipe: true },
  unsupportedFields: [],
};

const node = (key: string, more: Partial<LabNode> = {}): LabNode => ({
  key,
  name: key,
  template: "linux",
  exec: [],
  env: {},
  attributes: {},
  labels: {},
  ...more,
});

const end = (text: string): Endpoint => {
  const [name = "", port] = text.split(":");
  return port === undefined ? { network: name } : { node: name, interface: port };
};

const link = (a: string, b: string, more: Partial<LabLink> = {}): LabLink => ({
  key: linkKey(end(a), end(b)),
  endpoints: [end(a), end(b)],
  ...more,
});

const lab = (nodes: readonly LabNode[], links: readonly LabLink[] = [], more: Partial<Lab> = {}): Lab => ({
  name: "campus",
  nodes,
  networks: [],
  links,
  texts: [],
  trafficFilters: [],
  ...more,
});

/** A host on which the lab was deployed; every node has the given power. */
function host(deployed: Lab, power: Power = "running"): ObservedLab {
  const need = (key: string) => deployed.links.flatMap(({ endpoints }) => endpoints).filter((one) => "node" in one && one.node === key);
  return {
    path: "/campus",
    id: "lab-1",
    name: deployed.name,
    locked: false,
    lock: 0,
    texts: deployed.texts,
    trafficFilters: deployed.trafficFilters,
    nodes: deployed.nodes.map(({ key, ...rest }) => {
      const indexes = need(key).map((one) => ("node" in one ? Number(/\d+$/.exec(one.interface)?.[0]) + 1 : 0));
      return {
        ...rest,
        id: `n-${key}`,
        type: rest.template,
        ethernet: rest.ethernet ?? Math.max(0, ...indexes),
        power,
        consoleType: "telnet",
        interfaces: [],
      };
    }),
    networks: deployed.networks.map(({ key, ...rest }) => ({ ...rest, id: `w-${key}` })),
    links: deployed.links.map(({ key, endpoints, ...rest }) => ({
      ...rest,
      id: `l-${key}`,
      endpoints: [nativeEnd(endpoints[0]), nativeEnd(endpoints[1])],
    })),
  };
}

const nativeEnd = (one: Endpoint) =>
  "node" in one ? { nodeId: `n-${one.node}`, interface: one.interface } : { networkId: `w-${one.network}` };

const plan = (desired: Lab | null, observed: ObservedLab | null, more: Partial<PlanInput> = {}): Plan =>
  planLab({ desired, observed, rules, prune: false, replace: false, ...more });

const steps = ({ operations }: Pick<Plan, "operations">) => operations.map(({ id }) => id);

const triangle = lab(
  ["a", "b", "c"].map((key) => node(key)),
  [link("a:eth0", "b:eth0"), link("b:eth1", "c:eth0"), link("c:eth1", "a:eth1")],
);

describe("the plan of a lab", () => {
  it("creates everything after the things it depends on", () => {
    const desired = lab([node("r2"), node("r10", { start: false })], [link("r2:eth0", "lan"), link("r2:eth1", "r10:eth0")], {
      networks: [{ key: "lan", name: "lan", type: "bridge" }],
    });
    const planned = plan(desired, null);
    expect(steps(planned)).toEqual([
      "create:lab:campus",
      "create:network:lan",
      "create:node:r2",
      "create:node:r10",
      "create:link:lan -- r2:eth0",
      "create:link:r10:eth0 -- r2:eth1",
      "start:node:r2",
    ]);
    expect(planned.summary).toMatchObject({ creates: 6, starts: 1, stops: 0 });
    const made = planned.operations.find(({ id }) => id === "create:node:r2")?.step;
    expect(made).toMatchObject({ node: { image: "base", ethernet: 2, attributes: { forwarding: false } } });
  });

  it("is empty for a lab that matches the intent, and its text reports that", () => {
    const planned = plan(triangle, host(triangle));
    expect(planned).toMatchObject({ actions: [], operations: [], applicable: true, summary: { unchanged: 6 } });
    expect(planned.text).toBe("No changes. The host matches the intent.\n");
  });

  it("restarts a running node for a change that it cannot take live, and lists the affected nodes and links", () => {
    const desired = { ...triangle, nodes: [node("a", { env: { MODE: "x", API_TOKEN: "s3cret" } }), node("b"), node("c")] };
    const planned = plan(desired, host(triangle));
    expect(steps(planned)).toEqual(["stop:node:a", "update:node:a", "start:node:a"]);
    const [action] = planned.actions;
    expect(action).toMatchObject({ op: "update", disruption: "restart", affects: ["a:eth0 -- b:eth0", "a:eth1 -- c:eth1", "b", "c"] });
    expect(JSON.stringify(planned.actions) + planned.text).not.toContain("s3cret");
    expect(action?.changes).toContainEqual({ field: "env.API_TOKEN", before: null, after: "(sensitive)", sensitive: true });
    expect(planned.operations.find(({ op }) => op === "update")?.step).toMatchObject({ node: { env: { API_TOKEN: "s3cret" } } });
    expect(planned.text).toContain("~ node a [restart]");
    expect(planned.text).toContain("env.MODE       (none) → x");
    expect(planned.text).toContain("Plan: 0 to create, 1 to change, 0 to delete; 1 node will stop, 1 node will start.");
  });

  it("changes a stopped node without disturbing anything and leaves it stopped", () => {
    const desired = { ...triangle, nodes: [node("a", { env: { MODE: "x" } }), node("b"), node("c")] };
    const planned = plan(desired, host(triangle, "stopped"));
    expect(steps(planned)).toEqual(["update:node:a"]);
    expect(planned.actions[0]?.disruption).toBe("none");
  });

  it("applies the live part of a mixed change at once and lets the rest wait with its old value", () => {
    const desired = { ...triangle, nodes: [node("a", { env: { MODE: "x" }, labels: { site: "n" } }), node("b"), node("c")] };
    const { now, later } = splitByDisruption(plan(desired, host(triangle)));
    expect(now.map(({ step }) => step)).toMatchObject([
      { do: "update-node", fields: ["labels"], node: { labels: { site: "n" }, env: {} } },
    ]);
    expect(later.map(({ id }) => id)).toEqual(["stop:node:a", "update:node:a", "start:node:a"]);
  });

  it("recreates a node and puts its links back, in one group that is never split", () => {
    const desired = { ...triangle, nodes: [node("a", { image: "big" }), node("b"), node("c")] };
    const planned = plan(desired, host(triangle));
    expect(steps(planned)).toEqual([
      "stop:node:a",
      "delete:link:a:eth0 -- b:eth0",
      "delete:link:a:eth1 -- c:eth1",
      "delete:node:a",
      "create:node:a",
      "create:link:a:eth0 -- b:eth0",
      "create:link:a:eth1 -- c:eth1",
      "start:node:a",
    ]);
    expect(planned.actions).toHaveLength(1);
    expect(planned.actions[0]).toMatchObject({ op: "replace", disruption: "recreate", reason: { code: "recreate_needed" } });
    expect(splitByDisruption(planned).now).toEqual([]);
    expect(planned.text).toContain("∓ node a: image differs and cannot change in place [recreated]");
  });

  it("adds a link to running nodes without disturbing them, and reports a deletion as a flap", () => {
    const without = { ...triangle, links: triangle.links.slice(1) };
    expect(plan(triangle, host(without)).actions).toMatchObject([{ op: "create", kind: "link", disruption: "none", affects: [] }]);
    expect(plan(without, host(triangle), { prune: true }).actions).toMatchObject([
      { op: "delete", kind: "link", disruption: "link", affects: ["a", "b"], prune: true },
    ]);
    expect(plan(without, host(triangle, "stopped"), { prune: true }).actions[0]?.disruption).toBe("none");
  });

  it("restarts the end of a link that cannot take it live, and only that", () => {
    const nodes = [node("a"), node("v", { template: "vm", ram: 512 })];
    const planned = plan(lab(nodes, [link("a:eth0", "v:eth0")]), host(lab(nodes.map((one) => ({ ...one, ethernet: 1 })))));
    expect(steps(planned)).toEqual(["stop:node:v", "create:link:a:eth0 -- v:eth0", "start:node:v"]);
    expect(planned.actions).toMatchObject([{ kind: "link", disruption: "restart" }]);
    expect(planned.operations[0]).toMatchObject({ of: "link:a:eth0 -- v:eth0", reason: { code: "stopped_for_change" } });
  });

  it("recreates the end of a link that takes links only so, and takes its other links off and on", () => {
    const nodes = [node("a"), node("x", { template: "box" }), node("v", { template: "vm" })];
    const before = lab(nodes, [link("v:eth0", "x:eth0")]);
    const planned = plan({ ...before, links: [...before.links, link("a:eth0", "x:eth1")] }, host(before));
    expect(steps(planned)).toEqual([
      "stop:node:v",
      "stop:node:x",
      "delete:link:v:eth0 -- x:eth0",
      "delete:node:x",
      "create:node:x",
      "update:node:a",
      "create:link:a:eth0 -- x:eth1",
      "create:link:v:eth0 -- x:eth0",
      "start:node:v",
      "start:node:x",
    ]);
    // A change of another interface of a is safe by itself.
    expect(splitByDisruption(planned).now.map(({ id }) => id)).toEqual(["update:node:a"]);
  });

  it("leaves extras alone without prune and deletes them with it, stopping what runs", () => {
    const desired = lab([node("a"), node("b")], [triangle.links[0] as LabLink]);
    const kept = plan(desired, host(triangle));
    expect(kept).toMatchObject({ actions: [], summary: { skipped_prune: 3 } });
    expect(kept.text).toContain("3 extra on the host, left alone (prune deletes them).");
    const pruned = plan(desired, host(triangle), { prune: true });
    expect(steps(pruned)).toEqual(["stop:node:c", "delete:link:a:eth1 -- c:eth1", "delete:link:b:eth1 -- c:eth0", "delete:node:c"]);
    expect(pruned.actions.find(({ kind }) => kind === "node")).toMatchObject({ op: "delete", disruption: "stop", prune: true });
  });

  it("takes an interface from an extra link also without prune, and gives the reason", () => {
    const nodes = [node("a"), node("b"), node("c")];
    const planned = plan(lab(nodes, [link("a:eth0", "c:eth0")]), host(lab(nodes, [link("a:eth0", "b:eth0")])));
    expect(planned.actions.filter(({ kind }) => kind === "link")).toMatchObject([
      {
        op: "delete",
        key: "a:eth0 -- b:eth0",
        prune: false,
        reason: { code: "interface_taken", text: "a:eth0 is wanted by a:eth0 -- c:eth0" },
      },
      { op: "create", key: "a:eth0 -- c:eth0" },
    ]);
  });

  it("replaces a network whose type changes under its links", () => {
    const network = { key: "lan", name: "lan", type: "bridge" };
    const before = lab([node("a")], [link("a:eth0", "lan")], { networks: [network] });
    const planned = plan({ ...before, networks: [{ ...network, type: "nat" }] }, host(before));
    expect(steps(planned)).toEqual(["delete:link:a:eth0 -- lan", "delete:network:lan", "create:network:lan", "create:link:a:eth0 -- lan"]);
    expect(planned.actions).toMatchObject([{ op: "replace", kind: "network", disruption: "link", affects: ["a", "a:eth0 -- lan"] }]);
  });

  it("lists affected things with their kinds in actions alone, also a node and a network with one key", () => {
    const before = lab([node("a"), node("lan")], [link("a:eth0", "lan"), link("a:eth1", "lan:eth0")], {
      networks: [{ key: "lan", name: "lan", type: "bridge" }],
    });
    const many = Array.from({ length: 100 }, (_, i) => `n${i}`);
    const large = {
      ...before,
      nodes: [...before.nodes, ...many.map((key) => node(key))],
      links: [...before.links, ...many.map((key) => link(`${key}:eth0`, "lan"))],
    };
    const restarted = (from: Lab) => plan({ ...from, nodes: [node("a", { env: { MODE: "x" } }), ...from.nodes.slice(1)] }, host(from));
    const planned = restarted(large);
    expect(planned.actions[0]?.affects).toEqual(["a:eth0 -- lan", "a:eth1 -- lan:eth0", "lan"]);
    expect(planned.actions[0]?.affected).toEqual([
      { kind: "link", key: "a:eth0 -- lan" },
      { kind: "link", key: "a:eth1 -- lan:eth0" },
      { kind: "node", key: "lan" },
      { kind: "network", key: "lan" },
    ]);
    expect(planned.operations.filter((step) => "affected" in step)).toEqual([]);
    expect(plan(before, null).actions.filter((action) => "affected" in action)).toEqual([]);
  });

  it("changes quality in place in either order of the ends, and treats zero as absent", () => {
    const shaped = { ...triangle, links: [link("b:eth0", "a:eth0", { quality: { a: { delay: 5 } } }), ...triangle.links.slice(1)] };
    const planned = plan(shaped, host(triangle));
    expect(planned.actions).toMatchObject([{ disruption: "none", changes: [{ field: "quality.a.delay", before: null, after: 5 }] }]);
    const turned = {
      ...triangle,
      links: [link("a:eth0", "b:eth0", { quality: { b: { delay: 5 }, a: { loss: 0 } } }), ...triangle.links.slice(1)],
    };
    expect(plan(turned, host(shaped)).actions).toEqual([]);
  });

  it("keeps declared power, and otherwise starts only failed nodes", () => {
    const declared = lab([node("a", { start: true }), node("b", { start: false }), node("c")]);
    const down = host(declared, "stopped");
    expect(plan(declared, down).actions).toMatchObject([{ op: "start", key: "a", reason: { code: "wanted_running" } }]);
    expect(plan(declared, host(declared)).actions).toMatchObject([{ op: "stop", key: "b", disruption: "stop" }]);
    expect(splitByDisruption(plan(declared, host(declared))).now).toEqual([]);
    const failed = plan(declared, { ...down, nodes: down.nodes.map((one) => ({ ...one, power: "failed" })) });
    expect(steps(failed)).toEqual(["start:node:a", "start:node:c"]);
  });

  it("starts a node that failed again, with the change that fixes it, unless the intent wants it stopped or does not have it", () => {
    const before = lab([node("a", { exec: ["flase"] }), node("b"), node("c", { start: false }), node("d")]);
    const failed = host(before);
    const broken = { ...failed, nodes: failed.nodes.map((one) => (one.name === "d" ? one : { ...one, power: "failed" as const })) };
    const again = plan(before, broken);
    expect(again.actions).toMatchObject([
      { op: "start", key: "a", reason: { code: "failed", text: "failed, is started again" }, disruption: "none" },
      { op: "start", key: "b", changes: [{ field: "power", before: "failed", after: "running" }] },
    ]);
    expect(splitByDisruption(again).later).toEqual([]);
    const fixed = lab([node("a", { exec: ["false"] }), node("c", { start: false }), node("d")]);
    expect(steps(plan(fixed, broken))).toEqual(["update:node:a", "start:node:a"]);
    expect(steps(plan(fixed, broken, { prune: true }))).toEqual(["delete:node:b", "update:node:a", "start:node:a"]);
  });

  it("gives a startup-config an action of its own that shows its size, not its text", () => {
    const before = lab([node("a", { startupConfig: "hostname a\nline\n" })]);
    const planned = plan(lab([node("a", { startupConfig: "hostname b\nline\nmore\n" })]), host(before));
    expect(planned.actions).toMatchObject([{ id: "config:a", kind: "config", op: "update", disruption: "restart" }]);
    expect(steps(planned)).toEqual(["stop:node:a", "update:config:a", "start:node:a"]);
    expect(planned.text).toContain("startup-config  2 → 3 lines (+2 -1)");
  });

  it("blocks actions that the host cannot do, with every reason", () => {
    const desired = lab(
      [
        node("a", { template: "none" }),
        node("b", { image: "nope" }),
        node("c", { template: "bare" }),
        node("d", { ethernet: 1 }),
        node("e"),
      ],
      [link("d:eth1", "e:eth0"), link("d:eth0", "e:eth8"), link("e:Ethernet1", "lan")],
      { networks: [{ key: "lan", name: "lan", type: "cloud9" }] },
    );
    const planned = plan(desired, null);
    expect(planned.applicable).toBe(false);
    expect(planned.blocked.map(({ key, reason }) => `${key}: ${reason.code}`)).toEqual([
      "lan: unknown_network_type",
      "a: unknown_template",
      "b: unknown_image",
      "c: no_image",
      "d:eth0 -- e:eth8: unknown_interface",
      "d:eth1 -- e:eth0: unknown_interface",
      "e:Ethernet1 -- lan: unknown_interface",
    ]);
    expect(planned.text).toContain("did you mean eth1?");
    expect(planned.text).toContain(
      "! node b: template linux has no image nope; it has base, big; leave image out to take base (unknown_image)",
    );
  });

  it("blocks values that a template's rules do not allow, if it has rules", () => {
    const bounded: HostRules = {
      ...rules,
      templates: rules.templates.map((template) =>
        template.id === "linux"
          ? {
              ...template,
              values: {
                cpu: { type: "integer", min: 1, max: 4 },
                "attributes.forwarding": { type: "boolean" },
                "attributes.speed": { type: "number", min: 0.5 },
                "attributes.size": { type: "enum", options: ["s", "m"] },
                "attributes.words": { type: "string" },
              },
            }
          : template,
      ),
    };
    const wrong = lab([
      node("a", { cpu: 0.5 }),
      node("b", { attributes: { forwarding: "perhaps" } }),
      node("c", { attributes: { speed: 0 } }),
      node("d", { attributes: { size: "xl" } }),
      node("e", { attributes: { sized: "s" } }),
      node("f", { attributes: { speed: "fast" } }),
      node("g", { cpu: 4, ram: 7, attributes: { forwarding: "true", speed: "2.5", size: "m", words: 1 } }),
    ]);
    expect(plan(wrong, null, { rules: bounded }).blocked.map(({ key, reason }) => `${key}: ${reason.code}: ${reason.text}`)).toEqual([
      "a: bad_value: cpu is 0.5, not a whole number from 1 to 4",
      'b: bad_value: forwarding is "perhaps", not true or false',
      "c: bad_value: speed is 0, not a number of at least 0.5",
      'd: bad_value: size is "xl", not one of s, m',
      "e: unknown_attribute: template linux has no attribute sized; did you mean size? It has forwarding, size, speed, words",
      'f: bad_value: speed is "fast", not a number of at least 0.5',
    ]);
    const several = lab([node("a", { cpu: 9, image: "nope", attributes: { sized: "s", size: "xl" } })]);
    expect(plan(several, null, { rules: bounded }).blocked.map(({ key, reason }) => [key, reason.code, reason.field])).toEqual([
      ["a", "bad_value", "cpu"],
      ["a", "unknown_attribute", "attributes.sized"],
      ["a", "bad_value", "attributes.size"],
      ["a", "unknown_image", "image"],
    ]);
    // A change of an existing node is checked in the same way.
    const existing = host(lab(wrong.nodes.map(({ key }) => node(key))));
    const changed = plan(wrong, existing, { rules: bounded });
    expect(changed).toMatchObject({
      applicable: false,
      blocked: plan(wrong, null, { rules: bounded }).blocked.map(({ reason }) => ({ reason })),
    });
    expect(changed.blocked.map(({ reason }) => reason.field)).toEqual([
      "cpu",
      "attributes.forwarding",
      "attributes.speed",
      "attributes.size",
      "attributes.sized",
      "attributes.speed",
    ]);
    // A value that is on the host already and stays blocks nothing.
    const there = host(lab([node("a", { cpu: 0.5, attributes: { sized: "s" } })]), "stopped");
    const wanted = lab([node("a", { cpu: 0.5, attributes: { sized: "s", speed: 2 }, icon: "Server.png" })]);
    expect(plan(wanted, there, { rules: bounded }).blocked).toEqual([]);
  });

  it("blocks more interfaces than the template can have, and suggests the template that has the image", () => {
    const many = (ethernet: number) => lab([node("a", { ethernet })]);
    const { maxInterfaces } = rules.templates.find(({ id }) => id === "linux")!;
    for (const observed of [null, host(lab([node("a")]))]) {
      const blocked = plan(many(maxInterfaces + 1), observed).blocked;
      expect(blocked).toMatchObject([{ key: "a", reason: { code: "bad_value", field: "ethernet" } }]);
      expect(blocked[0]?.reason.text).toBe(`ethernet is ${maxInterfaces + 1}, not a whole number from 0 to ${maxInterfaces}`);
      expect(plan(many(maxInterfaces), observed).blocked).toEqual([]);
      const mistyped = plan(lab([node("a", { template: "swich" })]), observed).blocked;
      expect(mistyped[0]?.reason).toMatchObject({ code: "unknown_template", field: "template" });
      expect(mistyped[0]?.reason.text).toMatch(/^the host has no template swich; did you mean switch\? It also has (?!.*switch)/);
    }
  });

  it("names the lab's name only if it differs from the name that a new lab gets", () => {
    const poor: HostRules = { ...rules, unsupportedFields: ["lab.name"] };
    const desired = lab([node("a")]);
    const unsupported = (pathName: string, more: object = {}) => plan(desired, null, { rules: poor, pathName, ...more }).unsupported;
    expect(unsupported(desired.name)).toEqual([]);
    expect(unsupported("other")).toEqual(["campus.name: this host has no place for it"]);
    expect(plan(desired, host(desired), { rules: poor, replace: true }).unsupported).toEqual([]);
    expect(plan(desired, null, { pathName: desired.name }).actions[0]?.changes).toContainEqual({
      field: "name",
      before: null,
      after: "campus",
    });
  });

  it("lists the fields that the host cannot store and plans the rest without them", () => {
    const poor: HostRules = { ...rules, features: {}, unsupportedFields: ["labels", "texts", "network.icon", "mtu"] };
    const desired = lab(
      [node("a", { labels: { x: "y" } }), node("s", { template: "switch", image: "big", startupConfig: "x" })],
      [link("a:eth0", "s:eth0", { quality: { a: { delay: 1 } }, suspended: { a: true, b: false }, mtu: 9000 })],
      { networks: [{ key: "lan", name: "lan", type: "bridge", icon: "Cloud.png" }], texts: [{ text: "t", x: 0, y: 0 }] },
    );
    const planned = plan(desired, null, { rules: poor });
    expect(planned.applicable).toBe(false);
    expect(plan(desired, null, { rules: poor, allowUnsupported: true })).toEqual({ ...planned, applicable: true });
    expect(plan(desired, host(desired), { rules: poor, replace: true }).applicable).toBe(true);
    expect(planned.unsupported).toEqual([
      "a.labels: this host has no place for it",
      "a:eth0 -- s:eth0.mtu: this host has no place for it",
      "a:eth0 -- s:eth0.quality.a.delay: this host has no link quality",
      "a:eth0 -- s:eth0.suspended.a: this host cannot suspend links",
      "campus.texts: this host has no place for it",
      "lan.icon: this host has no place for it",
      "s.image: a switch has no image",
      "s.startup-config: template switch takes no startup-config",
    ]);
    expect(planned.summary.unsupported).toBe(8);
    const made = planned.operations.find(({ kind }) => kind === "link")?.step;
    expect(made).toMatchObject({ do: "create-link", link: { key: "a:eth0 -- s:eth0" } });
    expect(JSON.stringify(made)).not.toMatch(/quality|suspended|mtu/);
  });

  it("lists fields that a node's new template cannot store, also if the node had them before", () => {
    const had = { image: "big", startupConfig: "hostname a\n" };
    const planned = plan(lab([node("a", { ...had, template: "switch" })]), host(lab([node("a", had)])));
    expect(planned.blocked).toEqual([]);
    expect(planned.unsupported).toEqual(["a.image: a switch has no image", "a.startup-config: template switch takes no startup-config"]);
    const made = planned.operations.flatMap(({ step }) => (step.do === "create-node" ? step.node : []));
    expect(made).toHaveLength(1);
    expect(made[0]).not.toHaveProperty("startupConfig");
    expect(made[0]?.image).toBe("base");
  });

  it("lists the link quality that a host with plain quality cannot store, and applies the rest", () => {
    const plain: HostRules = { ...rules, plainQuality: true };
    const iol = template("iol", {
      ethFormat: "e{0}/{0-4}",
      ethernet: 4,
      serial: { prefix: "s", ports: 4, attribute: "serial" },
      attributes: { serial: 1 },
    });
    const desired = lab(
      [node("a"), node("b"), node("x", { template: "iol" }), node("y", { template: "iol" })],
      [
        link("a:eth0", "b:eth0", { quality: { a: { delay: 5, loss: 0.5 }, b: { jitter: 1.5 } } }),
        link("a:eth1", "lan", { quality: { a: { delay: 5 }, b: { delay: 6 } } }),
        link("b:eth1", "b:eth2", { quality: { a: { delay: 7 } } }),
        link("x:s1/0", "y:s1/0", { quality: { a: { delay: 8 } } }),
      ],
      { networks: [{ key: "lan", name: "lan", type: "bridge" }] },
    );
    const planned = plan(desired, null, { rules: { ...plain, templates: [...plain.templates, iol] } });
    expect(planned.blocked).toEqual([]);
    expect(planned.unsupported).toEqual([
      "a:eth0 -- b:eth0.quality.a.loss: this host keeps link quality in whole numbers",
      "a:eth0 -- b:eth0.quality.b.jitter: this host keeps link quality in whole numbers",
      "a:eth1 -- lan.quality.b.delay: this host has link quality at nodes only, not where a network is",
      "b:eth1 -- b:eth2.quality.a.delay: this host has no quality for a link from a node to itself",
      "x:s1/0 -- y:s1/0.quality.a.delay: this host has no quality for serial links",
    ]);
    const made = planned.operations.flatMap(({ step }) => (step.do === "create-link" ? [step.link.quality] : []));
    expect(made).toEqual([{ a: { delay: 5 } }, { a: { delay: 5 } }, undefined, undefined]);
  });

  it("is not applicable while the lab is locked", () => {
    const planned = plan({ ...triangle, description: "new" }, { ...host(triangle), locked: true, lock: 1 });
    expect(planned).toMatchObject({ applicable: false, blocked: [] });
    expect(planned.text).toContain("The lab is locked on the host");
  });

  it("destroys a lab by stop, wipe and delete, and keeps the disks without wipe", () => {
    const observed = host(lab([node("a"), node("b")]));
    expect(steps(plan(null, observed))).toEqual(["stop:node:a", "stop:node:b", "wipe:node:a", "wipe:node:b", "delete:lab:campus"]);
    const gentle = plan(null, observed, { wipe: false });
    expect(steps(gentle)).toEqual(["stop:node:a", "stop:node:b", "delete:lab:campus"]);
    expect(gentle.operations.at(-1)?.step).toEqual({ do: "delete-lab", wipe: false });
    expect(plan(null, null)).toMatchObject({ actions: [], operations: [] });
  });

  it("takes the template's default as the wanted value if the intent has none", () => {
    const observed = host(lab([node("a", { image: "big", attributes: { forwarding: true, odd: 1 } })]), "stopped");
    expect(plan(lab([node("a", { image: "default" })]), observed).actions[0]?.changes).toEqual([
      { field: "image", before: "big", after: "base" },
      { field: "attributes.forwarding", before: true, after: false },
      { field: "attributes.odd", before: 1, after: null },
    ]);
  });

  it("finds a renamed node by its record, by its name, or by its key", () => {
    const observed = host(lab([node("a")]));
    const renamed = lab([node("a", { name: "Core 1" })]);
    expect(plan(renamed, observed).actions[0]?.changes).toEqual([{ field: "name", before: "a", after: "Core 1" }]);
    expect(plan(lab([node("core", { name: "a" })]), observed).actions).toEqual([]);
    const moved = lab([node("other", { name: "Other" })]);
    const ids = { nodes: { other: "n-a" }, networks: {}, links: {} };
    expect(plan(moved, observed, { ids }).actions).toMatchObject([{ op: "update", native_id: "n-a" }]);
    const joined = joinIds(moved, observed, ids);
    expect(joinIds(moved, observed, joined)).toEqual(joined);
  });

  it("is empty for an unchanged lab of 5,000 nodes", () => {
    const nodes = Array.from({ length: 5000 }, (_, i) => node(`r${i}`));
    const ring = lab(
      nodes,
      nodes.map((_, i) => link(`r${i}:eth0`, `r${(i + 1) % 5000}:eth1`)),
    );
    const observed = host({ ...ring, nodes: [], links: [] });
    const full = {
      ...observed,
      nodes: nodes.map(({ key, ...rest }) => ({
        ...rest,
        id: `n-${key}`,
        type: "linux",
        ethernet: 2,
        power: "running" as const,
        consoleType: "telnet" as const,
        interfaces: [],
      })),
      links: ring.links.map(({ key, endpoints }) => ({
        id: `l-${key}`,
        endpoints: [nativeEnd(endpoints[0]), nativeEnd(endpoints[1])] as const,
      })),
    };
    const planned = plan(ring, full);
    expect(planned.actions).toEqual([]);
  });
});

describe("on a host that reports its free memory", () => {
  const free = (freeMemory: number): HostRules => ({
    ...rules,
    templates: [
      template("linux", { need: 2, fields: { ram: "live" } }),
      template("vm", { need: 512, fields: { ram: "restart", image: "recreate" } }),
    ],
    freeMemory,
  });
  const two = (vm: number, linux?: number) =>
    lab([
      node("v", { template: "vm", ram: vm }),
      node("h", linux === undefined ? {} : { ram: linux }),
      node("other", { ram: 8000, start: false }),
    ]);
  const blocked = (desired: Lab, observed: ObservedLab | null, freeMemory: number, more: Partial<PlanInput> = {}) =>
    plan(desired, observed, { rules: free(freeMemory), ...more }).blocked.map(({ reason, affects }) => [reason.code, reason.text, affects]);
  const running = (desired: Lab) => {
    const observed = host(desired);
    return { ...observed, nodes: observed.nodes.map((one) => (one.name === "other" ? { ...one, power: "stopped" as const } : one)) };
  };

  it("nodes start if they fit into the free memory, and not with a MiB more", () => {
    expect(blocked(two(1000), null, 1002)).toEqual([]);
    const text = "the nodes that would start need 1002 MiB of memory, 1001 MiB are free";
    expect(blocked(two(1000), null, 1001)).toEqual([["no_memory", text, ["h", "v"]]]);
  });

  it("a node restarts with more memory only if the difference fits, and always with less or as much", () => {
    expect(blocked(two(1500), running(two(1000)), 500)).toEqual([]);
    const text = "the nodes that would start or get more memory need 500 MiB more, 499 MiB are free";
    expect(blocked(two(1500), running(two(1000)), 499)).toEqual([["no_memory", text, ["v"]]]);
    expect(blocked(two(900), running(two(1000)), 0)).toEqual([]);
    expect(blocked(lab([{ ...two(1000).nodes[0]!, image: "big" }]), running(two(1000)), 0)).toEqual([]);
  });

  it("a node that stays up gets no more than is free, and a stopped node any amount", () => {
    const text = "the nodes that would start or get more memory need 300 MiB more, 200 MiB are free";
    expect(blocked(two(1000, 400), running(two(1000, 100)), 200)).toEqual([["no_memory", text, ["h"]]]);
    expect(blocked(two(1000, 400), running(two(1000, 100)), 300)).toEqual([]);
    expect(blocked(two(9000, 9000), host(two(1000, 100), "stopped"), 0)).toEqual([]);
    expect(blocked(lab([node("h", { ram: 100 })]), running(two(1000, 100)), 0, { prune: true })).toEqual([]);
  });
});
