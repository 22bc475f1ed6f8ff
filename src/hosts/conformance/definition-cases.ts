import { expect } from "vitest";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab, LabNode } from "../../intent/lab/lab.ts";
import type { Cases } from "./bench.ts";
import { lab, link, node, smallLab, twoHosts } from "./labs.ts";
import { expectFailure, persisted, placedAs, progressOf } from "./tools.ts";

/** Labs are made, read, changed and removed. */
export const definitionCases: Cases = {
  "a lab is made as planned, its steps are reported in order, and the next plan is empty": async ({
    session,
    path,
    plan,
    observe,
    expectNothingToDo,
    power,
  }) => {
    const at = path();
    const planned = await plan(at, smallLab);
    const reports: string[] = [];
    const applied = await session.apply(at, planned.operations, progressOf({ step: (id, state) => reports.push(`${id} ${state}`) }));
    expect(reports).toEqual(planned.operations.flatMap(({ id }) => [`${id} running`, `${id} done`]));
    expect(Object.keys(applied.ids.nodes).sort()).toEqual(["h1", "p1", "r1", "sw"]);
    const observed = await observe(at);
    expect(applied.labId).toBe(observed.id);
    const named = !(await session.rules()).unsupportedFields.includes("lab.name");
    expect(observed).toMatchObject({ path: at, ...(named && { name: smallLab.name }), locked: false, lock: 0 });
    expect(joinIds(smallLab, observed)).toEqual(applied.ids);
    expect(await session.labs()).toContain(at);
    for (const { key } of smallLab.nodes) await power(at, key, ["running"]);
    await expectNothingToDo(at, smallLab);
  },

  "running the same steps again changes nothing": async ({ session, path, plan, run, observe, expectNothingToDo }) => {
    const at = path();
    const { operations } = await plan(at, smallLab);
    await run(at, operations);
    const before = persisted(await observe(at));
    await session.apply(at, operations, progressOf());
    expect(persisted(await observe(at))).toEqual(before);
    await expectNothingToDo(at, smallLab);
  },

  "what was written comes back as it was": async ({ session, path, make, observe }) => {
    const at = path();
    await make(at, smallLab);
    const rules = await session.rules();
    const observed = await observe(at);
    expect(placedAs(smallLab, readLab({ observed, base: smallLab, rules }))).toEqual(smallLab);
    const { actions } = planLab({ desired: readLab({ observed, rules }), observed, rules, prune: true, replace: false });
    expect(actions).toEqual([]);
  },

  "every field of a running node can change, and the node runs afterwards": async (bench) => {
    const at = bench.path();
    const rules = await bench.session.rules();
    const template = rules.templates.find(({ id }) => id === "linux");
    const attribute = Object.entries(template?.attributes ?? {}).find(([, value]) => typeof value === "boolean");
    const icons = await bench.session.icons();
    const icon = icons.find(({ name }) => name !== template?.icon)?.name;
    const changes: readonly Partial<LabNode>[] = [
      { name: "renamed" },
      ...(icon === undefined ? [] : [{ icon }]),
      { position: { x: 7, y: 8 } },
      { labels: { role: "edge" } },
      { env: { GREETING: "hello" } },
      { exec: ["true"] },
      { startupConfig: "true\n" },
      { ethernet: 5 },
      { cpu: (template?.cpu ?? 1) + 1 },
      { ram: template?.ram === 128 ? 192 : 128 },
      ...(attribute === undefined ? [] : [{ attributes: { [attribute[0]]: !attribute[1] } }]),
    ];
    let wanted = twoHosts;
    await bench.make(at, wanted);
    for (const change of changes) {
      const field = Object.keys(change)[0] ?? "";
      wanted = { ...wanted, nodes: wanted.nodes.map((one) => (one.key === "h1" ? { ...one, ...change } : one)) };
      const observed = await bench.observe(at);
      const planned = planLab({
        desired: wanted,
        observed,
        ids: joinIds(wanted, observed, joinIds(twoHosts, observed)),
        rules,
        prune: true,
        replace: false,
      });
      const word = field === "startupConfig" ? "startup-config" : field;
      const isReported = planned.actions.length > 0 || planned.unsupported.some((entry) => entry.startsWith(`h1.${word}`));
      expect(isReported, `${field} is planned or reported as unsupported`).toBe(true);
      expect(planned.blocked).toEqual([]);
      await bench.run(at, planned.operations);
      await bench.expectNothingToDo(at, wanted);
      const name = wanted.nodes.find(({ key }) => key === "h1")?.name ?? "";
      await bench.power(at, name, ["running"]);
    }
  },

  "nodes and networks come and go while others run": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const before = await bench.node(at, "h1");
    const bigger = lab({
      nodes: [...twoHosts.nodes, node("h3", "pc")],
      networks: [{ key: "lan", name: "office", type: "bridge" }],
      links: [...twoHosts.links, link("h3:eth0", "lan"), link("h1:eth1", "lan")],
    });
    await bench.make(at, bigger);
    await bench.power(at, "h3", ["running"]);
    expect((await bench.node(at, "h1")).id).toBe(before.id);

    const planned = await bench.make(at, twoHosts, { prune: false });
    expect(planned.summary.skipped_prune).toBe(4);
    await bench.power(at, "h3", ["running"]);
    await bench.make(at, twoHosts);
    expect((await bench.observe(at)).nodes.map(({ name }) => name).sort()).toEqual(["h1", "h2"]);
    expect((await bench.observe(at)).networks).toEqual([]);
    await bench.power(at, "h1", ["running"]);
  },

  "texts, filters, description and name of the lab change": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const wanted: Lab = {
      ...twoHosts,
      name: "renamed",
      description: "now with words",
      texts: [{ text: "two\nlines", x: -5, y: 0.5 }],
      trafficFilters: [{ name: "arp", match: "arp", color: "red", nodes: ["h1"] }],
    };
    await bench.make(at, wanted);
    await bench.make(at, twoHosts);
  },

  "destroy leaves nothing, and the lab can be made again": async (bench) => {
    const at = bench.path();
    for (const wipe of [true, false]) {
      await bench.make(at, smallLab);
      await bench.run(at, (await bench.plan(at, null, { wipe })).operations);
      expect(await bench.session.observe(at)).toBeNull();
      expect(await bench.session.labs()).not.toContain(at);
      await expectFailure(bench.session.status(at), "lab_not_found");
    }
    await bench.make(at, smallLab);
  },

  "a lab is replaced as a whole": async (bench) => {
    const at = bench.path();
    await bench.make(at, smallLab);
    const rules = await bench.session.rules();
    const observed = await bench.observe(at);
    const { operations } = planLab({ desired: twoHosts, observed, rules, prune: true, replace: true });
    await bench.run(at, operations);
    await bench.expectNothingToDo(at, twoHosts);
    for (const { key } of twoHosts.nodes) await bench.power(at, key, ["running"]);
  },
};
