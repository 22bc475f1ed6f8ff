import { expect } from "vitest";
import type { Cases } from "./bench.ts";
import { node, twoHosts } from "./labs.ts";
import { expectFailure, operation, persisted, restarts } from "./tools.ts";

/** Changes that are refused, interrupted or fail. */
export const interruptedCases: Cases = {
  "a locked lab is not changed": async (bench) => {
    if (!(await bench.session.capabilities()).features.lock) return;
    const at = bench.path();
    await bench.make(at, twoHosts);
    await bench.session.setLock(at, true);
    const before = await bench.observe(at);
    expect(before.locked).toBe(true);
    expect(before.lock).not.toBe(0);
    expect((await bench.plan(at, { ...twoHosts, description: "x" })).applicable).toBe(false);
    await expectFailure(bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]), "lab_locked");
    expect(persisted(await bench.observe(at))).toEqual(persisted(before));
    await bench.power(at, "h1", ["running"]);
    await bench.session.setLock(at, false);
    expect((await bench.observe(at)).locked).toBe(false);
    await bench.run(at, [operation({ do: "stop", node: "h1", mode: 1 })]);
  },

  "a lock that appears stops a change between steps": async (bench) => {
    if (!(await bench.session.capabilities()).features.lock) return;
    const at = bench.path();
    await bench.make(at, twoHosts);
    const steps = restarts(12);
    const done: string[] = [];
    let locking: Promise<void> | undefined;
    const failure = await expectFailure(
      bench.run(at, steps, {
        step: (id, state) => {
          if (state === "done") done.push(id);
          locking ??= bench.session.setLock(at, true);
        },
      }),
      "lab_locked_mid_apply",
    );
    await locking;
    expect(done).toEqual(steps.slice(0, done.length).map(({ id }) => id));
    expect(done.length).toBeGreaterThan(0);
    expect(done.length).toBeLessThan(steps.length);
    expect(failure.data?.applied).toEqual(done);
  },

  "a change stops between steps when it is aborted": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const steps = restarts(6);
    const controller = new AbortController();
    const reports: string[] = [];
    const aborted = bench.run(at, steps, {
      signal: controller.signal,
      step: (id, state) => {
        reports.push(`${id} ${state}`);
        if (state === "done") controller.abort();
      },
    });
    await expect(aborted).rejects.toThrow();
    expect(reports.slice(0, 2)).toEqual([`${steps[0]?.id} running`, `${steps[0]?.id} done`]);
    expect(reports.length).toBeLessThan(2 * steps.length);
    await bench.make(at, { ...twoHosts, nodes: twoHosts.nodes.map((one) => ({ ...one, start: true })) });
  },

  "a step that the host refuses is a host error, and what was done before stays": async (bench) => {
    const at = bench.path();
    await bench.make(at, twoHosts);
    const wrong = [
      operation({ do: "update-lab", description: "still here" }),
      operation({ do: "stop", node: "h2", mode: 1 }),
      operation({ do: "create-node", node: node("x1", "no-such-template") }),
      operation({ do: "stop", node: "h1", mode: 1 }),
    ];
    const done: string[] = [];
    const failure = await expectFailure(
      bench.run(at, wrong, { step: (id, state) => (state === "done" ? done.push(id) : undefined) }),
      "host_error",
    );
    expect(failure.data?.host).toMatchObject({ message: expect.any(String) });
    expect(done).toEqual(wrong.slice(0, 2).map(({ id }) => id));
    const observed = await bench.observe(at);
    expect(observed.description).toBe("still here");
    expect(observed.nodes.map(({ name }) => name).sort()).toEqual(["h1", "h2"]);
    await bench.power(at, "h1", ["running"]);
    await expectFailure(bench.run(at, [operation({ do: "start", node: "nobody" })]), ["host_error", "node_not_found"]);
  },
};
