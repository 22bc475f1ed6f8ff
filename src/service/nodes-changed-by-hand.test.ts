import { afterEach, describe, expect, test } from "vitest";
import type { EventData } from "../contract/schemas/observe.ts";
import { joinIds } from "../engine/compare/join.ts";
import { planLab } from "../engine/plan/plan-lab.ts";
import { readIntent } from "../intent/read/read.ts";
import { type Bench, type Client, createBench, failureOf, pair, until } from "./service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

/** On the host, somebody has added a second node and a second network with names that exist, and has renamed r2. */
const onHost = `name: pair
nodes:
  r1: {template: frr}
  added: {template: frr, name: r1}
  r2: {template: frr, name: printer}
networks:
  lan: {type: bridge}
  other: {type: bridge, name: lan}
links:
  - ["r1:eth1", "r2:eth1"]
  - ["added:eth1", "r2:eth2"]
  - ["added:eth2", "other"]
`;
const intended = `${pair.replace("links:", "networks:\n  lan: {type: bridge}\nlinks:")}`;

async function changedByHand(): Promise<{ readonly bench: Bench; readonly ann: Client; readonly change: () => Promise<void> }> {
  const bench = createBench({ events: { intervalMs: 10, heartbeatMs: 10 } });
  benches.push(bench);
  const ann = await bench.login();
  await ann.call("deployProject", { yaml: intended });
  const host = (await bench.host.resume!("ann"))!;
  const change = async () => {
    const desired = readIntent(onHost).lab!;
    const observed = await host.observe("/pair");
    const ids = joinIds(desired, observed, bench.store.labs.get("/pair")!.ids);
    const { operations } = planLab({ desired, observed, rules: await host.rules(), ids, prune: true, replace: false });
    const made = operations.filter(({ step }) => step.do !== "start");
    await host.apply("/pair", made, { ids, step: () => {} });
  };
  return { bench, ann, change };
}

const lab = "/pair";
const keys = (rows: readonly { unique_key?: string; node?: string | null; name: string }[] | undefined) =>
  (rows ?? []).map(({ unique_key, node, name }) => [unique_key, node, name]).sort();
const expected = [
  ["r1", "r1", "r1"],
  ["r1-2", null, "r1"],
  ["r2", "r2", "printer"],
];

describe("nodes that were added or renamed on the host", () => {
  test("have the same unique key in status, inspect, consoles, links, plans and pulls", async () => {
    const { ann, change } = await changedByHand();
    await change();
    for (const selector of [{ lab }, { yaml: intended }]) {
      expect(keys((await ann.call("getProjectStatus", selector)).live?.nodes)).toEqual(expected);
      const inspection = await ann.call("inspectProject", { ...selector, refresh: true });
      expect(keys(inspection.nodes)).toEqual(expected);
      expect(inspection.networks.map(({ key, unique_key }) => [key, unique_key])).toEqual([
        ["lan", "lan"],
        [null, "lan-2"],
      ]);
      expect(inspection.links.map(({ key }) => key)).toEqual(["lan-2 -- r1-2:eth2", "r1-2:eth1 -- r2:eth2", "r1:eth1 -- r2:eth1"]);
      expect(keys((await ann.call("listProjectConsoles", selector)).consoles)).toEqual(expected);
    }
    const plan = await ann.call("planProject", { yaml: intended, prune: true });
    expect(plan.actions?.filter(({ op, kind }) => op === "delete" && kind === "node").map(({ key }) => key)).toEqual(["r1-2"]);
    const pulled = await ann.call("reconcileProject", { yaml: intended, direction: "from_host", peek: true });
    const { yaml } = pulled as { readonly yaml: string };
    expect(readIntent(yaml).lab?.nodes.map(({ key, name }) => [key, name])).toEqual([
      ["r1", "r1"],
      ["r1-2", "r1"],
      ["r2", "printer"],
    ]);
  });

  test("are selected by that key in every read and command", async () => {
    const { ann, change } = await changedByHand();
    await change();
    const node = "r1-2";
    expect(await ann.call("execProject", { lab, node, action: "start" })).toMatchObject({ started: 1, invalid: 0 });
    const { live } = await ann.call("getProjectStatus", { lab, node });
    expect(live?.nodes).toMatchObject([{ unique_key: node, node: null, name: "r1", status: "running" }]);
    expect(live?.joined).toBe(false);
    const inspection = await ann.call("inspectProject", { lab, node });
    expect(keys(inspection.nodes)).toEqual([[node, null, "r1"]]);
    expect(inspection.networks.map(({ unique_key }) => unique_key)).toEqual(["lan-2"]);
    expect(keys((await ann.call("listProjectConsoles", { lab, node })).consoles)).toEqual([[node, null, "r1"]]);
    expect(await ann.call("execConsole", { lab, node, command: "echo here" })).toMatchObject({ node, name: "r1" });
    expect(await ann.call("attachConsole", { lab, node })).toMatchObject({ node });
    const endpoints = ["r1-2:eth1", "r2:eth2"] as [string, string];
    expect(await ann.call("applyLinkQuality", { lab, endpoints, a: { delay: 5 } })).toMatchObject({ link: "r1-2:eth1 -- r2:eth2" });
    expect(await ann.call("execProject", { lab, node, action: "stop" })).toMatchObject({ stopped: 1, invalid: 0 });
    const powers = (await ann.call("getProjectStatus", { lab })).live?.nodes?.map(({ unique_key, status }) => [unique_key, status]);
    expect(powers?.sort()).toEqual([
      ["r1", "running"],
      ["r1-2", "stopped"],
      ["r2", "running"],
    ]);
  });

  test("keep that key after the lab is changed", async () => {
    const { bench, ann, change } = await changedByHand();
    await change();
    await ann.call("reconcileProject", { yaml: intended.replace("# two", "# 2") });
    const { ids } = bench.store.labs.get(lab)!;
    const rows = (await ann.call("getProjectStatus", { lab })).live?.nodes ?? [];
    expect(Object.fromEntries(rows.map(({ unique_key, id }) => [unique_key, id]))).toEqual({ ...ids.nodes });
  });

  test("have that key in events, also when they are deleted", async () => {
    const { bench, ann, change } = await changedByHand();
    const seen: EventData[] = [];
    const events = (await ann.get("events", {}, { lab, types: "node" })) as AsyncIterable<EventData>;
    let isWatching = false;
    void (async () => {
      for await (const event of events) {
        isWatching = true;
        if (event.type === "node") seen.push(event);
      }
    })();
    await until(() => isWatching);
    await change();
    const of = (key: string) => seen.map(({ data }) => data as Record<string, unknown>).filter(({ unique_key }) => unique_key === key);
    // Lets cached reads expire.
    const later = (check: () => boolean) =>
      until(() => {
        bench.time.now += 1_000;
        return check();
      });
    await later(() => of("r1-2").length > 0 && of("r2").length > 0);
    expect(of("r1-2")[0]).toMatchObject({ node: null, name: "r1", status: "stopped" });
    expect(of("r2").at(-1)).toMatchObject({ node: "r2", name: "printer" });
    expect(of("r1")).toEqual([]);
    const plan = await ann.call("planProject", { yaml: intended, prune: true });
    await ann.call("reconcileProject", { yaml: intended, prune: true, confirm: true, plan_identity: plan.plan_identity! });
    await later(() => of("r1-2").some(({ removed }) => removed === true));
  });

  test("are not found by their name on the host, and the refusal contains their key", async () => {
    const { ann, change } = await changedByHand();
    await change();
    const node = "printer";
    const calls = [
      ann.call("getProjectStatus", { lab, node }),
      ann.call("inspectProject", { lab, node }),
      ann.call("listProjectConsoles", { lab, node }),
      ann.call("execProject", { lab, node, action: "start" }),
      ann.call("execConsole", { lab, node, command: "id" }),
      ann.call("attachConsole", { lab, node }),
      ann.call("runConsole", { lab, node, steps: [] }),
    ];
    for (const call of calls) {
      const failure = await failureOf(call);
      expect([failure.code, failure.message, failure.data?.["hint"]]).toEqual([
        "node_not_found",
        "/pair has no node printer: printer is the name of r2 on the host",
        "use --node r2",
      ]);
    }
    const many = await ann.call("execProject", { lab, nodes: [node, "nobody"], action: "start" });
    expect((many as { nodes?: readonly { message?: string }[] }).nodes?.map(({ message }) => message)).toEqual([
      "/pair has no node printer: printer is the name of r2 on the host",
      "/pair has no node nobody",
    ]);
    const link = await failureOf(ann.call("applyLinkQuality", { lab, endpoints: ["printer:eth1", "r1:eth1"], a: { delay: 5 } }));
    expect([link.code, link.data?.["hint"]]).toEqual(["link_not_found", "printer is the name of r2 on the host: use r2:eth1"]);
  });
});
