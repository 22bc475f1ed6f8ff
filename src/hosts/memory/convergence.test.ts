import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostRules, Operation, Plan } from "../../engine/model/plan.ts";
import { identityText } from "../../engine/plan/identity.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import { splitByDisruption } from "../../engine/plan/split.ts";
import { canonicalLab } from "../../intent/lab/canonical.ts";
import { arbitraryLab } from "../../intent/lab/lab.arbitrary.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { HostSession, NativeIds } from "../host.ts";
import { memoryHost } from "./memory-host.ts";
import { type MemoryTemplate, memoryTemplates } from "./memory-template.ts";

const path = "/lab";

/** Templates that take changes in every way there is, so that generated labs meet all of them. */
const trickyTemplates: readonly MemoryTemplate[] = memoryTemplates.map((template): MemoryTemplate => {
  if (template.id === "frr") {
    const fields = { ethernet: "restart", image: "restart", env: "live", attributes: "recreate", name: "restart" } as const;
    return { ...template, links: "restart", fields, cpu: 1, ram: 256, images: [...template.images, { name: "frr:9.1", default: false }] };
  }
  if (template.id === "pc") return { ...template, links: "recreate", maxInterfaces: 32, fields: { exec: "recreate", cpu: "live" } };
  return template;
});

/** The generated lab with images that the host has and interfaces enough for its links. */
function fit(lab: Lab): Lab {
  const images = new Map(trickyTemplates.map(({ id, images }) => [id, images.map(({ name }) => name)]));
  const nodes = lab.nodes.map((node) => {
    const { image, ethernet, ...rest } = node;
    return {
      ...rest,
      ...(image !== undefined && (image === "default" || images.get(node.template)?.includes(image)) && { image }),
      ...(ethernet !== undefined && { ethernet: ethernet + 1 }),
    };
  });
  return canonicalLab({ ...lab, nodes });
}

/** Without recorded ids only names identify nodes. */
function plainNames(lab: Lab): Lab {
  return {
    ...lab,
    nodes: lab.nodes.map((node) => ({ ...node, name: node.key })),
    networks: lab.networks.map((network) => ({ ...network, name: network.key })),
  };
}

const labs = arbitraryLab({ maxNodes: 5, maxLinks: 7, hasTunnels: true }).map(fit);
const runs = { numRuns: 25 };

interface World {
  readonly session: HostSession;
  readonly rules: HostRules;
  readonly ids: () => NativeIds;
  readonly observe: () => Promise<ObservedLab | null>;
  readonly plan: (desired: Lab | null, prune: boolean, replace?: boolean) => Promise<Plan>;
  readonly run: (operations: readonly Operation[], desired: Lab | null) => Promise<void>;
}

/** Keeps the ids that apply answers, as the service does: shown names need not be unique. */
async function world(): Promise<World> {
  let ids: NativeIds = { nodes: {}, networks: {}, links: {} };
  const session = await memoryHost({ templates: trickyTemplates }).login("admin", "admin");
  const known = await session.rules();
  // Generated labs have attributes of any name.
  const rules = { ...known, templates: known.templates.map(({ values: _values, ...template }) => template) };
  const observe = () => session.observe(path);
  return {
    session,
    rules,
    ids: () => ids,
    observe,
    plan: async (desired, prune, replace = false) => planLab({ desired, observed: await observe(), rules, ids, prune, replace }),
    run: async (operations, desired) => {
      const joined = joinIds(desired, await observe(), ids);
      ({ ids } = await session.apply(path, operations, { ids: joined, step: () => {} }));
    },
  };
}

async function deployed(lab: Lab): Promise<World> {
  const here = await world();
  const plan = await here.plan(lab, true);
  expect(plan.blocked).toEqual([]);
  await here.run(plan.operations, lab);
  return here;
}

async function expectConverged(here: World, lab: Lab, prune = true): Promise<void> {
  const plan = await here.plan(lab, prune);
  expect({ actions: plan.actions, operations: plan.operations, blocked: plan.blocked }).toEqual({
    actions: [],
    operations: [],
    blocked: [],
  });
}

describe("a generated lab on the memory host", () => {
  it("is there after its plan was applied to an empty host: the next plan is empty", async () => {
    await fc.assert(
      fc.asyncProperty(labs, async (lab) => expectConverged(await deployed(lab), lab)),
      runs,
    );
  });

  it("comes back from the host as it was written", async () => {
    await fc.assert(
      fc.asyncProperty(labs, async (lab) => {
        const here = await deployed(lab);
        const observed = await here.observe();
        if (observed === null) throw new Error("the lab is gone");
        expect(canonicalLab(readLab({ observed, base: lab, ids: here.ids(), rules: here.rules }))).toEqual(lab);
        const afresh = readLab({ observed, rules: here.rules });
        expect(planLab({ desired: afresh, observed, rules: here.rules, prune: true, replace: false }).actions).toEqual([]);
      }),
      runs,
    );
  });

  it("becomes another lab with prune, in one plan", async () => {
    await fc.assert(
      fc.asyncProperty(labs, labs, async (before, after) => {
        const here = await deployed(before);
        const plan = await here.plan(after, true);
        expect(plan.blocked).toEqual([]);
        await here.run(plan.operations, after);
        await expectConverged(here, after);
        const observed = await here.observe();
        if (observed === null) throw new Error("the lab is gone");
        await expectConverged(here, readLab({ observed, base: after, ids: here.ids(), rules: here.rules }));
        const afresh = readLab({ observed, rules: here.rules });
        expect(planLab({ desired: afresh, observed, rules: here.rules, prune: true, replace: false }).actions).toEqual([]);
      }),
      runs,
    );
  });

  it("is the same when a crash makes all steps run again with the ids of before", async () => {
    await fc.assert(
      fc.asyncProperty(labs.map(plainNames), labs.map(plainNames), async (before, after) => {
        const here = await deployed(before);
        const plan = await here.plan(after, true);
        const ids = joinIds(after, await here.observe());
        for (let times = 0; times < 2; times++) await here.session.apply(path, plan.operations, { ids, step: () => {} });
        const next = planLab({ desired: after, observed: await here.observe(), rules: here.rules, prune: true, replace: false });
        expect(next.actions).toEqual([]);
      }),
      runs,
    );
  });

  it("becomes another lab without prune, and what only the host has stays", async () => {
    await fc.assert(
      fc.asyncProperty(labs, labs, async (before, after) => {
        const here = await deployed(before);
        const plan = await here.plan(after, false);
        await here.run(plan.operations, after);
        await expectConverged(here, after, false);
        const kept = before.nodes.filter(
          ({ key, name }) => !after.nodes.some((node) => node.key === key || node.name === name || node.key === name),
        );
        const names = (await here.observe())?.nodes.map(({ name }) => name);
        for (const { name } of kept) expect(names).toContain(name);
      }),
      runs,
    );
  });

  it("changes without confirmation only in ways that stop no node, and in one go; the rest follows with it", async () => {
    await fc.assert(
      fc.asyncProperty(labs, labs, fc.boolean(), async (before, after, prune) => {
        const here = await deployed(before);
        const plan = await here.plan(after, prune);
        expect(plan.blocked).toEqual([]);
        const { now, later } = splitByDisruption(plan);
        const running = (await here.observe())?.nodes.filter(({ power }) => power === "running").map(({ id }) => id);
        expect(now.filter(({ op }) => op === "stop" || op === "wipe")).toEqual([]);
        await here.run(now, after);
        const stillRunning = (await here.observe())?.nodes.filter(({ power }) => power === "running").map(({ id }) => id);
        expect(stillRunning).toEqual(expect.arrayContaining(running ?? []));

        const rest = await here.plan(after, prune);
        expect(splitByDisruption(rest).now.map(({ id }) => id)).toEqual([]);
        expect(rest.operations.length > 0).toBe(later.length > 0);
        await here.run(rest.operations, after);
        await expectConverged(here, after, prune);
      }),
      runs,
    );
  });

  it("has the same plan and the same identity for every order of keys, and another identity after any change", async () => {
    await fc.assert(
      fc.asyncProperty(labs, labs, async (before, after) => {
        const here = await deployed(before);
        const input = { desired: after, observed: await here.observe(), rules: here.rules, prune: true, replace: false };
        const turned = { ...input, desired: turn(input.desired), observed: turn(input.observed), rules: turn(input.rules) };
        expect(planLab(turned)).toEqual(planLab(input));
        for (const direction of ["to_host", "from_host"] as const) {
          expect(identityText(turned, direction)).toBe(identityText(input, direction));
          expect(identityText({ ...input, desired: { ...after, description: `${after.description}!` } }, direction)).not.toBe(
            identityText(input, direction),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it("leaves nothing after destroy, and can be replaced as a whole", async () => {
    await fc.assert(
      fc.asyncProperty(labs, labs, async (before, after) => {
        const here = await deployed(before);
        await here.run((await here.plan(after, false, true)).operations, after);
        await expectConverged(here, after);
        await here.run((await here.plan(null, false)).operations, null);
        expect(await here.observe()).toBeNull();
        expect(await here.session.labs()).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});

/** The same data with every object's keys the other way round. */
function turn<T>(value: T): T {
  if (Array.isArray(value)) return value.map(turn) as T;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, one]) => [key, turn(one)]),
  ) as T;
}
