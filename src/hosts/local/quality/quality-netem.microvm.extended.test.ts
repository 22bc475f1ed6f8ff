import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { packageFiles, programFiles, treeFiles } from "../../../../test/microvm/machine-files.ts";
import { microVmLacks, runMicroVm } from "../../../../test/microvm/microvm.ts";
import { findImages } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import type { CpioEntry } from "../setup/images/cpio.ts";
import { netemBatch, parseNetem } from "./quality-netem.ts";

const { images } = localPaths(process.env, process.getuid!());
const lacks = await microVmLacks(images);
const title = `netem, on a kernel that has it${lacks === undefined ? "" : ` (skipped: ${lacks})`}`;

const whole = (some: object) => ({ delay: 0, jitter: 0, loss: 0, bandwidth: 0, ...some });
/** Name of a step → the qualities of both directions in force during it. */
const batches = {
  none: [{}, {}],
  delay: [{ delay: 50 }, { delay: 20.5 }],
  jitter: [{ delay: 20, jitter: 10 }, {}],
  loss: [{ loss: 2 }, { loss: 2 }],
  tcp: [{ bandwidth: 10_000 }, {}],
  udp: [{ delay: 10 }, { delay: 50, bandwidth: 10_000 }],
  thousand: [{ delay: 100 }, { delay: 100 }],
} as const;
/** The steps of quality-netem.microvm.sh, in order. */
const steps = ["delay", "jitter", "loss", "tcp", "udp", "thousand", "changes", "drop"] as const;
type Step = (typeof steps)[number];

/** The measurements of quality.test.ts for netem. The kernel has a virtual clock, so that other work on the machine does not change them. */
describe.skipIf(lacks !== undefined)(title, { timeout: 600_000 }, () => {
  let files: readonly CpioEntry[];
  let output: Map<string, string>;

  beforeAll(async () => {
    files = await filesOfMachine();
    output = await boot(steps, 1);
  }, 600_000);

  async function filesOfMachine(): Promise<readonly CpioEntry[]> {
    const base = (await findImages(images)).find(({ name }) => name === "base")!;
    const repository = fileURLToPath(new URL("../../../..", import.meta.url));
    const batch = (name: string, [a, b]: readonly [object, object], fresh: boolean): CpioEntry => ({
      path: `machine/batches/${name}`,
      mode: 0o100644,
      data: Buffer.from(netemBatch(3, { a: whole(a), b: whole(b) }, fresh)),
    });
    return [
      ...(await packageFiles(["coreutils", "dash", "grep", "iproute2", "libstdc++6", "mount", "sed"], "machine")),
      ...(await programFiles(base.rootfs, ["/usr/bin/ping", "/usr/bin/iperf3"], "machine/image")),
      ...["dev", "tmp"].map((name) => ({ path: `machine/image/${name}`, mode: 0o040755, data: Buffer.alloc(0) })),
      ...(await treeFiles(process.execPath, "machine/node/bin/node")),
      ...(await treeFiles(join(repository, "package.json"), "machine/repository/package.json")),
      ...(await treeFiles(join(repository, "src"), "machine/repository/src")),
      batch("attach", batches.none, true),
      ...Object.entries(batches).map(([name, sides]) => batch(name, sides, false)),
    ];
  }

  /** Returns the output of each step. */
  async function boot(wanted: readonly Step[], seed: number): Promise<Map<string, string>> {
    const script = await readFile(new URL("quality-netem.microvm.sh", import.meta.url), "utf8");
    const command = `set -- ${wanted.join(" ")}\n${script}`;
    const result = await runMicroVm(images, { files, command, memoryMb: 1024, seed, limitMs: 500_000 });
    const printed = new Map<string, string>();
    for (const part of result.output.split(/^= /m).slice(1)) {
      const end = part.indexOf("\n");
      printed.set(part.slice(0, end), part.slice(end + 1));
    }
    if (result.code !== 0 || !isDeepStrictEqual([...printed.keys()], [...wanted])) {
      throw new Error(`the steps ended with code ${result.code} and printed:\n${result.output}`);
    }
    return printed;
  }

  /** Returns a measurement of the step. A wrong one is repeated up to twice with other random numbers, because netem is random. */
  async function figure<T>(step: Step, read: (printed: string) => T, right: (value: T) => boolean): Promise<T> {
    for (let seed = 1; ; seed++) {
      const text = (seed === 1 ? output : await boot([step], seed)).get(step) ?? "";
      const value = read(text);
      if (right(value)) return value;
      if (seed === 3) throw new Error(`${step}: wrong three times; last ${JSON.stringify(value)} of\n${text}`);
    }
  }

  const of = (step: Step) => output.get(step) ?? "";
  const trips = (text: string) => [...text.matchAll(/time=([\d.]+)/g)].map(([, ms]) => Number(ms)).sort((x, y) => x - y);
  const sequence = (text: string) => [...text.matchAll(/icmp_seq=(\d+)/g)].map(([, n]) => Number(n));
  const reports = (step: "delay" | "loss" | "thousand", text: string) => {
    const [a, b] = batches[step].map(whole);
    const wanted = new Map([[3, { mtu: 1500, a: a!, b: b! }]]);
    return [...text.matchAll(/^netem (.*)$/gm)].map(([, json]) => parseNetem(json!, wanted).get(3)!);
  };
  const isNear = (value: number, wanted: number, part: number) => Math.abs(value / wanted - 1) < part;

  test("delay is exact to a millisecond in each direction, and is read back", async () => {
    await figure(
      "delay",
      (text) => trips(text)[0]!,
      (shortest) => Math.abs(shortest - 70.5) < 1,
    );
    expect(reports("delay", of("delay"))[0]).toMatchObject({ a: whole({ delay: 50 }), b: whole({ delay: 20.5 }) });
  });

  test("jitter is spread evenly around the delay, and frames keep their order", async () => {
    // Far enough apart that no packet waits for the one before it.
    const apart = (text: string) => trips(text.split("close together")[0]!);
    const all = await figure("jitter", apart, (some) => {
      const mean = some.reduce((sum, one) => sum + one, 0) / some.length;
      return some.at(-1)! < 31 && Math.abs(mean - 20) < 3 && some.at(-1)! - some[0]! > 12;
    });
    expect(all[0]).toBeGreaterThan(9.9);
    const [, close = ""] = of("jitter").split("close together");
    expect(sequence(close)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  });

  test("loss is exact to 0.3 % over 10,000 packets, in both directions", async () => {
    // About one of 20 results is further off than that, but not three in a row.
    const rates = (text: string) => {
      const [before, after] = reports("loss", text);
      return (["a", "b"] as const).map((side) => {
        const [from, to] = [before!.counters[side], after!.counters[side]];
        return { frames: to.received - from.received, percent: (100 * (to.lost - from.lost)) / (to.received - from.received) };
      });
    };
    const both = await figure("loss", rates, (some) => some.every(({ percent }) => Math.abs(percent - 2) < 0.3));
    for (const { frames } of both) expect(frames).toBeGreaterThan(9_900);
    expect(reports("loss", of("loss"))[1]).toMatchObject({ a: whole({ loss: 2 }), b: whole({ loss: 2 }) });
  });

  test("bandwidth is exact to 5 %, for TCP and UDP, in each direction, also with delay", async () => {
    // Counted as frames on the wire: Ethernet, IP, TCP with timestamps or UDP.
    const rate = (text: string, payload: number, frame: number) => {
      const { end } = JSON.parse(/^\{.*\}$/m.exec(text)![0]);
      return ((end.sum_received ?? end.sum).bits_per_second * frame) / payload;
    };
    await figure(
      "tcp",
      (text) => rate(text, 1448, 1514),
      (bits) => isNear(bits, 10e6, 0.05),
    );
    await figure(
      "udp",
      (text) => ({ bits: rate(text, 1400, 1442), trip: trips(text)[0]! }),
      ({ bits, trip }) => isNear(bits, 10e6, 0.05) && Math.abs(trip - 60) < 1,
    );
  });

  test("a thousand packets a second go through 100 ms without loss, also while the quality changes", async () => {
    for (const [step, count] of [
      ["thousand", 1000],
      ["changes", 3000],
    ] as const) {
      // Each ping has an answer, and a few frames are not pings.
      const passed = (text: string) => {
        const [before, after] = reports("thousand", text);
        return (["a", "b"] as const).map((side) => {
          const [from, to] = [before!.counters[side], after!.counters[side]];
          return { sent: to.sent - from.sent, lost: to.lost - from.lost, queued: to.queued };
        });
      };
      // A few frames of the kernel's own may pass as well, or be on their way still.
      const isWhole = (sides: ReturnType<typeof passed>) =>
        sides.every(({ sent, lost, queued }) => sent - queued >= count && sent < count + 30 && lost === 0);
      await figure(step, passed, isWhole);
    }
  });

  test("a link leaves netem while frames are on their way: all arrive, and then its devices go", async () => {
    const wanted = { adopted: [3], effective: whole({ delay: 3000 }), existedMeanwhile: true, received: 20, existsAfter: false };
    await figure(
      "drop",
      (text) => JSON.parse(text.trim()),
      (result) => isDeepStrictEqual(result, wanted),
    );
  });
});
