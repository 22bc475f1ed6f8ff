import { setTimeout as delay } from "node:timers/promises";
import { SerialQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { LinkQuality } from "./quality.ts";

/** A link that the shaper delays, drops or limits. Its devices are in the fabric. */
export interface ShapedLink extends LinkQuality {
  readonly mtu: number;
}

/** A shaped link as the shaper reports it. */
export interface ShapedLinkState extends ShapedLink {
  /** The link is dropped, and the shaper still delivers the frames that it holds. */
  readonly draining: boolean;
  readonly counters: { readonly a: FlowCounters; readonly b: FlowCounters };
}

/** Counts of frames of one direction since the link was first shaped. See native/shaper/README.md. */
export interface FlowCounters {
  readonly received: number;
  readonly sent: number;
  readonly lost: number;
  readonly overflow: number;
  readonly missed: number;
  readonly refused: number;
  readonly queued: number;
}

/** Shapes the links of one lab: by the shaper process or by the kernel's netem. Both work on the same devices, and go on when the service ends. */
export interface LinkShaper {
  /** The links that are to be shaped, by id, whether the shaper runs or not. */
  readonly links: ReadonlyMap<number, ShapedLink>;
  /** Takes over the links that an earlier run of the service left. */
  adopt(): Promise<void>;
  /** Adds or changes links whose devices exist. Frames that are on their way keep their delay. */
  put(links: ReadonlyMap<number, ShapedLink>): Promise<void>;
  /** Lets these links deliver the frames that they hold, and then removes their devices. */
  drop(ids: readonly number[]): Promise<void>;
  /** Reads all states; `null` if the shaper process does not run. */
  read(): Promise<ReadonlyMap<number, ShapedLinkState> | null>;
  /** Ends the connection; the shaper goes on. */
  close(): void;
}

/** Client of one lab's shaper process, which outlives the service. If the process dies while links need it, it is restarted with all their settings. */
export class LabShaper implements LinkShaper {
  readonly #argv: readonly string[];
  readonly #sandbox: Pick<Sandbox, "run">;
  readonly #links = new Map<number, ShapedLink>();
  /** Calls of the shaper program. */
  readonly #calls = new SerialQueue();
  #watch: AbortController | undefined;
  #closed = false;

  constructor(program: string, lab: string, sandbox: Pick<Sandbox, "run">) {
    this.#argv = [program, `lab=${lab}`];
    this.#sandbox = sandbox;
  }

  get links(): ReadonlyMap<number, ShapedLink> {
    return this.#links;
  }

  async adopt(): Promise<void> {
    const states = await this.read();
    if (states === null) return;
    for (const [id, { mtu, a, b, draining }] of states) if (!draining) this.#links.set(id, { mtu, a, b });
    this.#follow();
  }

  put(links: ReadonlyMap<number, ShapedLink>): Promise<void> {
    for (const [id, link] of links) this.#links.set(id, link);
    return links.size === 0 ? Promise.resolve() : this.#change([...links].map(putLine));
  }

  drop(ids: readonly number[]): Promise<void> {
    for (const id of ids) this.#links.delete(id);
    return ids.length === 0 ? Promise.resolve() : this.#change(ids.map((id) => `drop ${id}`));
  }

  read(): Promise<ReadonlyMap<number, ShapedLinkState> | null> {
    return this.#calls.run(async () => {
      const argv = [...this.#argv, "show"];
      const result = await this.#sandbox.run(argv, "", { timeoutMs: answerMs });
      return result.code === notRunning ? null : parseAnswer(succeeded(argv, result).stdout).links;
    });
  }

  close(): void {
    this.#closed = true;
    this.#watch?.abort();
  }

  #change(lines: readonly string[]): Promise<void> {
    return this.#calls.run(async () => {
      const argv = [...this.#argv, "ask"];
      const { problems } = parseAnswer(
        succeeded(argv, await this.#sandbox.run(argv, `${lines.join("\n")}\n`, { timeoutMs: answerMs })).stdout,
      );
      this.#follow();
      const [first] = problems;
      if (first === undefined) return;
      const message = `link ${first.id}: ${first.problem}`;
      throw new Failure("host_error", `the shaper: ${message}`, { data: { host: { message } } });
    });
  }

  /** Starts a small process in the fabric that ends with the shaper, unless one runs already. */
  #follow(): void {
    if (this.#watch !== undefined || this.#closed) return;
    const watch = new AbortController();
    this.#watch = watch;
    const ended = this.#sandbox.run([...this.#argv, "watch"], "", { signal: watch.signal });
    ended.then(
      ({ code }) => {
        this.#watch = undefined;
        if (code === notRunning) void this.#revive();
        else void this.#followAgain();
      },
      // The lab has ended, or close() was called.
      () => {
        this.#watch = undefined;
      },
    );
  }

  /** After the watching process was killed alone. */
  async #followAgain(): Promise<void> {
    await delay(watchAgainMs, undefined, { ref: false });
    this.#follow();
  }

  async #revive(): Promise<void> {
    for (let pause = 50; !this.#closed && this.#links.size > 0; pause = Math.min(pause * 2, 5000)) {
      try {
        return await this.#change([...this.#links].map(putLine));
      } catch (error) {
        // The lab may have ended with its shaper. Any other failure is retried; until then the lab's status shows the links as severed.
        if (!(error instanceof Failure)) throw error;
        await delay(pause, undefined, { ref: false });
      }
    }
  }
}

/** Exit code of the shaper program if the lab has no shaper process. */
const notRunning = 3;

/** Time until the shaper is watched again, ms. */
const watchAgainMs = 200;

/** After this time without an answer the shaper hangs: it answers thousands of lines within milliseconds. */
const answerMs = 20_000;

function putLine([id, { mtu, a, b }]: readonly [number, ShapedLink]): string {
  return `put ${id} ${mtu} ${flowWords(a)} ${flowWords(b)}`;
}

/** Returns times in nanoseconds, loss in parts of 1,000,000,000 and bandwidth in kbit/s. */
function flowWords({ delay, jitter, loss, bandwidth }: Required<Quality>): string {
  // At least 1, because 0 means none, and for the bandwidth unlimited.
  return [delay * 1e6, jitter * 1e6, loss * 1e7, bandwidth].map((value) => (value > 0 ? Math.max(1, Math.round(value)) : 0)).join(" ");
}

interface FlowAnswer extends FlowCounters {
  readonly delay: number;
  readonly jitter: number;
  readonly loss: number;
  readonly bandwidth: number;
}

/** Parses the answer of the shaper, one line of JSON. The word "cables" in it means links. */
export function parseAnswer(text: string): {
  readonly links: ReadonlyMap<number, ShapedLinkState>;
  readonly problems: readonly { readonly id: number; readonly problem: string }[];
} {
  const { cables, problems } = JSON.parse(text) as {
    readonly problems: readonly { readonly id: number; readonly problem: string }[];
    readonly cables: readonly { id: number; mtu: number; draining: boolean; a: FlowAnswer; b: FlowAnswer }[];
  };
  const quality = ({ delay, jitter, loss, bandwidth }: FlowAnswer) => ({
    delay: delay / 1e6,
    jitter: jitter / 1e6,
    loss: loss / 1e7,
    bandwidth,
  });
  const counters = ({ received, sent, lost, overflow, missed, refused, queued }: FlowAnswer) => ({
    received,
    sent,
    lost,
    overflow,
    missed,
    refused,
    queued,
  });
  const states = cables.map(({ id, mtu, draining, a, b }) => {
    const state = { mtu, draining, a: quality(a), b: quality(b), counters: { a: counters(a), b: counters(b) } };
    return [id, state] as const;
  });
  return { links: new Map(states.sort(([a], [b]) => a - b)), problems };
}
