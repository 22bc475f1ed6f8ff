import { afterEach, describe, expect, it } from "vitest";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { type EveBench, eveBench, lab, link, node } from "./eve-bench.fixture.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const routers = [node("r1", "iol", { attributes: { serial: 2 } }), node("r2", "iol")];

/** Two groups of ethernet interfaces each, so that the first serial interface is s2/0. */
const wan: Lab = lab({ nodes: routers, links: [link("r1:e1/0", "r2:e1/0"), link("r1:s2/0", "r2:s2/0"), link("r1:s3/2", "r2:s2/3")] });

describe.each(["ce5", "ce6", "pro"] as const)("IOL on EVE-NG %s", (edition) => {
  it("gets its serial links with the first deploy, beside ethernet links that need another group", async () => {
    bench = await eveBench({ edition, images: { iol: ["i86bi.bin"] } });
    await bench.make("/wan", wan);
    const observed = await bench.session.observe("/wan");
    expect(observed?.nodes.map(({ ethernet }) => ethernet)).toEqual([8, 8]);
    expect(observed?.links.filter(({ id }) => id.startsWith("serial"))).toHaveLength(2);
    const captured = await bench.capture("/wan");
    expect(captured.links.map(({ key }) => key).sort()).toEqual(wan.links.map(({ key }) => key).sort());
    expect(planLab({ desired: captured, observed, rules: bench.rules, prune: true, replace: false }).actions).toEqual([]);
  });

  it("loses and gets them on its own", async () => {
    bench = await eveBench({ edition, images: { iol: ["i86bi.bin"] } });
    await bench.make("/wan", { ...wan, links: wan.links.slice(0, 1) });
    await bench.make("/wan", wan);
    await bench.make("/wan", { ...wan, links: wan.links.slice(1) });
    expect((await bench.session.observe("/wan"))?.links.every(({ id }) => id.startsWith("serial"))).toBe(true);
  });
});

describe("a plan with serial links", () => {
  const blocked = async (desired: Lab) => (await bench?.plan("/wan", desired))?.blocked.map(({ reason }) => reason.text);

  it("says which serial interfaces a node will have", async () => {
    bench = await eveBench({ images: { iol: ["i86bi.bin"] } });
    expect(await blocked(lab({ nodes: routers, links: [link("r1:s0/0", "r2:s1/0")] }))).toEqual([
      "r1 has no interface s0/0; its serial interfaces are s1/0 to s2/3, 2 slots by its attribute serial",
    ]);
    const none = [node("r1", "iol", { attributes: { serial: 0 } }), node("r2", "iol")];
    expect(await blocked(lab({ nodes: none, links: [link("r1:s1/0", "r2:s1/0")] }))).toEqual([
      "r1 has no interface s1/0: its attribute serial is 0",
    ]);
  });

  it("does not rename serial interfaces that have links", async () => {
    bench = await eveBench({ images: { iol: ["i86bi.bin"] } });
    const serial = link("r1:s1/0", "r2:s1/0");
    await bench.make("/wan", lab({ nodes: routers, links: [serial] }));
    expect(await blocked(lab({ nodes: routers, links: [link("r1:e1/0", "r2:e0/0"), serial] }))).toEqual([
      "r1 cannot get e1/0: more ethernet interfaces would rename s1/0, which has a link",
    ]);
  });
});
