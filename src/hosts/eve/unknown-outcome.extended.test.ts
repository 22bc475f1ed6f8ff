import { afterEach, describe, expect, it } from "vitest";
import type { Breakage } from "../../../test/fakes/eve/server.ts";
import type { Failure } from "../../contract/errors.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { type EveBench, eveBench, lab, link, node, operation, pair } from "./eve-bench.fixture.ts";

/** After each outcome of a call, the host is read before the call is sent again, and only changes that were done are reported as done. */
let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const editions = ["ce5", "ce6", "pro", "pnetlab"] as const;
const done: readonly Breakage[] = ["page after", "cut in the answer"];
const notDone: readonly Breakage[] = ["page before", "cut before"];

/** The relevant calls, in the form of each edition. */
const calls = {
  eve: {
    folder: /^POST \/api\/folders/,
    lab: /^POST \/api\/(import|labs)$/,
    description: /^PUT \/api\/labs\/x\/pair\.unl$/,
    node: /^POST .*\/nodes$/,
    remove: /^DELETE \/api\/labs/,
    start: /^GET .*\/nodes\/\d+\/start$/,
    stop: /^GET .*\/nodes\/\d+\/stop/,
  },
  pnetlab: {
    folder: /^POST \/api\/folders\/add/,
    lab: /^POST \/api\/import$/,
    description: /^POST \/api\/labs\/edit$/,
    node: /^POST .*\/nodes\/add$/,
    remove: /^DELETE \/api\/labs/,
    start: /^POST .*\/nodes\/start$/,
    stop: /^POST .*\/nodes\/stop$/,
  },
};

const three: Lab = lab({ ...pair, nodes: [...pair.nodes, node("pc3", "vpcs", { start: false })] });
const off: Lab = lab({ ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) });

describe.each(editions)("on %s, a call that does not end well", (edition) => {
  const of = calls[edition === "pnetlab" ? "pnetlab" : "eve"];
  const open = async () => {
    bench = await eveBench({ edition }, { timing: { pollMs: 10, patienceMs: 300, settleMs: 100 } });
    return bench;
  };
  const heard = (pattern: RegExp) => bench?.calls().filter((call) => pattern.test(call)) ?? [];
  const failure = async (work: Promise<unknown>): Promise<Failure> =>
    (await work.then(
      () => undefined,
      (error) => error,
    )) as Failure;

  it.each(done)("%s: what was done is done, and is not asked for again", async (how) => {
    const { fake, make } = await open();
    for (const [what, pattern] of [
      ["folder", of.folder],
      ["lab", of.lab],
    ] as const) {
      fake.breakNext(pattern, how);
      await make(`/${what}/pair`, off);
    }
    expect(heard(of.lab)).toHaveLength(2);
    await make("/x/pair", off);
    bench?.calls();
    fake.breakNext(of.description, how);
    await make("/x/pair", { ...off, description: "a" });
    expect(heard(of.description)).toHaveLength(1);
    fake.breakNext(of.node, how);
    await make("/x/pair", { ...three, description: "a", nodes: three.nodes.map((one) => ({ ...one, start: false })) });
    expect(heard(of.node).length).toBeLessThanOrEqual(1);
    const started = { ...three, description: "a" };
    fake.breakNext(of.start, how);
    await make("/x/pair", { ...started, nodes: started.nodes.map((one) => ({ ...one, start: one.key !== "pc3" })) });
    expect(heard(of.start)).toHaveLength(2);
    fake.breakNext(of.stop, how);
    await make("/x/pair", { ...started, nodes: started.nodes.map((one) => ({ ...one, start: false })) });
    expect(heard(of.stop)).toHaveLength(2);
    fake.breakNext(of.remove, how);
    await make("/x/pair", null);
    expect(heard(of.remove)).toHaveLength(1);
    expect(fake.labFile("/x/pair.unl")).toBeUndefined();
  });

  it.each(notDone)("%s: a change that was not done is reported as not done, and can be requested again", async (how) => {
    const { fake, make, plan, run } = await open();
    await make("/x/pair", off);
    bench?.calls();
    const wanted = { ...off, description: "a", texts: [{ text: "t", x: 1, y: 2 }] };
    const { operations } = await plan("/x/pair", wanted);
    fake.breakNext(of.description, how);
    const refused = await failure(run("/x/pair", wanted, operations));
    expect(refused.code).toBe("host_error");
    expect(refused.data).toMatchObject({ applied: [], failed: operations[0]?.id, remaining: operations.slice(1).map(({ id }) => id) });
    expect(heard(of.description)).toHaveLength(1);
    await make("/x/pair", wanted);

    fake.breakNext(of.start, how);
    bench?.calls();
    const steps = [operation({ do: "start", node: "pc1" }), operation({ do: "start", node: "pc2" })];
    if (edition === "ce5" || edition === "ce6") {
      // On Community a node without lock and process is not being started.
      await run("/x/pair", wanted, steps);
      expect(heard(of.start)).toHaveLength(3);
    } else {
      const halted = await failure(run("/x/pair", wanted, steps));
      expect(halted).toMatchObject({ code: "host_error", message: expect.stringMatching(/does not run after .*: try again$/) });
      const up = fake.running().map(({ name }) => name);
      expect(up).toHaveLength(1);
      expect(halted.data).toMatchObject({ applied: [`start:${up[0]}`], failed: up[0] === "pc1" ? "start:pc2" : "start:pc1" });
      expect(heard(of.start)).toHaveLength(2);
    }
    await make("/x/pair", { ...wanted, nodes: wanted.nodes.map((one) => ({ ...one, start: true })) });

    fake.breakNext(of.remove, how);
    const kept = await failure(run("/x/pair", null, (await plan("/x/pair", null)).operations));
    expect(["host_error", "host_unreachable"]).toContain(kept.code);
    expect(kept.message).toContain("did not make the change");
    expect(fake.labFile("/x/pair.unl")).toBeDefined();
    await make("/x/pair", null);
  });

  it("is reported with the progress of the change, if it is one of several steps", async () => {
    const { fake, make, plan, run, session } = await open();
    await make("/x/pair", off);
    const more = lab({
      ...off,
      nodes: [...off.nodes, node("pc3", "vpcs", { start: false }), node("pc4", "vpcs", { start: false })],
      links: [...off.links, link("pc3:eth0", "pc4:eth0")],
    });
    const { operations } = await plan("/x/pair", more);
    const single = edition === "pro" || edition === "pnetlab";
    fake.breakNext(single ? /(PUT .*\/interfaces|POST .*\/interfaces\/edit)$/ : /^POST \/api\/import$/, "page before");
    const halted = await failure(run("/x/pair", more, operations));
    const ids = operations.map(({ id }) => id);
    const count = single ? 2 : 0;
    // An import is done completely or not at all.
    const failed = single ? {} : { failures: ids.map((id) => ({ id })) };
    const remaining = single ? ids.slice(count + 1) : [];
    expect(halted.data).toMatchObject({ applied: ids.slice(0, count), failed: ids[count], remaining, ...failed });
    expect((await session.observe("/x/pair"))?.nodes).toHaveLength(single ? 4 : 2);
    await make("/x/pair", more);
  });
});

describe.each(["ce5", "ce6"] as const)("on %s, a call for a node that was not done", (edition) => {
  const open = async () => {
    const made = await eveBench({ edition }, { timing: { pollMs: 10, patienceMs: 300, settleMs: 100 } });
    bench = made;
    await made.make("/x/pair", pair);
    return made;
  };
  const stop = [operation({ do: "stop", node: "pc1", mode: 3 })];
  const stops = /^GET .*\/nodes\/\d+\/stop/;

  it.each(notDone)("%s: a stop is sent once more", async (how) => {
    const { fake, run, calls: sent } = await open();
    fake.breakNext(stops, how);
    sent();
    await run("/x/pair", pair, stop);
    expect(sent().filter((call) => stops.test(call))).toHaveLength(2);
    expect(fake.running().map(({ name }) => name)).toEqual(["pc2"]);
  });

  it.each(notDone)("%s twice: a stop or start fails with what happened, and works at the next try", async (how) => {
    const { fake, run } = await open();
    const reason =
      /^(the host broke over stop|.*connection|.*hang up|.*reset).*still runs after [\d.]+ s \(status 2\): labwright stop tries again$/;
    for (let times = 0; times < 2; times++) fake.breakNext(stops, how);
    await expect(run("/x/pair", pair, stop)).rejects.toMatchObject({ code: "host_error", message: expect.stringMatching(reason) });
    await run("/x/pair", pair, stop);
    const start = [operation({ do: "start", node: "pc1" })];
    for (let times = 0; times < 2; times++) fake.breakNext(/\/start$/, how);
    await expect(run("/x/pair", pair, start)).rejects.toMatchObject({ message: expect.stringMatching(/\(status 0\): try again$/) });
    await run("/x/pair", pair, start);
    expect(fake.running()).toHaveLength(2);
  });
});

describe.each(["ce5", "ce6", "pro"] as const)("on %s, a wipe", (edition) => {
  it.each([...done, ...notDone])("%s: is sent again, and is done", async (how) => {
    bench = await eveBench({ edition });
    const wipes = /^GET .*\/nodes\/\d+\/wipe/;
    await bench.make("/x/pair", off);
    bench.fake.breakNext(wipes, how);
    bench.calls();
    await bench.run("/x/pair", off, [operation({ do: "wipe", node: "pc1" })]);
    expect(bench.calls().filter((call) => wipes.test(call))).toHaveLength(2);
  });
});
