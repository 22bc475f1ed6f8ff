import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImages } from "./images.ts";
import { measured } from "./measured.ts";
import { localPaths } from "./paths.ts";
import { netemBatch, parseNetem } from "./quality-netem.ts";

/** Debian's package user-mode-linux, installed or unpacked below LABWRIGHT_UML: a Linux with netem as an ordinary process. */
const uml = process.env["LABWRIGHT_UML"] ?? "/";
const linux = join(uml, "usr/bin/linux.uml");

const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
/** Batches by name: what leaves a, and what leaves b. Those of a step's name are in force during it. */
const batches = {
  none: [{}, {}],
  delay: [{ delay: 50 }, { delay: 20.5 }],
  jitter: [{ delay: 20, jitter: 10 }, {}],
  loss: [{ loss: 2 }, { loss: 2 }],
  tcp: [{ bandwidth: 10_000 }, {}],
  udp: [{ delay: 10 }, { delay: 50, bandwidth: 10_000 }],
  thousand: [{ delay: 100 }, { delay: 100 }],
} as const;
/** In their order, as quality-netem.uml.sh has them. */
const steps = ["delay", "jitter", "loss", "tcp", "udp", "thousand", "changes", "drop"] as const;
type Step = (typeof steps)[number];

/** What quality.test.ts asks of the shaper, asked of netem. A figure that something else on the machine spoilt is taken again, in a Linux booted anew. */
describe.skipIf(!existsSync(linux))("netem, on a kernel that has it", { timeout: 600_000 }, () => {
  let directory: string;
  let output: Map<string, string>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "labwright-uml-"));
    await mkdir(join(directory, "batches"));
    const write = (name: string, [a, b]: readonly [object, object], fresh: boolean) =>
      writeFile(join(directory, "batches", name), netemBatch(3, { a: whole(a), b: whole(b) }, fresh));
    await write("attach", batches.none, true);
    for (const [name, sides] of Object.entries(batches)) await write(name, sides, false);
    output = await boot(steps);
  }, 600_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  /** What each of the steps told. */
  async function boot(wanted: readonly Step[]): Promise<Map<string, string>> {
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
      `uml_steps=${wanted.join()}`,
    ];
    for (let tries = 1; ; tries++) {
      const { stdout } = await promisify(execFile)(linux, argv, { timeout: 200_000, maxBuffer: 64 << 20 });
      const told = new Map<string, string>();
      for (const part of stdout.replaceAll("\r", "").split(/^= /m).slice(1)) {
        const end = part.indexOf("\n");
        told.set(part.slice(0, end), part.slice(end + 1));
      }
      // Words of its kernel may fall into a line of ours, and its end may come before its console has said all.
      if (isDeepStrictEqual([...told.keys()], [...wanted, "end"])) return told;
      if (tries === 3) throw new Error(`a user-mode Linux has not told of each step: ${stdout}`);
    }
  }

  /** The first time what all steps together told, then of the step by itself. */
  function figure<T>(
    context: Parameters<typeof measured>[0],
    step: Step,
    read: (told: string) => T,
    right: (value: T) => boolean,
  ): Promise<T> {
    let told = output.get(step);
    const take = async () => {
      const text = told ?? (await boot([step])).get(step) ?? "";
      told = undefined;
      return read(text);
    };
    // A boot takes its time, and the first figure counts for nothing but success.
    return measured(context, step, take, right, 4);
  }

  const of = (step: Step) => output.get(step) ?? "";
  const trips = (text: string) => [...text.matchAll(/time=([\d.]+)/g)].map(([, ms]) => Number(ms)).sort((x, y) => x - y);
  const sequence = (text: string) => [...text.matchAll(/icmp_seq=(\d+)/g)].map(([, n]) => Number(n));
  const tells = (step: "delay" | "loss" | "thousand", text: string) => {
    const [a, b] = batches[step].map(whole);
    const wanted = new Map([[3, { mtu: 1500, a: a!, b: b! }]]);
    return [...text.matchAll(/^netem (.*)$/gm)].map(([, json]) => parseNetem(json!, wanted).get(3)!);
  };
  const isNear = (value: number, wanted: number, part: number) => Math.abs(value / wanted - 1) < part;

  test("delay is exact to a millisecond, for each direction by itself, and is read back", async (context) => {
    // What else runs on the machine can only add.
    await figure(
      context,
      "delay",
      (text) => trips(text)[0]!,
      (shortest) => Math.abs(shortest - 70.5) < 1,
    );
    expect(tells("delay", of("delay"))[0]).toMatchObject({ a: whole({ delay: 50 }), b: whole({ delay: 20.5 }) });
  });

  test("jitter is spread evenly around the delay, and frames keep their order", async (context) => {
    // Far enough apart that none waits for the one before it; the last few may have met with what else runs here.
    const apart = (text: string) => trips(text.split("close together")[0]!).slice(0, -3);
    const all = await figure(context, "jitter", apart, (some) => {
      const mean = some.reduce((sum, one) => sum + one, 0) / some.length;
      return some.at(-1)! < 31 && Math.abs(mean - 20) < 3 && some.at(-1)! - some[0]! > 12;
    });
    expect(all[0]).toBeGreaterThan(9.9);
    const [, close = ""] = of("jitter").split("close together");
    expect(sequence(close)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  test("loss is exact to 0.3 % over 10,000 packets, in both directions", async (context) => {
    // Drawn anew each time: one of some 20 is further off than that, three in a row are not.
    const rates = (text: string) => {
      const [before, after] = tells("loss", text);
      return (["a", "b"] as const).map((side) => {
        const [from, to] = [before!.counters[side], after!.counters[side]];
        return { frames: to.received - from.received, percent: (100 * (to.lost - from.lost)) / (to.received - from.received) };
      });
    };
    const both = await figure(context, "loss", rates, (some) => some.every(({ percent }) => Math.abs(percent - 2) < 0.3));
    for (const { frames } of both) expect(frames).toBeGreaterThan(9_900);
    expect(tells("loss", of("loss"))[1]).toMatchObject({ a: whole({ loss: 2 }), b: whole({ loss: 2 }) });
  });

  test("bandwidth is exact to 5 %, for TCP and UDP, in each direction, also with delay", async (context) => {
    // Counted as frames on the wire: Ethernet, IP, TCP with timestamps or UDP.
    const rate = (text: string, payload: number, frame: number) => {
      const { end } = JSON.parse(/^\{.*\}$/m.exec(text)![0]);
      return ((end.sum_received ?? end.sum).bits_per_second * frame) / payload;
    };
    await figure(
      context,
      "tcp",
      (text) => rate(text, 1448, 1514),
      (bits) => isNear(bits, 10e6, 0.05),
    );
    await figure(
      context,
      "udp",
      (text) => ({ bits: rate(text, 1400, 1442), trip: trips(text)[0]! }),
      ({ bits, trip }) => isNear(bits, 10e6, 0.05) && Math.abs(trip - 60) < 1,
    );
  });

  test("a thousand packets a second go through 100 ms without loss, also while the quality changes", async (context) => {
    for (const [step, count] of [
      ["thousand", 1000],
      ["changes", 3000],
    ] as const) {
      // An answer to each, and a few frames that are no pings.
      const passed = (text: string) => {
        const [before, after] = tells("thousand", text);
        return (["a", "b"] as const).map((side) => {
          const [from, to] = [before!.counters[side], after!.counters[side]];
          return { sent: to.sent - from.sent, lost: to.lost - from.lost, queued: to.queued };
        });
      };
      const isWhole = (sides: ReturnType<typeof passed>) =>
        sides.every(({ sent, lost, queued }) => sent >= count && sent < count + 30 && lost === 0 && queued === 0);
      await figure(context, step, passed, isWhole);
    }
  });

  test("a link leaves netem while frames are on their way: all arrive, and then its devices go", async (context) => {
    const wanted = { adopted: [3], effective: whole({ delay: 3000 }), stoodMeanwhile: true, received: 20, standsAfter: false };
    await figure(
      context,
      "drop",
      (text) => JSON.parse(text.trim()),
      (told) => isDeepStrictEqual(told, wanted),
    );
  });
});
