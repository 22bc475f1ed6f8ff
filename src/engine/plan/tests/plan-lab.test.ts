import { describe, expect, it } from "vitest";
import { joinIds } from "../../compare/join.ts";
import type { HostRules } from "../../model/plan.ts";

import { host, lab, link, nativeEnd, node, plan, rules, steps, triangle } from "./plan.fixture.ts";

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

  it("gives a startup-config an action of its own that shows its size, not its text", () => {
    const before = lab([node("a", { startupConfig: "hostname a\nline\n" })]);
    const planned = plan(lab([node("a", { startupConfig: "hostname b\nline\nmore\n" })]), host(before));
    expect(planned.actions).toMatchObject([{ id: "config:a", kind: "config", op: "update", disruption: "restart" }]);
    expect(steps(planned)).toEqual(["stop:node:a", "update:config:a", "start:node:a"]);
    expect(planned.text).toContain("startup-config  2 → 3 lines (+2 -1)");
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
