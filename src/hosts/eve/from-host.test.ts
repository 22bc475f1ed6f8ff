import { afterEach, describe, expect, it } from "vitest";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import { printLab } from "../../intent/write/print.ts";
import { type EveBench, eveBench, lab, link, node } from "./eve-bench.fixture.ts";

let bench: EveBench | undefined;

afterEach(async () => {
  const ended = bench;
  bench = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

const images = { linux: ["linux-tiny-1.0"], iol: ["i86bi.bin"] };

/** One of each part of an EVE-NG lab: links, serial links, links to a network, a config, texts, positions, icons, and quality if the edition has it. */
const campus = (quality: boolean): Lab =>
  lab({
    name: "campus",
    description: "all of it & more <here>",
    nodes: [
      node("pc1", "vpcs", { startupConfig: "ip 10.0.0.1/24\n", position: { x: 40, y: 60 }, icon: "Desktop.png", start: false }),
      node("r1", "iol", { position: { x: 240, y: 60 }, start: false }),
      node("r2", "iol", { startupConfig: "hostname r2\n!\n", position: { x: 440, y: 60 }, start: false }),
      node("srv", "linux", { attributes: { console: "telnet" }, ram: 256, ethernet: 3, position: { x: 640, y: 60 }, start: false }),
    ],
    networks: [
      { key: "inet", name: "inet", type: "pnet0", position: { x: 500, y: 300 } },
      { key: "lan", name: "lan", type: "bridge", position: { x: 300, y: 300 } },
    ],
    links: [
      link("pc1:eth0", "r1:e0/0"),
      link("r1:e0/1", "lan"),
      link("r1:s1/0", "r2:s1/0"),
      quality
        ? { ...link("r2:e0/0", "srv:e0"), quality: { a: { delay: 20, jitter: 3 }, b: { loss: 2, bandwidth: 1000 } } }
        : link("r2:e0/0", "srv:e0"),
      link("r2:e0/1", "lan"),
      link("srv:e1", "inet"),
    ],
    texts: [
      { text: "area 0\nbackbone", x: 10, y: 20 },
      { text: "a < b & c", x: 30, y: 40 },
    ],
  });

describe.each(["ce5", "ce6", "pro", "pnetlab"] as const)("a lab on %s", (edition) => {
  const shaped = edition === "pro" || edition === "pnetlab";

  it("becomes YAML with all its fields, and the plan for it is empty", async () => {
    bench = await eveBench({ edition, images });
    const wanted = campus(shaped);
    await bench.make("/campus", wanted);
    const { yaml, files } = printLab(await bench.capture("/campus"));
    const { lab: read, diagnostics } = readIntent(yaml, files);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    if (read === undefined) throw new Error("the YAML means nothing");
    const observed = await bench.session.observe("/campus");
    expect(planLab({ desired: read, observed, rules: bench.rules, prune: true, replace: false }).actions).toEqual([]);
    for (const one of wanted.nodes) {
      const { key, name, template, position, startupConfig, icon } = one;
      const expected = { key, name, template, position, ...(startupConfig && { startupConfig }), ...(icon && { icon }) };
      expect(read.nodes.find((other) => other.key === key)).toMatchObject(expected);
    }
    expect(read.links.map(({ key }) => key).sort()).toEqual(wanted.links.map(({ key }) => key).sort());
    if (shaped)
      expect(read.links.find(({ quality }) => quality !== undefined)).toMatchObject(wanted.links.find((one) => "quality" in one) ?? {});
    expect(new Set(read.texts)).toEqual(new Set(wanted.texts));
    expect(read.description).toBe(wanted.description);
    expect(read.networks.map(({ key, type, position }) => ({ key, type, position }))).toEqual(
      wanted.networks.map(({ key, type, position }) => ({ key, type, position })),
    );
  });
});
