import { afterEach, describe, expect, test } from "vitest";
import { joinIds } from "../../engine/compare/join.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import { type Bench, type Client, createBench, failureOf } from "../service.fixture.ts";
import { definitionDigest } from "./import-project.ts";

const base = `name: pair
nodes:
  r1: {template: frr, startup-config: r1.conf}
  r2: {template: frr}
links:
  - ["r1:eth1", "r2:eth1"]
`;
const files = { "r1.conf": "hostname r1\n", "unused.txt": "a" };
/** Needs r1 to stop. */
const wanted = base.replace("r1: {template: frr,", "r1: {template: frr, env: {A: b},");

interface Stage {
  readonly bench: Bench;
  readonly ann: Client;
  /** Makes the host hold this instead, past the service. */
  readonly byHand: (yaml: string) => Promise<void>;
}

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

async function stage(): Promise<Stage> {
  const bench = createBench();
  benches.push(bench);
  const ann = await bench.login();
  await ann.call("deployProject", { yaml: base, files });
  const host = (await bench.host.resume!("ann"))!;
  const byHand = async (yaml: string) => {
    const desired = readIntent(yaml, files).lab!;
    const observed = await host.observe("/pair");
    const ids = joinIds(desired, observed, bench.store.labs.get("/pair")!.ids);
    const plan = planLab({ desired, observed, rules: await host.rules(), ids, prune: true, replace: false });
    await host.apply("/pair", plan.operations, { ids, step: () => {} });
  };
  return { bench, ann, byHand };
}

const confirm = (ann: Client, plan_identity: string, more: object = {}) =>
  ann.call("reconcileProject", { yaml: wanted, files, confirm: true, plan_identity, ...more });

const power =
  (action: string) =>
  async ({ bench }: Stage) => {
    // Past the service, which would forget the plan by itself.
    const host = (await bench.host.resume!("ann"))!;
    const { ids } = bench.store.labs.get("/pair")!;
    const step = action === "stop" ? ({ do: "stop", node: "r1", mode: 1 } as const) : ({ do: "start", node: "r1" } as const);
    const operation = {
      id: "x",
      of: "x",
      op: step.do,
      kind: "node",
      key: "r1",
      reason: { code: "requested", text: "x" },
      disruption: "stop",
    } as const;
    await host.apply("/pair", [{ ...operation, affects: [], changes: [], prune: false, step }], { ids, step: () => {} });
  };

describe("a plan identity is stale, and nothing is done, after", () => {
  test.each<[string, (stage: Stage) => Promise<unknown>, object]>([
    ["an edit of the intent", async () => {}, { yaml: wanted.replace("A: b", "A: c") }],
    ["an edit of a file that the intent names", async () => {}, { files: { ...files, "r1.conf": "hostname other\n" } }],
    ["an edit of any file", async () => {}, { files: { ...files, "unused.txt": "b" } }],
    ["prune", async () => {}, { prune: true }],
    [
      "a change of the host's definition by hand",
      ({ byHand }) => byHand(base.replace("r2: {template: frr}", "r2: {template: frr, labels: {by: hand}}")),
      {},
    ],
    ["a node made by hand", ({ byHand }) => byHand(base.replace("links:", "  x9: {template: pc}\nlinks:")), {}],
    ["the lock", async ({ bench }) => (await bench.host.resume!("ann"))!.setLock("/pair", true), {}],
    ["a node that it stops has been stopped", power("stop"), {}],
    ["a newer plan of this direction", ({ ann }) => ann.call("planProject", { yaml: base, files }), {}],
    ["a change of the lab", ({ ann }) => ann.call("reconcileProject", { yaml: `description: new\n${base}`, files }), {}],
  ])("%s", async (_name, change, more) => {
    const made = await stage();
    const { plan_identity } = await made.ann.call("planProject", { yaml: wanted, files });
    await change(made);
    const host = (await made.bench.host.resume!("ann"))!;
    const before = await host.observe("/pair");
    expect((await failureOf(confirm(made.ann, plan_identity!, more))).code).toBe("plan_stale");
    const after = await host.observe("/pair");
    expect(definitionDigest(after!)).toBe(definitionDigest(before!));
    expect(after!.nodes.map(({ power }) => power)).toEqual(before!.nodes.map(({ power }) => power));
  });
});

test("an identity of a plan with replace is not one of a plan without", async () => {
  const { ann } = await stage();
  const { plan_identity } = await ann.call("planProject", { yaml: wanted, files, replace: true });
  expect((await failureOf(confirm(ann, plan_identity!))).code).toBe("plan_stale");
});

test("plan accepts an identity too, and only the identity of the last plan of its direction", async () => {
  const { ann } = await stage();
  const first = await ann.call("planProject", { yaml: wanted, files });
  expect(await ann.call("planProject", { yaml: wanted, files, plan_identity: first.plan_identity! })).toEqual(first);
  await ann.call("planProject", { yaml: base, files });
  expect((await failureOf(ann.call("planProject", { yaml: wanted, files, plan_identity: first.plan_identity! }))).code).toBe("plan_stale");
  const back = await ann.call("planProject", { yaml: wanted, files, direction: "from_host" });
  expect(back.plan_identity).not.toBe(first.plan_identity);
  expect((await failureOf(ann.call("planProject", { yaml: wanted, files, plan_identity: back.plan_identity! }))).code).toBe("plan_stale");
  expect((await failureOf(ann.call("planProject", { yaml: wanted, files, plan_identity: "" }))).code).toBe("plan_stale");
});

test("an identity stays good while nothing that matters changes: key order, comments, another direction's plan, waiting", async () => {
  const { bench, ann } = await stage();
  const { plan_identity } = await ann.call("planProject", { yaml: wanted, files });
  await ann.call("planProject", { yaml: wanted, files, direction: "from_host" });
  await ann.call("inspectProject", { lab: "/pair", refresh: true });
  bench.time.now += 3_600_000;
  const same = `# said otherwise\n${wanted.replace("template: frr, env: {A: b}, startup-config: r1.conf", "startup-config: r1.conf, env: {A: b}, template: frr")}`;
  expect(await confirm(ann, plan_identity!, { yaml: same })).toMatchObject({ status: "applied" });
});

test("a mismatch is reported before any other problem, also without confirm", async () => {
  const { ann } = await stage();
  const call = ann.call("reconcileProject", { yaml: wanted, files, plan_identity: "0".repeat(64) });
  expect((await failureOf(call)).code).toBe("plan_stale");
});
