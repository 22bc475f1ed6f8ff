import { afterEach, describe, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { joinIds } from "../engine/compare/join.ts";
import type { ObservedLab } from "../engine/model/observed.ts";
import { planLab } from "../engine/plan/plan-lab.ts";
import { readIntent } from "../intent/read/read.ts";
import { type Bench, createBench, failureOf, pair, three } from "./service.fixture.ts";

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

  test("is the host if a configuration was saved or removed there", async () => {
    const { ann, byHand } = await deployed(pair);
    const configured = pair.replace("r1: {template: frr}", 'r1: {template: frr, startup-config: "hostname r1\\n"}');
    await byHand(configured);
    expect(summaries((await ann.call("planProject", { yaml: pair })).actions)).toEqual(["delete config r1: host"]);
    const back = await ann.call("planProject", { yaml: pair, direction: "from_host" });
    expect(back.actions).toMatchObject([{ op: "create", kind: "config", origin: "host", reason: { code: "changed_on_host" } }]);
    const other = await deployed(configured);
    await other.byHand(pair);
    expect(summaries((await other.ann.call("planProject", { yaml: configured })).actions)).toEqual(["create config r1: host"]);
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

describe("a change by hand while an apply runs", () => {
  /** Applies `wanted`; at its last step, somebody changes the lab on the host to `hand`. */
  async function changedDuring(wanted: string, hand: string, from = three) {
    const { bench, ann, byHand } = await deployed(from);
    let runs = false;
    bench.step = async () => {
      if (runs) return;
      runs = true;
      await byHand(hand);
    };
    const { plan_identity } = await ann.call("planProject", { yaml: wanted, prune: true });
    await ann.call("reconcileProject", { yaml: wanted, prune: true, confirm: true, plan_identity: plan_identity! });
    expect(runs).toBe(true);
    return { bench, ann };
  }

  test("is marked in the next plan: changed, deleted and added parts", async () => {
    const wanted = three.replace("r2: {template: frr}", "r2: {template: frr, labels: {a: b}}");
    const hand = pair
      .replace("r1: {template: frr}", "r1: {template: frr, name: R-one}\n  h1: {template: linux}")
      .replace("links:", 'networks:\n  lan: {type: bridge}\nlinks:\n  - ["h1:eth1", lan]');
    const { ann } = await changedDuring(wanted, hand);
    const plan = await ann.call("planProject", { yaml: wanted, prune: true });
    expect(summaries(plan.actions).sort()).toEqual([
      "create link r2:eth2 -- r3:eth1: host",
      "create node r3: host",
      "delete link h1:eth1 -- lan: host",
      "delete network lan: host",
      "delete node h1: host",
      "update node r1: host",
    ]);
    expect(plan.text).toMatch(/name +R-one → r1 \(changed on the host\)/);
  });

  test("leaves the next change of the file what it is", async () => {
    const wanted = pair.replace("r2: {template: frr}", "r2: {template: frr, labels: {a: b}}");
    const { ann } = await changedDuring(wanted, pair.replace("r1: {template: frr}", "r1: {template: frr, name: R-one}"), pair);
    const next = wanted.replace("labels: {a: b}", "labels: {a: c}").replace("r1: {template: frr}", "r1: {template: frr, name: R-one}");
    expect(summaries((await ann.call("planProject", { yaml: next })).actions)).toEqual(["update node r2: intent"]);
  });

  test("is marked if the apply fails half way", async () => {
    const { bench, ann, byHand } = await deployed(pair);
    let runs = 0;
    bench.step = async (_lab, { step }) => {
      if (step.do === "start") throw new Failure("host_error", "no memory");
      runs += 1;
      if (runs === 1) await byHand(pair.replace("r1: {template: frr}", "r1: {template: frr, name: R-one}"));
    };
    await failureOf(ann.call("reconcileProject", { yaml: three }));
    bench.step = () => {};
    const plan = await ann.call("planProject", { yaml: three });
    expect(summaries(plan.actions)).toContain("update node r1: host");
  });

  test("an apply without a change by hand leaves no difference, also after a recreated node and a removed link", async () => {
    const wanted = `${pair.replace("r1: {template: frr}", "r1: {template: linux, labels: {a: b}}").replace("links:", "  r3: {template: frr}\nlinks:")}`;
    const { bench, ann } = await deployed(three);
    const { plan_identity } = await ann.call("planProject", { yaml: wanted, prune: true });
    await ann.call("reconcileProject", { yaml: wanted, prune: true, confirm: true, plan_identity: plan_identity! });
    const host = (await bench.host.resume!("ann"))!;
    const observed = await host.observe("/pair");
    const { applied } = bench.store.labs.get("/pair")!;
    const sorted = (lab: ObservedLab) => ({
      ...lab,
      nodes: lab.nodes.map((node) => ({ ...node, interfaces: [] })).sort((a, b) => (a.id < b.id ? -1 : 1)),
      links: [...lab.links].sort((a, b) => (a.id < b.id ? -1 : 1)),
    });
    expect(sorted(applied!)).toEqual(sorted(observed!));
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
