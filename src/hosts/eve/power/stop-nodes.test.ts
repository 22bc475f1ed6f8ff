import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../../test/fakes/eve/options.ts";
import { type EveBench, eveBench, lab, node, operation } from "../eve-bench.fixture.ts";
import type { EveHostOptions } from "../host.ts";

let made: EveBench | undefined;

afterEach(async () => {
  const ended = made;
  made = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

async function bench(options: FakeEveOptions, timing: EveHostOptions["timing"]): Promise<EveBench> {
  made = await eveBench(options, { timing: { pollMs: 10, settleMs: 300, othersMs: 0, ...timing } });
  return made;
}

const keys = ["pc1", "pc2", "pc3"];
const three = lab({ nodes: keys.map((key) => node(key, "vpcs")) });
const stops = keys.map((key) => operation({ do: "stop", node: key, mode: 3 }));

/** Something keeps the console port of the node: the host reports it as running after a stop. */
async function hang({ fake, session }: EveBench, name: string): Promise<number> {
  const id = (await session.observe("/three"))?.nodes.find((one) => one.name === name)?.id ?? "";
  fake.occupyPort(32_768 + Number(id));
  return 32_768 + Number(id);
}

describe.each([
  ["ce5", "visible"],
  ["ce5", "hidden"],
  ["ce6", "visible"],
] as const)("%s with notices %s: a running node that does not end", (edition, notices) => {
  it("fails its stop after the time in which the host kills a process, with the next step; the other nodes are stopped", async () => {
    const here = await bench({ edition, notices }, { patienceMs: 120_000, goneMs: 400 });
    await here.make("/three", three);
    await hang(here, "pc1");
    const done: string[] = [];
    const step = (id: string, state: string) => void (state === "done" && done.push(id));
    await expect(here.run("/three", three, stops, { step })).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringMatching(
        /^the host accepted the stop, and pc1 still runs after 0\.4 s \(status 2\): labwright stop tries again\. .*administrator of the host ends it, or labwright destroy --force.*labwright renumber/,
      ),
      data: { failures: [{ id: "stop:pc1" }] },
    });
    expect(done.sort()).toEqual(["stop:pc2", "stop:pc3"]);
    expect(here.fake.running()).toEqual([]);
  });

  it("is waited for while the stops of the other nodes are reported as done", async () => {
    const here = await bench({ edition, notices }, { patienceMs: 120_000, goneMs: 120_000 });
    await here.make("/three", three);
    const port = await hang(here, "pc1");
    const done: string[] = [];
    const step = (id: string, state: string) => void (state === "done" && done.push(id));
    const stopping = here.run("/three", three, stops, { step });
    await expect.poll(() => [...done].sort()).toEqual(["stop:pc2", "stop:pc3"]);
    here.fake.freePort(port);
    await stopping;
    expect(done.sort()).toEqual(["stop:pc1", "stop:pc2", "stop:pc3"]);
  });
});

it("Professional waits for a guest that shuts down, for longer than Community waits for a killed process", async () => {
  const here = await bench({ edition: "pro" }, { patienceMs: 800, goneMs: 50 });
  await here.make("/three", lab({ nodes: [node("r1", "vios")] }));
  const began = performance.now();
  const stop = here.run("/three", lab({ nodes: [node("r1", "vios")] }), [operation({ do: "stop", node: "r1", mode: 0 })]);
  await expect(stop).rejects.toMatchObject({
    message: expect.stringMatching(/r1 still runs after 0\.8 s \(status 4\): labwright stop tries again$/),
  });
  expect(performance.now() - began).toBeGreaterThan(800);
});

it("starts of nodes that are up are reported as done while others are waited for", async () => {
  const boot = 1_000;
  const here = await bench({ latency: { ...quick, boot } }, { patienceMs: 60_000, comeUpMs: 60_000 });
  const two = lab({ nodes: [node("pc1", "vpcs", { start: false }), node("pc2", "vpcs", { start: false })] });
  await here.make("/three", two);
  const id = Number((await here.session.observe("/three"))?.nodes.find(({ name }) => name === "pc1")?.id);
  // The process of pc1 ends at once: it never comes up.
  here.fake.failNextStart({ code: 0, node: id });
  const done: string[] = [];
  const step = (one: string, state: string) => void (state === "done" && done.push(one));
  const abort = new AbortController();
  const starting = here
    .run("/three", two, [operation({ do: "start", node: "pc1" }), operation({ do: "start", node: "pc2" })], { step, signal: abort.signal })
    .catch((error: unknown) => error);
  await expect.poll(() => done, { timeout: 10_000 }).toEqual(["start:pc2"]);
  abort.abort();
  await starting;
});

const quick = {
  call: 0,
  save: 0,
  nodeStatus: 0,
  hostStatus: 0,
  start: 0,
  prepare: 0,
  configure: 0,
  stop: 0,
  exit: 0,
  wipe: 0,
  exportConfig: 0,
};
