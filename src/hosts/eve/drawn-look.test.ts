import { afterEach, describe, expect, it } from "vitest";
import type { LabText } from "../../intent/lab/lab.ts";
import { type EveBench, eveBench, lab, node } from "./eve-bench.fixture.ts";
import { readUnl, writeUnl } from "./lab-file/unl.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const red = (x: number, y: number, words: string) =>
  `<div id="customText7" class="customShape" data-path="7" style="top: ${y}px; left: ${x}px; z-index: 1001;"><h2 style="font-size:44px;"><span style="color:red">${words}</span></h2></div>`;

describe.each(["ce5", "pro"] as const)("a text that somebody drew on EVE-NG %s", (edition) => {
  it("keeps its object, font and colour while a lab file moves and rewords it", async () => {
    bench = await eveBench({ edition });
    const { make, fake } = bench;
    const texts = (...list: readonly LabText[]) => lab({ texts: [{ text: "other", x: 1, y: 1 }, ...list] });
    await make("/drawn", texts());
    const made = readUnl(fake.labFile("/drawn.unl") ?? "");
    const data = Buffer.from(red(10, 20, "area <b>0</b>")).toString("base64");
    fake.putLabFile("/drawn.unl", writeUnl({ ...made, textObjects: [...made.textObjects, { id: 7, name: "area", type: "text", data }] }));
    const drawn = () => {
      const found = readUnl(fake.labFile("/drawn.unl") ?? "").textObjects.find(({ name }) => name === "area");
      return [found?.id, Buffer.from(found?.data ?? "", "base64").toString()];
    };
    await make("/drawn", texts({ text: "area 0", x: 300, y: 4 }));
    expect(drawn()).toEqual([7, red(300, 4, "area <b>0</b>")]);
    await make("/drawn", texts({ text: "area 1\n& more", x: 300, y: 4 }));
    expect(drawn()).toEqual([7, red(300, 4, "area 1<br>&amp; more")]);
    await make("/drawn", texts({ text: "area 2", x: 5, y: 6 }));
    expect(drawn()).toEqual([7, red(5, 6, "area 2")]);
    await make("/drawn", texts());
    expect(drawn()[0]).toBeUndefined();
  });
});

describe.each(["ce5", "pro"] as const)("nodes and networks without a position on EVE-NG %s", (edition) => {
  it("lie on nothing that a lab file places, now or in the same change", async () => {
    bench = await eveBench({ edition });
    const { make, session } = bench;
    const placed = (key: string, x: number) => node(key, "vpcs", { position: { x, y: 100 } });
    const first = lab({
      nodes: [node("a", "vpcs"), placed("b", 100), node("c", "vpcs"), placed("d", 340)],
      networks: [
        { key: "n", name: "n", type: "bridge" },
        { key: "m", name: "m", type: "bridge", position: { x: 160, y: 160 } },
      ],
    });
    await make("/places", first);
    await make("/places", { ...first, nodes: [...first.nodes, node("e", "vpcs"), placed("f", 580)] });
    const { nodes = [], networks = [] } = (await session.observe("/places")) ?? {};
    const at = [...nodes, ...networks].map(({ position }) => JSON.stringify(position));
    expect(at).toHaveLength(8);
    expect(new Set(at).size).toBe(8);
  });
});
