import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { Trash } from "../trash.ts";
import { Turns } from "../turns.ts";
import { ringFilesIn } from "./capture-record.ts";
import { readCapture } from "./read-capture.ts";
import { copyForDecoder, makeDecoderDirectory, Sharkd } from "./sharkd.ts";

/** A capture that is looked at closely: a copy of its packets, and the sharkd that has read it. */
export interface View {
  readonly sharkd: Sharkd;
  /** The oldest file of the ring that is in the copy. */
  readonly oldest: number;
}

interface OpenView {
  readonly directory: string;
  readonly sharkd: Sharkd;
  /** What of the capture is in the copy. */
  mark: string;
  oldest: number;
  readAt: number;
  readMs: number;
  usedAt: number;
  copies: number;
  /** About to be dropped for another. */
  leaving: boolean;
}

export interface DecodersOptions {
  /** The state directory, where the captures are: of it a decoder sees its own packets only. */
  readonly state: string;
  /** Takes the directories of decoders that have ended. */
  readonly trash: Trash;
  /** Decoders that run at once. */
  readonly most: number;
  /** Told of what cannot be removed; it is tried again with the next open. */
  readonly warn: (text: string) => void;
}

const idleMs = 60_000;
/** A capture that runs is read anew at most so often, and the rarer the longer that takes. */
const freshMs = 1_000;

/**
 * The decoders of the host's captures: one for each that was looked at in the last minute, and no more than so many. Looks at one capture
 * wait for each other; those at different ones only where all decoders are at work.
 *
 * A decoder works in a directory in `<state>/views`, which is the service's own: only there it is certain that what the service makes is what it
 * gives away. The directory of the capture belongs to the lab's root.
 */
export class Decoders {
  readonly #options: DecodersOptions;
  readonly #home: string;
  /** Directory of the capture → its view. */
  readonly #views = new Map<string, OpenView>();
  readonly #turns = new Turns<string>();
  #places: number;
  /** Whoever waits for a place, first come first. */
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(options: DecodersOptions) {
    this.#options = options;
    this.#home = join(options.state, "views");
    this.#places = options.most;
  }

  /** Removes what an earlier run of the service left. */
  static async open(options: DecodersOptions): Promise<Decoders> {
    const decoders = new Decoders(options);
    await mkdir(decoders.#home, { recursive: true, mode: 0o700 });
    for (const name of await readdir(decoders.#home)) await options.trash.discard(join(decoders.#home, name));
    return decoders;
  }

  /** Works with a decoder that has read this capture not long ago. */
  with<T>(capture: string, work: (view: View) => Promise<T>): Promise<T> {
    return this.#turns.run(capture, async () => {
      const view = await this.#fresh(capture);
      try {
        return await work(view);
      } finally {
        // A capture that many look at does not keep its decoder from those who wait.
        if (view.sharkd.ended || this.#waiting.length > 0) await this.#drop(capture);
      }
    });
  }

  /** Of a capture that is removed. */
  async forget(capture: string): Promise<void> {
    // Whoever waits for its answer has nothing to wait for.
    void this.#views.get(capture)?.sharkd.close();
    await this.#turns.run(capture, () => this.#drop(capture));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    for (const waiting of this.#waiting.splice(0)) waiting();
    await Promise.all([...this.#views.keys()].map((capture) => this.forget(capture)));
    // Those that are about to have a view are refused.
    await this.#turns.ended();
  }

  async #fresh(capture: string): Promise<OpenView> {
    this.#refuseClosed();
    const files = await ringFilesIn(capture);
    const mark = files.map(({ sequence, bytes }) => `${sequence}:${bytes}`).join(" ");
    const known = this.#views.get(capture);
    const now = Date.now();
    if (known !== undefined && !known.sharkd.ended) {
      known.usedAt = now;
      if (known.mark === mark || now - known.readAt < Math.max(freshMs, known.readMs * 4)) return known;
    }
    const view = known !== undefined && !known.sharkd.ended ? known : await this.#open(capture);
    const started = Date.now();
    try {
      const before = view.copies++;
      const name = `capture-${view.copies}.pcapng`;
      await copyForDecoder(join(view.directory, name), readCapture({ directory: capture, state: stopped }, false));
      await view.sharkd.request("load", { file: name });
      if (before > 0) await rm(join(view.directory, `capture-${before}.pcapng`), { force: true });
    } catch (error) {
      await this.#drop(capture);
      throw error;
    }
    Object.assign(view, { mark, oldest: files[0]?.sequence ?? 1, readAt: Date.now(), readMs: Date.now() - started, usedAt: Date.now() });
    return view;
  }

  async #open(capture: string): Promise<OpenView> {
    await this.#drop(capture);
    await this.#takePlace();
    const directory = join(this.#home, randomUUID());
    try {
      this.#refuseClosed();
      await makeDecoderDirectory(directory);
      this.#refuseClosed();
      const sharkd = new Sharkd(directory, this.#options.state);
      const view = { directory, sharkd, mark: "", oldest: 1, readAt: 0, readMs: 0, usedAt: Date.now(), copies: 0, leaving: false };
      this.#views.set(capture, view);
      this.#timer ??= setInterval(() => this.#dropIdle(), idleMs / 4).unref();
      return view;
    } catch (error) {
      await this.#discard(directory);
      this.#freePlace();
      throw error;
    }
  }

  /** A view that nobody looks at makes room, the one that was used longest ago; else the first whose work is done. */
  async #takePlace(): Promise<void> {
    if (this.#places > 0) {
      this.#places--;
      return;
    }
    const place = new Promise<void>((resolve) => this.#waiting.push(resolve));
    const idle = [...this.#views].filter(([capture, { leaving }]) => !leaving && !this.#turns.busy(capture));
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest !== undefined) this.#leave(...oldest);
    await place;
  }

  #freePlace(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#places++;
    else next();
  }

  #leave(capture: string, view: OpenView): void {
    view.leaving = true;
    void this.#turns.run(capture, () => this.#drop(capture));
  }

  #dropIdle(): void {
    const since = Date.now() - idleMs;
    for (const [capture, view] of this.#views)
      if (view.usedAt < since && !view.leaving && !this.#turns.busy(capture)) this.#leave(capture, view);
    if (this.#views.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** In the capture's turn. */
  async #drop(capture: string): Promise<void> {
    const view = this.#views.get(capture);
    if (view === undefined) return;
    this.#views.delete(capture);
    await view.sharkd.close();
    await this.#discard(view.directory);
    this.#freePlace();
  }

  async #discard(directory: string): Promise<void> {
    const { trash, warn } = this.#options;
    await trash.discard(directory).catch((error: Error) => warn(`the packets of a decoder are still in ${directory}: ${error.message}`));
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Failure("host_error", "the host is being closed");
  }
}

/** A copy is of what is there: how the capture goes on does not matter. */
async function stopped(): Promise<never> {
  throw new Error("a copy does not ask");
}
