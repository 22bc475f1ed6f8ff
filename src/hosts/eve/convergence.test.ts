import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import type { HostRules } from "../../engine/model/plan.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import { canonicalLab } from "../../intent/lab/canonical.ts";
import { arbitraryLab } from "../../intent/lab/lab.arbitrary.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { type ConformanceDialect, speaking } from "../conformance/dialect.ts";
import type { HostSession, NativeIds } from "../host.ts";
import { type EveFixture, eveFixture } from "./eve-host.fixture.ts";

/** One template of each type that allows any number of links. iol counts interfaces differently. */
const dialect: ConformanceDialect = {
  linux: { template: "linux", attributes: { console: "telnet" } },
  pc: { template: "iol" },
  frr: { template: "vios" },
  switch: { template: "viosl2" },
};

/** The generated lab with the fields that EVE-NG can hold, and those that it reports as unsupported. */
function fit(lab: Lab): Lab {
  const nodes = lab.nodes.map(({ image: _image, icon: _icon, cpu: _cpu, ram, ethernet, ...node }) => ({
    ...node,
    name: node.key.replace(/[^A-Za-z0-9_-]/g, "-"),
    attributes: node.template === "pc" ? { nvram: 2048 } : {},
    ...(ram !== undefined && { ram: 512 }),
    ...(ethernet !== undefined && { ethernet: ethernet + 1 }),
  }));
  const networks = lab.networks.map(({ icon: _icon, ...network }) => ({
    ...network,
    name: network.key,
    type: network.type === "nat" ? "pnet1" : network.type,
  }));
  return canonicalLab({ ...lab, nodes, networks });
}

/** Number of runs that fits a test run. More runs with another seed (LABWRIGHT_SEED) find rare cases. */
const usual = { ce5: 2, ce6: 2, pro: 4, pnetlab: 2 };

const labs = arbitraryLab({ maxNodes: 4, maxLinks: 6 }).map(fit);

const hosts = [
  { edition: "ce5", notices: "visible" },
  { edition: "ce5", notices: "hidden" },
  { edition: "ce6", notices: "visible" },
  { edition: "pro", notices: "visible" },
  { edition: "pnetlab", notices: "hidden" },
] as const;

describe.each(hosts)("a generated lab on EVE-NG $edition, notices $notices", ({ edition, notices }) => {
  let fixture: EveFixture;
  let session: HostSession;
  let rules: HostRules;
  let count = 0;
  const cases = Number(process.env.LABWRIGHT_EVE_CASES ?? usual[edition]);
  beforeAll(async () => {
    fixture = await eveFixture({ edition, notices, templates: ["iol", "linux", "vios", "viosl2"] });
    session = await speaking(fixture.host, dialect).login("admin", "eve");
    rules = await session.rules();
  });
  afterAll(async () => {
    await session?.close();
    await fixture?.[Symbol.asyncDispose]();
    expect(fixture.fake.defects).toEqual([]);
  });

  it(
    "is there after its plan, becomes another with the next, comes back as it was, and goes",
    async () => {
      await fc.assert(
        fc.asyncProperty(labs, labs, fc.boolean(), async (before, after, prune) => {
          const path = `/lab-${++count}`;
          let ids: NativeIds = { nodes: {}, networks: {}, links: {} };
          const plan = async (desired: Lab | null, all: boolean) =>
            planLab({ desired, observed: await session.observe(path), rules, ids, prune: all, replace: false });
          const run = async (desired: Lab | null, all: boolean) => {
            const { operations, blocked } = await plan(desired, all);
            expect(blocked).toEqual([]);
            ({ ids } = await session.apply(path, operations, { ids: joinIds(desired, await session.observe(path), ids), step: () => {} }));
          };
          await run(before, true);
          expect((await plan(before, true)).actions).toEqual([]);
          await run(after, prune);
          expect((await plan(after, prune)).actions).toEqual([]);
          const observed = await session.observe(path);
          if (observed === null) throw new Error("the lab is gone");
          const captured = readLab({ observed, base: after, ids, rules });
          expect(planLab({ desired: captured, observed, rules, ids, prune: true, replace: false }).actions).toEqual([]);
          const afresh = readLab({ observed, rules });
          expect(planLab({ desired: afresh, observed, rules, prune: true, replace: false }).actions).toEqual([]);
          await run(null, true);
          expect(await session.observe(path)).toBeNull();
          expect(fixture.fake.running().filter(({ lab }) => lab === `${path}.unl`)).toEqual([]);
        }),
        { numRuns: cases, endOnFailure: true },
      );
    },
    60_000 + cases * 2_000,
  );
});
