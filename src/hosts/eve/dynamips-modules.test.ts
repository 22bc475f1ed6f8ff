import { afterEach, describe, expect, it } from "vitest";
import type { Lab } from "../../intent/lab/lab.ts";
import { type EveBench, eveBench, lab, link, node } from "./eve-bench.fixture.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const open = async (options: Parameters<typeof eveBench>[0] = {}) =>
  (bench = await eveBench({
    templates: ["c3725", "c7200", "vpcs"],
    images: { c3725: ["c3725-a.image"], c7200: ["c7200-a.image"] },
    ...options,
  }));

const modular: Lab = lab({
  nodes: [
    node("r1", "c3725", { attributes: { slot1: "NM-1FE-TX", slot2: "NM-16ESW" } }),
    node("r2", "c7200", { attributes: { slot3: "PA-4E" } }),
    node("pc", "vpcs"),
  ],
  links: [link("r1:fa1/0", "r2:e3/3"), link("r1:fa2/15", "pc:eth0"), link("r1:fa0/1", "r2:fa0/0")],
});

describe.each(["ce5", "ce6", "pro"] as const)("Dynamips modules on EVE-NG %s", (edition) => {
  it("give their interfaces to links, and are read back", async () => {
    const { make, capture } = await open({ edition });
    await make("/modular", modular);
    const captured = await capture("/modular");
    expect(Object.fromEntries(captured.nodes.map(({ key, attributes }) => [key, attributes]))).toMatchObject({
      r1: { slot1: "NM-1FE-TX", slot2: "NM-16ESW" },
      r2: { slot3: "PA-4E" },
    });
    expect(captured.links.map(({ key }) => key).sort()).toEqual(modular.links.map(({ key }) => key).sort());
    await make("/copy", captured);
  });

  it("come and go with the attributes of a node that is there", async () => {
    const { make } = await open({ edition });
    const before: Lab = { ...modular, nodes: [node("r1", "c3725"), ...modular.nodes.slice(1)], links: modular.links.slice(2) };
    await make("/modular", before);
    await make("/modular", modular);
    await make("/modular", before);
  });
});

describe("a plan with modules", () => {
  const blocked = async (desired: Lab) => (await bench?.plan("/modular", desired))?.blocked.map(({ reason }) => reason.text);
  const with1 = (attributes: Readonly<Record<string, string>>): Lab => ({
    ...modular,
    nodes: [node("r1", "c3725", { attributes }), ...modular.nodes.slice(1)],
  });

  it("names the slot of an interface that no module gives", async () => {
    await open();
    expect(await blocked({ ...with1({ slot2: "NM-16ESW" }) })).toEqual([
      "r1 has no interface fa1/0: its attribute slot1 is not set; modules with interfaces are NM-16ESW, NM-1FE-TX",
    ]);
    expect(await blocked(with1({ slot1: "NM-1FE", slot2: "NM-16ESW" }))).toContain('slot1 is "NM-1FE", not one of NM-1FE-TX, NM-16ESW');
    expect(await blocked(with1({ slot1: "NM-1FE-TX", slot2: "NM-16ESW", slot3: "NM-16ESW" }))).toEqual([
      expect.stringContaining("template c3725 has no attribute slot3"),
    ]);
  });

  it("keeps a module whose interface has a link", async () => {
    const { make } = await open();
    await make("/modular", modular);
    expect(await blocked(with1({ slot2: "NM-16ESW" }))).toEqual([
      "r1 has no interface fa1/0: its attribute slot1 is not set; modules with interfaces are NM-16ESW, NM-1FE-TX. Remove link r1:fa1/0 -- r2:e3/3 first",
    ]);
  });
});
