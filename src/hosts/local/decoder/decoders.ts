import { randomUUID } from "node:crypto";
import { access, constants, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import { ringFilesIn } from "../capture/capture-record.ts";
import type { Trash } from "../files/trash.ts";
import { FairPlaces } from "../sync/fair-places.ts";
import { readCapture } from "./read-capture.ts";
import { copyForDecoder, makeDecoderDirectory, Sharkd } from "./sharkd.ts";

/** A capture in use: a copy of its packets, and the sharkd process that has read it. */
export interface View {
  readonly sharkd: Sharkd;
  /** The oldest file of the ring that is in the copy. */
  readonly oldest: number;
}

interface OpenView {
  readonly user: string;
  readonly directory: string;
  readonly sharkd: Sharkd;
  /** Identifies the part of the capture that is in the copy. */
  mark: string;
  oldest: number;
  readAt: number;
  readMs: number;
  usedAt: number;
  copies: number;
  /** The view is being closed to make room for another. */
  leaving: boolean;
}

export interface DecodersOptions {
  /** labwright-decoder, built by set-up. */
  readonly program: string;
  /** The state directory, which contains the captures. A decoder sees only the packets of its own capture. */
  readonly state: string;
  /** Removes the directories of ended decoders. */
  readonly trash: Trash;
  /** Decoders that run at once. */
  readonly most: number;
  /** Called with directories that cannot be removed; the next open tries again. */
  readonly warn: (text: string) => void;
}

const idleMs = 60_000;
/** A running capture is read again at most this often, and less often if reading takes long. */
const freshMs = 1_000;

/**
 * The decoders of the host's captures: one for each user and capture of the last minute, up to a limit. Requests of a user about one capture run one
 * after the other. Other requests wait only if all decoders available to the user are busy. One user may have half of them.
 *
 * A decoder works in a directory in `<state>/views`, which belongs to the service. The directory of the capture would not be safe: it belongs to the
 * lab's root, who could replace a file before the service changes its owner.
 */
export class Decoders {
  readonly #options: DecodersOptions;
  readonly #home: string;
  /** User and directory of the capture → the view. */
  readonly #views = new Map<string, OpenView>();
  /** The same keys, including views that are not open yet → directory of the capture. */
  readonly #captures = new Map<string, string>();
  readonly #queue = new KeyedQueue();
  readonly #places: FairPlaces;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(options: DecodersOptions) {
    this.#options = options;
    this.#home = join(options.state, "views");
    this.#places = new FairPlaces(options.most);
  }

  /** Removes what an earlier run of the service left. */
  static async open(options: DecodersOptions): Promise<Decoders> {
    const decoders = new Decoders(options);
    await mkdir(decoders.#home, { recursive: true, mode: 0o700 });
    for (const name of await readdir(decoders.#home)) await options.trash.discard(join(decoders.#home, name));
    return decoders;
  }

  /** Runs the work with a decoder of this user that has read the capture recently. */
  with<T>(capture: string, user: string, work: (view: View) => Promise<T>): Promise<T> {
    const key = keyOf(capture, user);
    this.#captures.set(key, capture);
    return this.#queue.run(key, async () => {
      const view = await this.#fresh(capture, user);
      try {
        return await work(view);
      } finally {
        // Even a capture in constant use gives up its decoder if other requests wait for one.
        if (view.sharkd.ended || this.#places.isWantedOf(user)) await this.#drop(key);
      }
    });
  }

  /** Closes the views of a capture that is removed. */
  async forget(capture: string): Promise<void> {
    await this.#forget([...this.#captures].flatMap(([key, of]) => (of === capture ? [key] : [])));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#places.open();
    await this.#forget([...this.#captures.keys()]);
    // Callers that are waiting for a view are refused.
    await this.#queue.idle();
  }

  async #forget(keys: readonly string[]): Promise<void> {
    // Callers that wait for an answer fail.
    for (const key of keys) void this.#views.get(key)?.sharkd.close();
    await Promise.all(keys.map((key) => this.#queue.run(key, () => this.#drop(key))));
  }

  async #fresh(capture: string, user: string): Promise<OpenView> {
    this.#refuseClosed();
    const key = keyOf(capture, user);
    this.#captures.set(key, capture);
    const files = await ringFilesIn(capture);
    const mark = files.map(({ sequence, bytes }) => `${sequence}:${bytes}`).join(" ");
    const known = this.#views.get(key);
    const now = Date.now();
    if (known !== undefined && !known.sharkd.ended) {
      known.usedAt = now;
      if (known.mark === mark || now - known.readAt < Math.max(freshMs, known.readMs * 4)) return known;
    }
    const view = known !== undefined && !known.sharkd.ended ? known : await this.#open(capture, user);
    const started = Date.now();
    try {
      const before = view.copies++;
      const name = `capture-${view.copies}.pcapng`;
      await copyForDecoder(join(view.directory, name), readCapture({ directory: capture, state: stopped }, false));
      await view.sharkd.request("load", { file: name });
      if (before > 0) await rm(join(view.directory, `capture-${before}.pcapng`), { force: true });
    } catch (error) {
      await this.#drop(key);
      throw error;
    }
    Object.assign(view, { mark, oldest: files[0]?.sequence ?? 1, readAt: Date.now(), readMs: Date.now() - started, usedAt: Date.now() });
    return view;
  }

  async #open(capture: string, user: string): Promise<OpenView> {
    const key = keyOf(capture, user);
    await this.#drop(key);
    this.#captures.set(key, capture);
    await this.#takePlace(user);
    const directory = join(this.#home, randomUUID());
    try {
      this.#refuseClosed();
      await this.#needProgram();
      await makeDecoderDirectory(directory);
      this.#refuseClosed();
      const sharkd = new Sharkd(this.#options.program, directory, this.#options.state);
      const view = { user, directory, sharkd, mark: "", oldest: 1, readAt: 0, readMs: 0, usedAt: Date.now(), copies: 0, leaving: false };
      this.#views.set(key, view);
      this.#timer ??= setInterval(() => this.#dropIdle(), idleMs / 4).unref();
      return view;
    } catch (error) {
      this.#captures.delete(key);
      await this.#discard(directory);
      this.#places.free(user);
      throw error;
    }
  }

  /** Closes the idle view that was used longest ago to make room. For a user at the limit, closes one of the same user. */
  async #takePlace(user: string): Promise<void> {
    if (this.#places.isFullFor(user)) {
      const own = this.#places.hasAllOf(user);
      const idle = [...this.#views].filter(([key, view]) => !view.leaving && !this.#queue.isBusy(key) && (!own || view.user === user));
      const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
      if (oldest !== undefined) this.#leave(...oldest);
    }
    await this.#places.take(user);
  }

  #leave(key: string, view: OpenView): void {
    view.leaving = true;
    void this.#queue.run(key, () => this.#drop(key));
  }

  #dropIdle(): void {
    const since = Date.now() - idleMs;
    for (const [key, view] of this.#views) if (view.usedAt < since && !view.leaving && !this.#queue.isBusy(key)) this.#leave(key, view);
    if (this.#views.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Runs in the queue of the view. */
  async #drop(key: string): Promise<void> {
    this.#captures.delete(key);
    const view = this.#views.get(key);
    if (view === undefined) return;
    this.#views.delete(key);
    await view.sharkd.close();
    await this.#discard(view.directory);
    this.#places.free(view.user);
  }

  /** Earlier releases had no such program: set-up must run again. */
  async #needProgram(): Promise<void> {
    await access(this.#options.program, constants.X_OK).catch(() => {
      throw new Failure(
        "host_error",
        "this host has no packet decoder: its administrator runs labwright setup. Download the capture to open it in another program",
      );
    });
  }

  async #discard(directory: string): Promise<void> {
    const { trash, warn } = this.#options;
    await trash.discard(directory).catch((error: Error) => warn(`the packets of a decoder are still in ${directory}: ${error.message}`));
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Failure("host_error", "the host is being closed");
  }
}

function keyOf(capture: string, user: string): string {
  return `${user}\0${capture}`;
}

/** A copy contains the packets up to now, so it does not matter whether the capture continues. */
async function stopped(): Promise<never> {
  throw new Error("a copy does not ask");
}
