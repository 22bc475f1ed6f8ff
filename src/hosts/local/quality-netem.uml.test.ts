import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages } from "./images.ts";
import { localPaths } from "./paths.ts";
import { netemBatch, parseNetem } from "./quality-netem.ts";

/** Debian's package user-mode-linux, installed or unpacked below LABWRIGHT_UML: a Linux with netem as an ordinary process. */
const uml = process.env["LABWRIGHT_UML"] ?? "/";
const linux = join(uml, "usr/bin/linux.uml");

const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
/** Name, directions a and b, and whether netem is attached anew. */
const steps = [
  ["delay", { delay: 50 }, {}, true],
  ["jitter", { delay: 20, jitter: 10 }, {}, false],
  ["loss", { loss: 2 }, {}, false],
  ["both", { delay: 50, bandwidth: 10_000 }, { delay: 10 }, false],
  ["bandwidth", { bandwidth: 10_000 }, {}, false],
  ["zero", {}, {}, false],
] as const;

describe.skipIf(!existsSync(linux))("netem, on a kernel that has it", () => {
  let directory: string;
  const output = new Map<string, string>();

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-uml-"));
    await mkdir(join(directory, "batches"));
    for (const [name, a, b, fresh] of steps) {
      await writeFile(join(directory, "batches", name), netemBatch(3, { a: whole(a), b: whole(b) }, fresh));
    }
    const images = await findImages(localPaths(process.env, process.getuid!()).images);
    const image = images.find(({ layers }) => existsSync(join(layers[0]!, "usr/bin/iperf3")))!;
    const argv = [
      "root=/dev/root",
      "rootfstype=hostfs",
      "rootflags=/",
      "ro",
      "mem=768M",
      "quiet",
      "con=null",
      "con0=fd:0,fd:1",
      `uml_dir=${directory}/`,
      `init=${fileURLToPath(new URL("quality-netem.uml.sh", import.meta.url))}`,
      `uml_batches=${directory}/batches`,
      `uml_image=${image.layers[0]}`,
      `uml_node=${process.execPath}`,
      `uml_modules=${join(uml, "usr/lib/uml/modules")}`,
    ];
    const { stdout } = await promisify(execFile)(linux, argv, { timeout: 90_000, maxBuffer: 64 << 20 });
    for (const part of stdout.replaceAll("\r", "").split(/^= /m).slice(1)) {
      const end = part.indexOf("\n");
      output.set(part.slice(0, end), part.slice(end + 1));
    }
    expect([...output.keys()], stdout).toContain("end");
  }, 100_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const of = (name: string) => output.get(name) ?? "";
  const trips = (name: string) => [...of(name).matchAll(/time=([\d.]+)/g)].map(([, ms]) => Number(ms)).sort((x, y) => x - y);
  const told = (name: string) => parseNetem(/^netem (.*)$/m.exec(of(name))![1]!, new Map()).get(3)!;

  test("delay is exact to a millisecond, and is read back", () => {
    // What else runs on the machine can only add.
    const [shortest] = trips("delay");
    expect(Math.abs(shortest! - 50)).toBeLessThan(1);
    expect(told("delay")).toMatchObject({ a: whole({ delay: 50 }), b: whole({}) });
  });

  test("jitter is spread around the delay, and frames keep their order", () => {
    const all = trips("jitter");
    expect(all).toHaveLength(200);
    expect(all[0]).toBeGreaterThan(9.9);
    const order = [...of("jitter").matchAll(/icmp_seq=(\d+)/g)].map(([, n]) => Number(n));
    expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  test("loss is what was asked for over 10,000 packets", () => {
    const [, received] = /10000 packets transmitted, (\d+) received/.exec(of("loss"))!;
    // Drawn anew in each run: four standard deviations.
    expect(Math.abs((10_000 - Number(received)) / 100 - 2)).toBeLessThan(0.56);
    expect(told("loss")).toMatchObject({ a: whole({ loss: 2 }), b: whole({}) });
  });

  test("bandwidth is exact to 5 %, and delay with it to a millisecond", () => {
    const [, shortest] = /= ([\d.]+)\/[\d.]+\/[\d.]+/.exec(of("both"))!;
    expect(Math.abs(Number(shortest) - 60)).toBeLessThan(1);
    const { bits_per_second } = JSON.parse(of("bandwidth").trim()).end.sum_received;
    expect(Math.abs((bits_per_second * 1514) / 1448 / 10e6 - 1)).toBeLessThan(0.05);
  });

  test("a link leaves netem while frames are on their way: all arrive, and then its devices go", () => {
    expect(JSON.parse(of("drop").trim())).toEqual({
      adopted: [3],
      effective: whole({ delay: 700 }),
      stoodMeanwhile: true,
      received: 20,
      standsAfter: false,
    });
  });

  test("changes lose and repeat nothing", () => {
    expect(of("changes")).toContain("300 packets transmitted, 300 received, 0% packet loss");
  });
});
