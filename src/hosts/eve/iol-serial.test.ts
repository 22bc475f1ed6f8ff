import { afterEach, describe, expect, it } from "vitest";
import { readLab } from "../../engine/compare/read-lab.ts";
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

describe("IOL with more groups of interfaces than its links need", () => {
  const spare = [
    node("r1", "iol", { ethernet: 8, attributes: { serial: 1 } }),
    node("r2", "iol", { ethernet: 6, attributes: { serial: 1 } }),
  ];
  const wanted: Lab = lab({ nodes: spare, links: [link("r1:s2/0", "r2:s2/0")] });

  it("has the ethernet interfaces that the lab declares, and its serial ones after them", async () => {
    bench = await eveBench({ images: { iol: ["i86bi.bin"] } });
    await bench.make("/wan", wanted);
    expect((await bench.session.observe("/wan"))?.nodes.map(({ ethernet }) => ethernet)).toEqual([8, 8]);
    const captured = await bench.capture("/wan");
    expect(captured.nodes.map(({ ethernet }) => ethernet)).toEqual([8, 8]);
    await bench.make("/copy", captured);
    const kept = readLab({ observed: (await bench.session.observe("/wan"))!, base: wanted, rules: bench.rules });
    expect(kept.nodes.map(({ ethernet }) => ethernet)).toEqual([8, 6]);
  });

  it("as a host has it becomes a lab file that can be deployed", async () => {
    bench = await eveBench({ images: { iol: ["i86bi.bin"] } });
    const drawn = (id: number, other: number) =>
      `<node id="${id}" name="SW${id}" type="iol" template="iol" image="i86bi.bin" ethernet="2" serial="1" config="0" left="9" top="9"><interface id="2" name="s2/0" type="serial" remote_id="${other}" remote_if="2"/></node>`;
    bench.fake.putLabFile(
      "/drawn.unl",
      `<?xml version="1.0"?><lab name="drawn" id="0b4f0c5e-8c0f-4ef5-9a55-3c1d8f2c9a01" version="1"><topology><nodes>${drawn(1, 2)}${drawn(2, 1)}</nodes><networks/></topology></lab>`,
    );
    const loaded = await bench.capture("/drawn");
    expect(loaded.nodes.map(({ ethernet }) => ethernet)).toEqual([8, 8]);
    await bench.make("/copy", loaded);
    expect((await bench.capture("/copy")).links.map(({ key }) => key)).toEqual(loaded.links.map(({ key }) => key));
  });

  it("refuses a count or a serial attribute that would take the interface of a link", async () => {
    bench = await eveBench({ images: { iol: ["i86bi.bin"] } });
    await bench.make("/wan", wanted);
    const blocked = async (change: Parameters<typeof node>[2]) => {
      const plan = await bench?.plan("/wan", { ...wanted, nodes: [node("r1", "iol", change), spare[1]!] });
      return plan?.blocked.map(({ reason }) => reason.text);
    };
    const link = "Remove link r1:s2/0 -- r2:s2/0 first";
    expect(await blocked({ ethernet: 4, attributes: { serial: 1 } })).toEqual([
      `r1 has no interface s2/0; its serial interfaces are s1/0 to s1/3, 1 slots by its attribute serial. ${link}`,
    ]);
    expect(await blocked({ ethernet: 8, attributes: { serial: 0 } })).toEqual([
      `r1 has no interface s2/0: its attribute serial is 0. ${link}`,
    ]);
  });
});

describe("a plan with serial links", () => {
  const blocked = async (desired: Lab) => (await bench?.plan("/wan", desired))?.blocked.map(({ reason }) => reason.text);

  it("reports which serial interfaces a node will have", async () => {
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
