import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../../test/fakes/eve/options.ts";
import type { Lab } from "../../../intent/lab/lab.ts";
import { type EveBench, eveBench, lab, node, operation } from "../eve-bench.fixture.ts";
import type { EveHostOptions } from "../host.ts";

let made: EveBench | undefined;

afterEach(async () => {
  const ended = made;
  made = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

async function bench(options: FakeEveOptions = {}, timing: EveHostOptions["timing"] = {}): Promise<EveBench> {
  made = await eveBench(options, { timing: { pollMs: 10, patienceMs: 5_000, comeUpMs: 300, ...timing } });
  return made;
}

const keys = Array.from({ length: 8 }, (_, index) => `pc${index + 1}`);
const eight = (start: boolean): Lab => lab({ nodes: keys.map((key) => node(key, "vpcs", { start })) });
const starts = keys.map((key) => operation({ do: "start", node: key }));
const names = ({ fake }: EveBench) =>
  fake
    .running()
    .map(({ name }) => name)
    .sort();
const startsSent = (calls: readonly string[]) => calls.filter((call) => call.endsWith("/start"));

describe.each(["hidden", "visible"] as const)("starts on a host with notices %s", (notices) => {
  it("the first nodes ever of a host user start without meeting each other in the making of its unix user", async () => {
    const here = await bench({ notices, freshPods: true });
    await here.make("/eight", eight(false));
    here.calls();
    await here.run("/eight", eight(false), starts);
    expect(names(here)).toEqual(keys);
    expect(startsSent(here.calls())).toHaveLength(8);
  });

  it("a start that the host refused is tried again once", async () => {
    const here = await bench({ notices });
    await here.make("/eight", eight(false));
    here.fake.failNextStart({ code: 12, node: 3 });
    here.calls();
    await here.run("/eight", eight(false), starts);
    expect(names(here)).toEqual(keys);
    expect(startsSent(here.calls())).toHaveLength(9);
  });

  it("nodes that fail keep no other from its start, and each has its own reason", async () => {
    const here = await bench({ notices });
    await here.make("/eight", eight(false));
    for (const [id, code] of [
      [2, 12],
      [5, 11],
    ] as const)
      for (let times = 0; times < 2; times++) here.fake.failNextStart({ code, node: id });
    const done: string[] = [];
    const step = (id: string, state: string) => void (state === "done" && done.push(id));
    const error = await here.run("/eight", eight(false), starts, { step }).catch((one: unknown) => one);
    expect(error).toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/^start node pc2: Failed to start node \(12\).*pc5 failed, too$/),
      data: {
        failed: "start:pc2",
        failures: [
          { id: "start:pc2", message: expect.stringContaining("(12)") },
          { id: "start:pc5", message: expect.stringContaining("(11)") },
        ],
        remaining: [],
      },
    });
    const others = keys.filter((key) => key !== "pc2" && key !== "pc5");
    expect(names(here)).toEqual(others);
    expect(done.sort()).toEqual(others.map((key) => `start:${key}`));
  });

  it("a node whose process ends at once is reported soon, and the others are up", async () => {
    const here = await bench({ notices }, { patienceMs: 60_000 });
    await here.make("/eight", eight(false));
    here.fake.failNextStart({ code: 0, node: 4 });
    const began = performance.now();
    await expect(here.run("/eight", eight(false), starts)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/node pc4 does not run after 0\.3 s \(status 0\): its process ended at once or never began/),
      data: { failures: [{ id: "start:pc4" }] },
    });
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(names(here)).toEqual(keys.filter((key) => key !== "pc4"));
  });

  it("a start that the host never answers is waited for once, and the other nodes are not sent after it", async () => {
    const here = await bench({ notices, latency: { start: 3_600_000 } }, { powerMs: 200, patienceMs: 300 });
    await here.make("/eight", eight(false));
    here.calls();
    const error = await here.run("/eight", eight(false), starts).catch((one: unknown) => one);
    expect(startsSent(here.calls())).toHaveLength(1);
    expect(error).toMatchObject({
      code: "host_error",
      data: {
        failures: keys.map((key) => ({
          id: `start:${key}`,
          message: expect.stringMatching(
            key === "pc1" ? /does not run after .* try again$/ : /did not answer the start of pc1 .*Look at the host/,
          ),
        })),
      },
    });
  });

  it("a session that ends before a start is opened again, and the start is sent again", async () => {
    const here = await bench({ notices });
    await here.make("/eight", eight(false));
    here.fake.breakNext(/\/start$/, "signed out before");
    here.calls();
    await here.run("/eight", eight(false), starts);
    expect(names(here)).toEqual(keys);
    expect(startsSent(here.calls())).toHaveLength(9);
  });

  it("a start without a reason names the image that the host does not have, or the host's log", async () => {
    const here = await bench({ notices });
    const wanted = lab({ nodes: [node("r1", "linux", { start: false })] });
    await here.make("/one", wanted);
    const start = async () => {
      for (let times = 0; times < 2; times++) here.fake.failNextStart({ code: 12 });
      const error = await here.run("/one", wanted, [operation({ do: "start", node: "r1" })]).catch((one: unknown) => one);
      return (error as Error).message;
    };
    expect(await start()).toMatch(/Failed to start node \(12\); the reason is on the host.*unl_wrapper\.txt$/);
    here.fake.putLabFile("/one.unl", (here.fake.labFile("/one.unl") ?? "").replace("linux-tiny-1.0", "linux-gone"));
    expect(await start()).toMatch(
      /; the host has no image linux-gone for template linux: .*change "image" to one of linux-small-1\.0, linux-tiny-1\.0, then start/,
    );
  });

  it("a node whose preparation broke off is not started again, and the error names the way out", async () => {
    const here = await bench({ notices });
    const wanted = lab({ nodes: [node("r1", "vios", { start: false })] });
    await here.make("/one", wanted);
    here.fake.failNextStart({ code: 12, keepLock: true });
    here.calls();
    await expect(here.run("/one", wanted, [operation({ do: "start", node: "r1" })])).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(/Failed to start node \(12\).*status 1.*labwright wipe/),
    });
    expect(startsSent(here.calls())).toHaveLength(1);
  });
});
