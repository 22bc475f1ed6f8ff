import { setTimeout as delay } from "node:timers/promises";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type hasEffect, isToldAs, wholeQuality } from "./quality.ts";
import type { Cable, CableState, LinkShaper } from "./quality-shaper.ts";

/**
 * Shaped links of one lab by the kernel's netem. The pairs are those of the shaper process: `p3a` and `p3b` hand each other's frames on, and each has
 * a netem, so that what arrives there was cut into frames and has its checksums.
 */
export class LabNetem implements LinkShaper {
  readonly #sandbox: Pick<Sandbox, "run">;
  readonly #cables = new Map<number, Cable>();
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(sandbox: Pick<Sandbox, "run">) {
    this.#sandbox = sandbox;
  }

  get cables(): ReadonlyMap<number, Cable> {
    return this.#cables;
  }

  async adopt(): Promise<void> {
    for (const [id, { mtu, a, b, draining }] of (await this.read()) ?? []) if (!draining) this.#cables.set(id, { mtu, a, b });
  }

  put(cables: ReadonlyMap<number, Cable>): Promise<void> {
    return this.#inTurn(async () => {
      if (cables.size === 0) return;
      const standing = await this.#read();
      for (const [id, cable] of cables) this.#cables.set(id, cable);
      await this.#tc([...cables].map(([id, cable]) => netemBatch(id, cable, !standing.has(id))).join(""));
    });
  }

  drop(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return Promise.resolve();
    return this.#inTurn(async () => {
      const none = { mtu: 0, a: wholeQuality(undefined), b: wholeQuality(undefined) };
      const standing = await this.#read();
      for (const id of ids) this.#cables.delete(id);
      // New frames do not come here any more; those that wait keep their time.
      await this.#tc(
        ids
          .filter((id) => standing.has(id))
          .map((id) => netemBatch(id, none, false))
          .join(""),
      );
      void this.#drain(ids);
    });
  }

  read(): Promise<ReadonlyMap<number, CableState> | null> {
    return this.#inTurn(() => this.#read());
  }

  close(): void {
    this.#closed = true;
  }

  async #read(): Promise<ReadonlyMap<number, CableState>> {
    const argv = ["tc", "-s", "-j", "qdisc", "show"];
    const { stdout } = succeeded(argv, await this.#sandbox.run(argv));
    return parseNetem(stdout, this.#cables);
  }

  async #tc(text: string): Promise<void> {
    const argv = ["tc", "-batch", "-"];
    if (text !== "") succeeded(argv, await this.#sandbox.run(argv, text));
  }

  /** Deletes the devices of these when they hold nothing any more. What a service that ends meanwhile leaves, the next sync drops again. */
  async #drain(ids: readonly number[]): Promise<void> {
    let left = ids;
    for (let pause = 20; left.length > 0 && !this.#closed; pause = Math.min(pause * 2, 500)) {
      try {
        left = await this.#inTurn(async () => {
          const standing = await this.#read();
          const dropped = left.filter((id) => !this.#cables.has(id));
          const empty = dropped.filter((id) => {
            const state = standing.get(id);
            return state === undefined || (state.counters.a.queued === 0 && state.counters.b.queued === 0);
          });
          const text = empty.flatMap((id) => [`link del dev q${id}a\n`, `link del dev q${id}b\n`]).join("");
          if (text !== "") await this.#sandbox.run(["ip", "-force", "-batch", "-"], text);
          return dropped.filter((id) => !empty.includes(id));
        });
      } catch {
        // The lab has ended, and they with it.
        return;
      }
      await delay(pause, undefined, { ref: false });
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

/**
 * For `tc -batch`. netem is attached once and then changed, which loses nothing.
 * @param fresh the link is not shaped yet
 */
export function netemBatch(id: number, { a, b }: Pick<Cable, "a" | "b">, fresh: boolean): string {
  const verb = fresh ? "replace" : "change";
  // What leaves side a goes out of p<id>b.
  const lines = [
    `qdisc ${verb} dev p${id}b root handle 1: netem ${netemWords(a)}`,
    `qdisc ${verb} dev p${id}a root handle 1: netem ${netemWords(b)}`,
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

/** 100 Gbit/s: nothing waits for it, and netem with a rate keeps frames in order where jitter would make them overtake. */
const orderly = 100_000_000;

/** Every parameter is named: what a change leaves out, netem keeps. */
function netemWords(quality: Parameters<typeof hasEffect>[0]): string {
  const { delay: late, jitter, loss, bandwidth } = quality;
  const rate = Math.round(bandwidth) || (bandwidth > 0 ? 1 : orderly);
  return `limit ${frameLimit(quality)} delay ${Math.round(late * 1000)}us ${Math.round(jitter * 1000)}us loss random ${loss}% rate ${rate}kbit`;
}

/** netem has one queue for what is on its way and what waits for bandwidth: room for both, the latter 100 ms, in frames of 512 bytes. */
function frameLimit({ delay: late, jitter, bandwidth }: Parameters<typeof hasEffect>[0]): number {
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
 * The answer of `tc -s -j qdisc show`.
 * @param wanted what was asked for, by link, where that is known
 */
export function parseNetem(text: string, wanted: ReadonlyMap<number, Cable>): ReadonlyMap<number, CableState> {
  const flows = new Map<string, Qdisc>();
  for (const qdisc of JSON.parse(text || "[]") as Qdisc[])
    if (qdisc.kind === "netem" && qdisc.dev !== undefined) flows.set(qdisc.dev, qdisc);
  const states = new Map<number, CableState>();
  for (const dev of [...flows.keys()].sort()) {
    const id = Number(/^p(\d+)a$/.exec(dev)?.[1]);
    const [a, b] = [flows.get(`p${id}b`), flows.get(`p${id}a`)];
    if (a === undefined || b === undefined) continue;
    const known = wanted.get(id);
    const counters = { a: countersOf(a), b: countersOf(b) };
    const told = { a: qualityOf(a), b: qualityOf(b) };
    const { a: sideA, b: sideB } = known !== undefined && isToldAs(known, told) ? known : told;
    states.set(id, { mtu: known?.mtu ?? 0, a: sideA, b: sideB, draining: false, counters });
  }
  return states;
}

function qualityOf({ options }: Qdisc): CableState["a"] {
  const round = (value: number) => Math.round(value * 1e6) / 1e6;
  const kbit = ((options?.rate?.rate ?? 0) * 8) / 1000;
  return {
    delay: round((options?.delay?.delay ?? 0) * 1000),
    jitter: round((options?.delay?.jitter ?? 0) * 1000),
    loss: round((options?.["loss-random"]?.loss ?? 0) * 100),
    bandwidth: kbit >= orderly ? 0 : kbit,
  };
}

function countersOf({ packets = 0, drops = 0, qlen = 0 }: Qdisc): CableState["counters"]["a"] {
  // netem does not tell what it dropped by chance from what found no room.
  return { received: packets + drops, sent: packets, lost: drops, overflow: 0, missed: 0, refused: 0, queued: qlen };
}
