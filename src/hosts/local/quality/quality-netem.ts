import { setTimeout as delay } from "node:timers/promises";
import { SerialQueue } from "../../../base/keyed-queue.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { completeQuality, isReadBackOf } from "./quality.ts";
import type { LinkShaper, ShapedLink, ShapedLinkState } from "./quality-shaper.ts";

/**
 * Shapes the links of one lab by the kernel's netem, on the same device pairs as the shaper process: `p3a` and `p3b` redirect to each other, and each has a
 * netem. Frames come there cut to the link's MTU and with checksums.
 */
export class LabNetem implements LinkShaper {
  readonly #sandbox: Pick<Sandbox, "run">;
  readonly #links = new Map<number, ShapedLink>();
  /** Reads and changes of the queueing disciplines. */
  readonly #calls = new SerialQueue();
  #closed = false;

  constructor(sandbox: Pick<Sandbox, "run">) {
    this.#sandbox = sandbox;
  }

  get links(): ReadonlyMap<number, ShapedLink> {
    return this.#links;
  }

  async adopt(): Promise<void> {
    for (const [id, { mtu, a, b, draining }] of (await this.read()) ?? []) if (!draining) this.#links.set(id, { mtu, a, b });
  }

  put(links: ReadonlyMap<number, ShapedLink>): Promise<void> {
    return this.#calls.run(async () => {
      if (links.size === 0) return;
      const states = await this.#read();
      for (const [id, link] of links) this.#links.set(id, link);
      await this.#tc([...links].map(([id, link]) => netemBatch(id, link, !states.has(id))).join(""));
    });
  }

  drop(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return Promise.resolve();
    return this.#calls.run(async () => {
      const none = { a: completeQuality(undefined), b: completeQuality(undefined) };
      const states = await this.#read();
      for (const id of ids) this.#links.delete(id);
      // No new frame is redirected here any more; waiting frames keep their delay.
      await this.#tc(
        ids
          .filter((id) => states.has(id))
          .map((id) => netemBatch(id, none, false))
          .join(""),
      );
      void this.#drain(ids);
    });
  }

  read(): Promise<ReadonlyMap<number, ShapedLinkState> | null> {
    return this.#calls.run(() => this.#read());
  }

  close(): void {
    this.#closed = true;
  }

  async #read(): Promise<ReadonlyMap<number, ShapedLinkState>> {
    const argv = ["tc", "-s", "-j", "qdisc", "show"];
    const { stdout } = succeeded(argv, await this.#sandbox.run(argv));
    return parseNetem(stdout, this.#links);
  }

  async #tc(text: string): Promise<void> {
    const argv = ["tc", "-batch", "-"];
    if (text !== "") succeeded(argv, await this.#sandbox.run(argv, text));
  }

  /** Deletes the devices of these links when no frame waits in them. If the service ends before that, the next reconcile drops them again. */
  async #drain(ids: readonly number[]): Promise<void> {
    let left = ids;
    for (let pause = 20; left.length > 0 && !this.#closed; pause = Math.min(pause * 2, 500)) {
      try {
        left = await this.#calls.run(async () => {
          const states = await this.#read();
          const dropped = left.filter((id) => !this.#links.has(id));
          const empty = dropped.filter((id) => {
            const state = states.get(id);
            return state === undefined || (state.counters.a.queued === 0 && state.counters.b.queued === 0);
          });
          const text = empty.flatMap((id) => [`link del dev q${id}a\n`, `link del dev q${id}b\n`]).join("");
          if (text !== "") await this.#sandbox.run(["ip", "-force", "-batch", "-"], text);
          return dropped.filter((id) => !empty.includes(id));
        });
      } catch {
        // The lab has ended, and the devices with it. If the holder only does not answer, the next reconcile of the fabric drops the devices.
        return;
      }
      await delay(pause, undefined, { ref: false });
    }
  }
}

/**
 * Returns the lines for `tc -batch`. netem is attached once and then changed, which loses no frame.
 * @param fresh the link has no netem yet
 */
export function netemBatch(id: number, { a, b }: Pick<ShapedLink, "a" | "b">, fresh: boolean): string {
  const verb = fresh ? "replace" : "change";
  // Frames that leave endpoint a go out of p<id>b.
  const lines = [
    `qdisc ${verb} dev p${id}b root handle 1: netem ${netemParameters(a)}`,
    `qdisc ${verb} dev p${id}a root handle 1: netem ${netemParameters(b)}`,
  ];
  if (fresh) {
    for (const [from, to] of [
      ["a", "b"],
      ["b", "a"],
    ]) {
      lines.push(`qdisc replace dev p${id}${from} clsact`);
      lines.push(
        `filter replace dev p${id}${from} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev p${id}${to}`,
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

/** kbit/s, so high that no frame waits for it. netem without a rate would let frames overtake each other if there is jitter. */
const unlimitedRate = 100_000_000;

/** Names every parameter, because netem keeps the old value of a parameter that a change omits. */
function netemParameters(quality: Required<Quality>): string {
  const { delay: late, jitter, loss, bandwidth } = quality;
  const rate = Math.round(bandwidth) || (bandwidth > 0 ? 1 : unlimitedRate);
  return `limit ${frameLimit(quality)} delay ${Math.round(late * 1000)}us ${Math.round(jitter * 1000)}us loss random ${loss}% rate ${rate}kbit`;
}

/**
 * Returns the length of netem's queue, which holds delayed frames and frames that wait for bandwidth: enough for the delay and 100 ms of waiting, in frames
 * of 512 bytes.
 */
function frameLimit({ delay: late, jitter, bandwidth }: Required<Quality>): number {
  if (bandwidth === 0) return 200_000;
  return Math.min(200_000, Math.max(16, Math.ceil(((late + jitter + 100) * bandwidth) / (8 * 512))));
}

interface Qdisc {
  readonly kind: string;
  readonly dev?: string;
  readonly packets?: number;
  readonly drops?: number;
  readonly qlen?: number;
  readonly options?: {
    /** Seconds. */
    readonly delay?: { readonly delay: number; readonly jitter?: number };
    /** A part of 1. */
    readonly "loss-random"?: { readonly loss: number };
    readonly rate?: { /** Bytes a second. */ readonly rate: number };
  };
}

/**
 * Parses the output of `tc -s -j qdisc show`.
 * @param wanted link → the quality that netem was given, if it is known: it replaces a quality that was read back with rounding errors
 */
export function parseNetem(text: string, wanted: ReadonlyMap<number, ShapedLink>): ReadonlyMap<number, ShapedLinkState> {
  const flows = new Map<string, Qdisc>();
  for (const qdisc of JSON.parse(text || "[]") as Qdisc[])
    if (qdisc.kind === "netem" && qdisc.dev !== undefined) flows.set(qdisc.dev, qdisc);
  const states = new Map<number, ShapedLinkState>();
  for (const dev of [...flows.keys()].sort()) {
    const id = Number(/^p(\d+)a$/.exec(dev)?.[1]);
    const [a, b] = [flows.get(`p${id}b`), flows.get(`p${id}a`)];
    if (a === undefined || b === undefined) continue;
    const known = wanted.get(id);
    const counters = { a: countersOf(a), b: countersOf(b) };
    const read = { a: qualityOf(a), b: qualityOf(b) };
    const { a: sideA, b: sideB } = known !== undefined && isReadBackOf(known, read) ? known : read;
    states.set(id, { mtu: known?.mtu ?? 0, a: sideA, b: sideB, draining: false, counters });
  }
  return states;
}

function qualityOf({ options }: Qdisc): ShapedLinkState["a"] {
  const round = (value: number) => Math.round(value * 1e6) / 1e6;
  const kbit = ((options?.rate?.rate ?? 0) * 8) / 1000;
  return {
    delay: round((options?.delay?.delay ?? 0) * 1000),
    jitter: round((options?.delay?.jitter ?? 0) * 1000),
    loss: round((options?.["loss-random"]?.loss ?? 0) * 100),
    bandwidth: kbit >= unlimitedRate ? 0 : kbit,
  };
}

function countersOf({ packets = 0, drops = 0, qlen = 0 }: Qdisc): ShapedLinkState["counters"]["a"] {
  // netem counts random losses and frames beyond its queue together.
  return { received: packets + drops, sent: packets, lost: drops, overflow: 0, missed: 0, refused: 0, queued: qlen };
}
