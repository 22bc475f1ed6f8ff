import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Sides } from "./quality.ts";

/** A shaped link as the shaper is to hold it, by link id; its devices stand in the fabric. */
export interface Cable extends Sides {
  readonly mtu: number;
}

/** A shaped link as the shaper tells it. */
export interface CableState extends Cable {
  /** No longer wanted; delivers what it still holds. */
  readonly draining: boolean;
  readonly counters: { readonly a: FlowCounters; readonly b: FlowCounters };
}

/** Frames of one direction since the shaper took the link. See native/shaper/README.md. */
export interface FlowCounters {
  readonly received: number;
  readonly sent: number;
  readonly lost: number;
  readonly overflow: number;
  readonly missed: number;
  readonly refused: number;
  readonly queued: number;
}

/** What shapes the links of one lab: the shaper process or the kernel's netem. Both work on the same devices, and outlive the service. */
export interface LinkShaper {
  /** What it is to hold, whether it does or not. */
  readonly cables: ReadonlyMap<number, Cable>;
  /** Takes over what an earlier run of the service left. */
  adopt(): Promise<void>;
  /** Adds or changes these; their devices stand. What is on its way keeps its time. */
  put(cables: ReadonlyMap<number, Cable>): Promise<void>;
  /** These deliver what they hold, and then their devices go. */
  drop(ids: readonly number[]): Promise<void>;
  /** As it stands; null where what should shape does not live. */
  read(): Promise<ReadonlyMap<number, CableState> | null>;
  /** Lets go of it; it goes on. */
  close(): void;
}

/**
 * One lab's shaper process, as the service knows it. It outlives the service; one that dies while links need it is started again at once,
 * with all their settings.
 */
export class LabShaper implements LinkShaper {
  readonly #argv: readonly string[];
  readonly #sandbox: Pick<Sandbox, "run">;
  /** What it is to hold. */
  #cables = new Map<number, Cable>();
  #turn: Promise<unknown> = Promise.resolve();
  #watch: AbortController | undefined;
  #closed = false;

  constructor(program: string, lab: string, sandbox: Pick<Sandbox, "run">) {
    this.#argv = [program, `lab=${lab}`];
    this.#sandbox = sandbox;
  }

  get cables(): ReadonlyMap<number, Cable> {
    return this.#cables;
  }

  async adopt(): Promise<void> {
    const standing = await this.read();
    if (standing === null) return;
    for (const [id, { mtu, a, b, draining }] of standing) if (!draining) this.#cables.set(id, { mtu, a, b });
    this.#follow();
  }

  put(cables: ReadonlyMap<number, Cable>): Promise<void> {
    for (const [id, cable] of cables) this.#cables.set(id, cable);
    return cables.size === 0 ? Promise.resolve() : this.#change([...cables].map(putLine));
  }

  drop(ids: readonly number[]): Promise<void> {
    for (const id of ids) this.#cables.delete(id);
    return ids.length === 0 ? Promise.resolve() : this.#change(ids.map((id) => `drop ${id}`));
  }

  read(): Promise<ReadonlyMap<number, CableState> | null> {
    return this.#inTurn(async () => {
      const argv = [...this.#argv, "show"];
      const result = await this.#sandbox.run(argv, "", { timeoutMs: answerMs });
      return result.code === notThere ? null : parseAnswer(succeeded(argv, result).stdout).cables;
    });
  }

  close(): void {
    this.#closed = true;
    this.#watch?.abort();
  }

  #change(lines: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** A small process in the fabric waits for the shaper's end. */
  #follow(): void {
    if (this.#watch !== undefined || this.#closed) return;
    const watch = new AbortController();
    this.#watch = watch;
    const ended = this.#sandbox.run([...this.#argv, "watch"], "", { signal: watch.signal });
    ended.then(
      ({ code }) => {
        this.#watch = undefined;
        if (code === notThere) void this.#revive();
      },
      // The lab is gone, or this was closed.
      () => {
        this.#watch = undefined;
      },
    );
  }

  async #revive(): Promise<void> {
    for (let pause = 50; !this.#closed && this.#cables.size > 0; pause = Math.min(pause * 2, 5000)) {
      try {
        return await this.#change([...this.#cables].map(putLine));
      } catch (error) {
        // A lab that ends takes its shaper along; what else went wrong is tried again, and shows in the status.
        if (!(error instanceof Failure)) throw error;
        await delay(pause, undefined, { ref: false });
      }
    }
  }
}

const notThere = 3;

/** A shaper that does not answer for so long hangs; it answers thousands of lines within milliseconds. */
const answerMs = 20_000;

function putLine([id, { mtu, a, b }]: readonly [number, Cable]): string {
  return `put ${id} ${mtu} ${flowWords(a)} ${flowWords(b)}`;
}

/** Nanoseconds and parts of 1,000,000,000. */
function flowWords({ delay, jitter, loss, bandwidth }: Required<Quality>): string {
  // What is asked for does not round to nothing: no bandwidth would mean unlimited.
  return [delay * 1e6, jitter * 1e6, loss * 1e7, bandwidth].map((value) => (value > 0 ? Math.max(1, Math.round(value)) : 0)).join(" ");
}

interface FlowAnswer extends FlowCounters {
  readonly delay: number;
  readonly jitter: number;
  readonly loss: number;
  readonly bandwidth: number;
}

/** What the shaper answers: one line of JSON. */
export function parseAnswer(text: string): {
  readonly cables: ReadonlyMap<number, CableState>;
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
  return { cables: new Map(states.sort(([a], [b]) => a - b)), problems };
}
