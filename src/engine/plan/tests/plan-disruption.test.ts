import { describe, expect, it } from "vitest";
import type { Lab, LabLink } from "../../../intent/lab/lab.ts";
import { splitByDisruption } from "../split.ts";

import { host, lab, link, node, plan, rules, steps, template, triangle } from "./plan.fixture.ts";

describe("the disruption of running nodes, in the plan of a lab", () => {
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

  it("has no change if a router's saved configuration has its own lines in another part of the same section", () => {
    const routers = { ...rules, templates: [template("frr", { configLanguage: "frr" })] };
    const router = (startupConfig: string) => lab([node("r1", { template: "frr", startupConfig })]);
    const desired = router("interface eth1\n ip address 10.0.0.1/31\nexit\ninterface eth1\n ip ospf cost 33\nexit\n");
    const planned = (text: string) => steps(plan(desired, host(router(text)), { rules: routers }));
    expect(planned("interface eth1\n ip ospf cost 33\n ip address 10.0.0.1/31\nexit\n")).toEqual([]);
    expect(planned("interface eth1\n ip ospf cost 34\n ip address 10.0.0.1/31\nexit\n")).toContain("update:config:r1");
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

  it("destroys a lab by stop, wipe and delete, and keeps the disks without wipe", () => {
    const observed = host(lab([node("a"), node("b")]));
    expect(steps(plan(null, observed))).toEqual(["stop:node:a", "stop:node:b", "wipe:node:a", "wipe:node:b", "delete:lab:campus"]);
    const gentle = plan(null, observed, { wipe: false });
    expect(steps(gentle)).toEqual(["stop:node:a", "stop:node:b", "delete:lab:campus"]);
    expect(gentle.operations.at(-1)?.step).toEqual({ do: "delete-lab", wipe: false });
    expect(plan(null, null)).toMatchObject({ actions: [], operations: [] });
  });
});
