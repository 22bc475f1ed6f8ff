import { afterEach, describe, expect, test } from "vitest";
import { type Bench, createBench, failureOf, pair, three } from "../service.fixture.ts";

const benches: Bench[] = [];
function bench(...options: Parameters<typeof createBench>): Bench {
  const made = createBench(...options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

describe("exec", () => {
  test("counts what really happened", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: three });
    const zero = {
      requested: 0,
      started: 0,
      already_running: 0,
      already_starting: 0,
      stopped: 0,
      already_stopped: 0,
      wiped: 0,
      failed: 0,
      invalid: 0,
    };
    const good = (...nodes: readonly string[]) => nodes.map((node) => ({ node, ok: true }));
    const all = good("r1", "r2", "r3");
    const started = await ann.call("execProject", { lab: "/pair", action: "start" });
    expect(started).toEqual({ ...zero, requested: 3, already_running: 3, nodes: all });
    expect(await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1", stopmode: 0 })).toEqual({
      ...zero,
      requested: 1,
      stopped: 1,
      nodes: good("r1"),
    });
    expect(await ann.call("execProject", { lab: "/pair", action: "stop", node: "" })).toEqual({
      ...zero,
      requested: 3,
      stopped: 2,
      already_stopped: 1,
      nodes: all,
    });
    expect(await ann.call("execProject", { lab: "/pair", action: "start", nodes: ["r1", "r2", "nope"] })).toEqual({
      ...zero,
      requested: 3,
      started: 2,
      invalid: 1,
      nodes: [...good("r1", "r2"), { node: "nope", ok: false, message: "/pair has no node nope" }],
    });
    // A list is exact, even if it is empty.
    const none = { ...zero, nodes: [] };
    for (const action of ["stop", "wipe"]) expect(await ann.call("execProject", { lab: "/pair", action, nodes: [] })).toEqual(none);
    expect(await ann.call("execProject", { lab: "/pair", action: "wipe" })).toEqual({ ...zero, requested: 3, wiped: 3, nodes: all });
    const { live } = await ann.call("getProjectStatus", { lab: "/pair" });
    expect(live?.nodes?.every(({ status }) => status === "stopped")).toBe(true);
  });

  test("one node that fails does not keep the others from starting", async () => {
    const made = bench();
    const ann = await made.login();
    await ann.call("deployProject", { yaml: three });
    await ann.call("execProject", { lab: "/pair", action: "stop" });
    const { Failure } = await import("../../contract/errors.ts");
    made.step = (_lab, { key }) => {
      if (key === "r2") throw new Failure("host_error", "broken");
    };
    expect(await ann.call("execProject", { lab: "/pair", action: "start" })).toMatchObject({
      requested: 3,
      started: 2,
      failed: 1,
      nodes: [
        { node: "r1", ok: true },
        { node: "r2", ok: false, message: expect.stringContaining("broken") },
        { node: "r3", ok: true },
      ],
    });
    // It was to run, and does not.
    const { operations } = await ann.call("planProject", { lab: "/pair", yaml: three });
    expect((operations ?? []).map(({ op, key }) => [op, key])).toEqual([["start", "r2"]]);
  });

  test("a wrong action, stop mode or node is refused", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair });
    const code = async (body: { action: string; stopmode?: number; node?: string }) =>
      (await failureOf(ann.call("execProject", { lab: "/pair", ...body }))).code;
    expect(await code({ action: "reboot" })).toBe("invalid_action");
    expect(await code({ action: "stop", stopmode: 4 })).toBe("invalid_action");
    expect(await code({ action: "stop", node: "nope" })).toBe("node_not_found");
  });
});
