import { afterEach, describe, expect, test } from "vitest";
import { joinIds } from "../engine/compare/join.ts";
import { planLab } from "../engine/plan/plan-lab.ts";
import { readIntent } from "../intent/read/read.ts";
import { type Bench, createBench, pair, three } from "./service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

/** A lab that is deployed, and a way to change it on the host behind the service's back. */
async function deployed(yaml: string) {
  const bench = createBench();
  benches.push(bench);
  const ann = await bench.login();
  await ann.call("deployProject", { yaml });
  const host = (await bench.host.resume!("ann"))!;
  const byHand = async (wanted: string) => {
    const desired = readIntent(wanted).lab!;
    const observed = await host.observe("/pair");
    const ids = joinIds(desired, observed, bench.store.labs.get("/pair")!.ids);
    const plan = planLab({ desired, observed, rules: await host.rules(), ids, prune: true, replace: false });
    await host.apply("/pair", plan.operations, { ids, step: () => {} });
  };
  return { bench, ann, byHand };
}

const summaries = (actions: readonly { op: string; kind: string; key: string; origin?: string }[] | undefined) =>
  (actions ?? []).map(({ op, kind, key, origin }) => `${op} ${kind} ${key}: ${origin}`);

describe("the origin of a difference since the last apply", () => {
  test("is shown for additions, changes and removals on either side", async () => {
    const { ann, byHand } = await deployed(three);
    // On the host: r3 gone with its link, h1 there, r1 has another name.
    await byHand(pair.replace("r1: {template: frr}", "r1: {template: frr, name: R-one}\n  h1: {template: linux}"));
    // In the file: r2 has a label, h2 is new.
    const wanted = three.replace("r2: {template: frr}", "r2: {template: frr, labels: {a: b}}\n  h2: {template: linux}");
    const plan = await ann.call("planProject", { yaml: wanted, prune: true });
    expect(summaries(plan.actions).sort()).toEqual([
      "create link r2:eth2 -- r3:eth1: host",
      "create node h2: intent",
      "create node r3: host",
      "delete node h1: host",
      "update node r1: host",
      "update node r2: intent",
    ]);
    expect(plan.actions?.find(({ key }) => key === "r3")?.reason.code).toBe("changed_on_host");
    expect(plan.actions?.find(({ key }) => key === "h2")?.reason.code).toBe("changed_in_file");
    expect(plan.text).toMatch(/- node h1.*changed on the host/);
    expect(plan.text).toMatch(/\+ node h2.*\(changed in the file\)/);
    expect(plan.text).toMatch(/name +R-one → r1 \(changed on the host\)/);
  });

  test("is both where both changed the same thing to different values, and nothing where they agree", async () => {
    const { ann, byHand } = await deployed(pair);
    await byHand(pair.replace("r1: {template: frr}", "r1: {template: frr, name: by-hand}"));
    const other = pair.replace("r1: {template: frr}", "r1: {template: frr, name: by-file}");
    const plan = await ann.call("planProject", { yaml: other });
    expect(plan.actions).toMatchObject([
      { origin: "both", reason: { code: "changed_in_both" }, changes: [{ field: "name", origin: "both" }] },
    ]);
    const back = await ann.call("planProject", { yaml: other, direction: "from_host" });
    expect(back.actions).toMatchObject([{ origin: "both", reason: { code: "changed_in_both" } }]);
    expect(back.text).toContain("(changed in both)");
    const same = pair.replace("r1: {template: frr}", "r1: {template: frr, name: by-hand}");
    expect((await ann.call("planProject", { yaml: same })).actions).toEqual([]);
  });

  test("is the intent if the host is unchanged, also for changes that wait for a confirmation", async () => {
    const { ann } = await deployed(pair);
    const wanted = three.replace("r1: {template: frr}", "r1: {template: frr, env: {A: b}}");
    expect((await ann.call("reconcileProject", { yaml: wanted })) as object).toMatchObject({ status: "pending_stop" });
    const plan = await ann.call("planProject", { yaml: wanted });
    expect(summaries(plan.actions)).toEqual(["update node r1: intent"]);
    expect(plan.text).not.toContain("(changed");
  });

  test("is not known for a lab that was never applied", async () => {
    const bench = createBench();
    benches.push(bench);
    const plan = await (await bench.login()).call("planProject", { yaml: pair });
    expect(plan.actions?.every((action) => action.origin === undefined && action.reason.code !== "changed_in_file")).toBe(true);
  });

  test("a link moved on the host is the host's on both of its places", async () => {
    const { ann, byHand } = await deployed(pair);
    await byHand(pair.replace('"r2:eth1"', '"r2:eth3"'));
    const plan = await ann.call("planProject", { yaml: pair, prune: true });
    expect(
      summaries(plan.actions)
        .filter((line) => line.includes(" link "))
        .sort(),
    ).toEqual(["create link r1:eth1 -- r2:eth1: host", "delete link r1:eth1 -- r2:eth3: host"]);
  });
});

test("actions contain their line of the intent", async () => {
  const bench = createBench();
  benches.push(bench);
  const plan = await (await bench.login()).call("planProject", { yaml: pair });
  const lines = Object.fromEntries((plan.actions ?? []).map(({ kind, key, line }) => [`${kind} ${key}`, line]));
  expect(lines).toMatchObject({ "node r1": 4, "node r2": 5, "link r1:eth1 -- r2:eth1": 7 });
  expect(plan.text).toContain("+ node r1 (line 4)");
});
