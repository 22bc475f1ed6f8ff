import { describe, expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { type Candidate, Readiness } from "./readiness.ts";

type Exec = Parameters<Readiness["ask"]>[0]["exec"];

const candidate = (node: number): Candidate => ({ node, startedAt: 1, argv: ["check"] });
const result = (code: number, stdout = "") => ({ code, stdout, stderr: "" });

/** A sandbox whose checks end when the test ends them. */
function slowSandbox() {
  const limits: number[] = [];
  const ends = new Map<number, (end: ReturnType<typeof result> | Failure) => void>();
  const exec: Exec = (node, _argv, { timeoutMs = 0 } = {}) => {
    limits.push(timeoutMs);
    return new Promise((resolve, reject) => ends.set(Number(node), (end) => (end instanceof Failure ? reject(end) : resolve(end))));
  };
  const end = async (node: number, how: ReturnType<typeof result> | Failure) => {
    ends.get(node)?.(how);
    ends.delete(node);
    await new Promise(setImmediate);
  };
  return { sandbox: { exec }, limits, end, running: () => [...ends.keys()] };
}

describe("the ready checks of a lab", () => {
  test("a slow check delays the check of no other node", async () => {
    const { sandbox, end, running } = slowSandbox();
    let now = 0;
    const readiness = new Readiness({ now: () => now });
    const ask = async () => [...(await readiness.ask(sandbox, [candidate(1), candidate(2)], 0, 1))];
    await ask();
    await end(2, result(1, "no route"));
    expect(readiness.reason(2)).toBe("no route");
    now += 1_000;
    await ask();
    expect(running()).toEqual([1, 2]);
    await end(2, result(0));
    expect(await ask()).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  test("a check that does not end in time has twice the time at the next try, and the reason is shown", async () => {
    const { sandbox, limits, end } = slowSandbox();
    let now = 0;
    const readiness = new Readiness({ now: () => now });
    for (let i = 0; i < 6; i++) {
      await readiness.ask(sandbox, [candidate(1)], 0, 1);
      await end(1, new Failure("host_timeout", "check did not end in time and was killed"));
      now += 1_000;
    }
    expect(limits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(readiness.reason(1)).toBe("its ready check did not end in 60 s");
  });

  test("the reason of an old check is not shown", async () => {
    const { sandbox, end } = slowSandbox();
    let now = 0;
    const readiness = new Readiness({ now: () => now });
    await readiness.ask(sandbox, [candidate(1)], 0, 1);
    await end(1, result(1, "its kernel boots"));
    expect(readiness.reason(1)).toBe("its kernel boots");
    now = 60_000;
    await readiness.ask(sandbox, [candidate(1)], 0, 1);
    expect(readiness.reason(1)).toBeUndefined();
  });

  test("a node is checked again after 200 ms in a small lab, and after a second in a large one", async () => {
    for (const [nodes, interval] of [
      [1, 200],
      [50, 500],
      [1_000, 1_000],
    ] as const) {
      let now = 0;
      let checks = 0;
      const exec: Exec = async () => {
        checks++;
        return result(1);
      };
      const readiness = new Readiness({ now: () => now });
      const all = Array.from({ length: nodes }, (_, index) => candidate(index));
      await readiness.ask({ exec }, all, 0, 60_000);
      now = interval - 1;
      await readiness.ask({ exec }, all, 0, 60_000);
      expect(checks).toBe(nodes);
      now = interval;
      await readiness.ask({ exec }, all, 0, 60_000);
      expect(checks).toBe(2 * nodes);
    }
  });

  test("a ready node whose daemons the machine does not see is checked every ten seconds, and not ready when one does not answer", async () => {
    const { sandbox, end, running } = slowSandbox();
    let now = 0;
    const readiness = new Readiness({ now: () => now });
    const hidden = { ...candidate(1), daemons: { names: new Set(["ospfd"]), restart: "frr-start" } };
    // A process that has no nodes.
    const ask = async () => (await readiness.ask({ ...sandbox, pid: process.pid }, [hidden, candidate(2)], 0, 1)).get(1);
    await ask();
    await end(1, result(0));
    await end(2, result(0));
    now = 9_999;
    expect([await ask(), running()]).toEqual([true, []]);
    now = 10_000;
    // It is ready until its check has ended; one without daemons is not checked again.
    expect([await ask(), running()]).toEqual([true, [1]]);
    await end(1, result(1, "neighbour 10.0.0.2 is Init"));
    expect(await ask()).toBe(true);
    now = 20_000;
    await ask();
    await end(1, new Failure("host_timeout", "check did not end in time and was killed"));
    expect(await ask()).toBe(true);
    now = 30_000;
    await ask();
    await end(1, result(1, "ospfd does not answer"));
    expect([await ask(), readiness.reason(1)]).toEqual([false, "ospfd does not answer: run frr-start ospfd in the node"]);
    await end(1, result(0));
    now = 30_200;
    await ask();
    await end(1, result(0));
    expect(await ask()).toBe(true);
  });

  test("at most `parallel` checks run at a time", async () => {
    const { sandbox, end, running } = slowSandbox();
    const readiness = new Readiness({ parallel: 2 });
    await readiness.ask(sandbox, [1, 2, 3, 4].map(candidate), 0, 1);
    expect(running()).toEqual([1, 2]);
    await end(1, result(0));
    expect(running()).toEqual([2, 3]);
    await end(2, result(0));
    await end(3, result(0));
    expect(running()).toEqual([4]);
    await end(4, result(0));
    const all = [...(await readiness.ask(sandbox, [1, 2, 3, 4].map(candidate), 0, 1))];
    expect(all.every(([, ready]) => ready)).toBe(true);
  });
});
