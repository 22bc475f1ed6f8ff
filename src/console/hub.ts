import type { Duplex } from "node:stream";
import { Failure } from "../contract/errors.ts";
import { QueryFilter, withoutQueries } from "./queries.ts";
import { Scrollback } from "./scrollback.ts";
import { Viewer } from "./viewer.ts";

/** A console as the host opened it: its bytes, and how to tell it the window size where it has one. */
export interface ConsoleSource {
  readonly stream: Duplex;
  /** How many of its first bytes are from before it was opened: whatever they ask of a terminal was asked long ago. Default 0. */
  readonly recalled?: number;
  readonly resize?: (columns: number, rows: number) => void;
  /** Gives what is read to `each` and not to the stream's readers, in memory that is used again after the call. Absent: the stream is read. */
  readonly listen?: (each: (bytes: Buffer) => void) => void;
}

export interface HubOptions {
  /** Opens the one upstream; called again when a viewer comes after the upstream ended. */
  readonly open: () => Promise<ConsoleSource>;
  /** What a late viewer gets first. Default 64 KiB. */
  readonly scrollbackBytes?: number;
  /** What may wait for a viewer; what comes beyond is lost to it, and told. Default 1 MiB. */
  readonly viewerBytes?: number;
  /** How long the node is held back at once for viewers that are all behind. Default 250 ms. */
  readonly stallMs?: number;
  /** How long the upstream stays open without viewers, unless it says more than 1 MiB. Default 30 s. */
  readonly idleMs?: number;
  /** Called when the upstream is closed: idle, ended or close(). */
  readonly onClosed?: () => void;
}

export interface ViewOptions {
  /** Behind it is a terminal that answers what the console asks (cursor position, type). Default true. */
  readonly terminal?: boolean;
  /** Begins with the recent output; false: with the first byte that comes from now on. Default true. */
  readonly scrollback?: boolean;
}

interface Upstream {
  readonly source: ConsoleSource;
  readonly scrollback: Scrollback;
}

/** Bytes that a console may say while nobody looks, before it is closed. */
const mostUnseen = 1 << 20;

/** Keys are held back at most so long, ms: whoever holds them may have died with its work undone. */
const holdMs = 5_000;

/**
 * One console of one node, shared: one upstream, any number of viewers. Every viewer gets the recent scrollback, then live bytes; what any of them
 * writes goes to the console. What the console asks of its terminal reaches one viewer: who typed last, else the first. A viewer that does not read
 * neither stalls the others nor grows memory: it loses bytes and is told so. Viewers that are all behind hold the node back, for a moment only.
 */
export class ConsoleHub {
  readonly #options: HubOptions;
  readonly #viewers = new Set<Viewer>();
  /** Those with a terminal: the one that answers, then the others in the order they came. */
  #terminals: readonly Viewer[] = [];
  /** Those others. */
  #silent: ReadonlySet<Viewer> = new Set();
  #queries = new QueryFilter();
  #upstream: Promise<Upstream> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #stall: NodeJS.Timeout | undefined;
  #stream: Duplex | undefined;
  #holder: { readonly viewer: Duplex; readonly release: () => void; readonly waiting: (() => void)[] } | undefined;
  /** Bytes that came since nobody looks. */
  #unseen = 0;
  /** Viewers that get nothing from before they came. */
  readonly #withoutScrollback = new WeakSet<Viewer>();
  /** Why it was closed. */
  #closed: string | undefined;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** The upstream is open, or opens now. */
  get open(): boolean {
    return this.#upstream !== undefined;
  }

  /** A stream of this console; destroying it leaves the console to the others. Throws what `open` throws, node_not_running after close(). */
  async view({ terminal = true, scrollback: fromStart = true }: ViewOptions = {}): Promise<Viewer> {
    clearTimeout(this.#idle);
    const { source, scrollback } = await this.#open();
    if (this.#closed !== undefined) throw closed(this.#closed);
    // The wait above may have let an idle timer start again.
    clearTimeout(this.#idle);
    const viewer: Viewer = new Viewer({
      limit: this.#options.viewerBytes ?? 1 << 20,
      type: (bytes, done) => this.#type(source.stream, viewer, bytes, done),
      onRead: () => this.#flow(),
    });
    viewer.once("close", () => this.#leave(viewer));
    this.#viewers.add(viewer);
    if (terminal) this.#setTerminals([...this.#terminals, viewer]);
    if (!fromStart) {
      this.#withoutScrollback.add(viewer);
      return viewer;
    }
    const recent = scrollback.snapshot();
    // What is held back from the silent ones comes to this one with them.
    const known = this.#silent.has(viewer) ? recent.subarray(0, recent.length - this.#queries.waiting.length) : recent;
    viewer.deliver(withoutQueries(known));
    return viewer;
  }

  /** Keeps back what all others type, until the returned function is called. What is held back is typed then. */
  hold(viewer: Duplex): () => void {
    this.#holder?.release();
    const timer = setTimeout(() => release(), holdMs);
    timer.unref();
    const waiting: (() => void)[] = [];
    const release = () => {
      clearTimeout(timer);
      if (this.#holder?.waiting === waiting) this.#holder = undefined;
      for (const type of waiting.splice(0)) type();
    };
    this.#holder = { viewer, release, waiting };
    return release;
  }

  /** Tells the console its window size, where it has one: what was told last counts for all. */
  async resize(columns: number, rows: number): Promise<void> {
    // An upstream that cannot be opened is told to who looks at it.
    const upstream = await this.#upstream?.catch(() => undefined);
    upstream?.source.resize?.(columns, rows);
  }

  /** @param why what has closed it, for people */
  close(why = "the console is closed"): void {
    this.#closed ??= why;
    void this.#shut();
  }

  #open(): Promise<Upstream> {
    if (this.#closed !== undefined) return Promise.reject(closed(this.#closed));
    if (this.#upstream !== undefined) return this.#upstream;
    const opening = this.#options.open().then((source) => {
      const scrollback = new Scrollback(this.#options.scrollbackBytes ?? 64 << 10);
      const { stream } = source;
      this.#stream = stream;
      this.#queries = new QueryFilter();
      let recalled = source.recalled ?? 0;
      const told = (bytes: Buffer) => {
        scrollback.push(bytes);
        const old = bytes.subarray(0, recalled);
        const fresh = bytes.subarray(old.length);
        recalled -= old.length;
        if (old.length > 0) this.#tell(withoutQueries(old), true);
        if (fresh.length > 0) this.#tell(fresh);
      };
      if (source.listen === undefined) stream.on("data", told);
      else source.listen(told);
      const ended = () => {
        if (this.#upstream === opening) void this.#shut();
      };
      stream.once("end", ended);
      stream.once("close", ended);
      // Why it broke is the host's to tell; viewers see the end either way.
      stream.on("error", ended);
      return { source, scrollback };
    });
    this.#upstream = opening;
    opening.catch(() => {
      if (this.#upstream === opening) this.#upstream = undefined;
    });
    return opening;
  }

  #tell(bytes: Buffer, recalled = false): void {
    if (this.#viewers.size === 0) {
      this.#unseen += bytes.length;
      // A node that talks and talks to nobody costs the service nothing; who comes next opens the console anew.
      if (this.#unseen > mostUnseen) void this.#shut();
      return;
    }
    this.#unseen = 0;
    const quiet = this.#silent.size === 0 ? bytes : this.#queries.push(bytes);
    for (const viewer of this.#viewers)
      if (!recalled || !this.#withoutScrollback.has(viewer)) viewer.deliver(this.#silent.has(viewer) ? quiet : bytes);
    this.#flow();
  }

  /** Viewers that are all behind hold the upstream back, but not for long: then they lose bytes, and the node goes on. */
  #flow(): void {
    const stream = this.#stream;
    if (stream === undefined || this.#viewers.size === 0) return;
    let behind = true;
    for (const viewer of this.#viewers) behind &&= viewer.behind;
    if (!behind) {
      clearTimeout(this.#stall);
      this.#stall = undefined;
      if (stream.isPaused()) stream.resume();
    } else if (this.#stall === undefined) {
      stream.pause();
      // It stays set until somebody has caught up: the node is held back once.
      this.#stall = setTimeout(() => stream.resume(), this.#options.stallMs ?? 250);
      this.#stall.unref();
    }
  }

  #setTerminals(terminals: readonly Viewer[]): void {
    const [first, ...others] = terminals;
    // The one that answers now was silent: it has yet to get what was held back.
    if (first !== undefined && this.#silent.has(first)) first.deliver(this.#queries.waiting);
    this.#terminals = terminals;
    this.#silent = new Set(others);
    if (others.length === 0) this.#queries = new QueryFilter();
  }

  #type(stream: Duplex, viewer: Viewer, bytes: Buffer, done: () => void): void {
    if (this.#holder !== undefined && this.#holder.viewer !== viewer) {
      this.#holder.waiting.push(() => this.#type(stream, viewer, bytes, done));
      return;
    }
    // The one who answers becomes silent, and would miss what is held back: another time then.
    if (this.#silent.has(viewer) && this.#queries.waiting.length === 0) {
      this.#setTerminals([viewer, ...this.#terminals.filter((one) => one !== viewer)]);
    }
    if (stream.destroyed || !stream.writable) done();
    else stream.write(bytes, () => done());
  }

  #leave(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    this.#setTerminals(this.#terminals.filter((one) => one !== viewer));
    if (this.#holder?.viewer === viewer) this.#holder.release();
    if (this.#viewers.size > 0) this.#flow();
    if (this.#viewers.size > 0 || this.#upstream === undefined) return;
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#stream?.resume();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#shut(), this.#options.idleMs ?? 30_000);
    this.#idle.unref();
  }

  async #shut(): Promise<void> {
    clearTimeout(this.#idle);
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#holder?.release();
    const opening = this.#upstream;
    this.#upstream = undefined;
    this.#stream = undefined;
    for (const viewer of this.#viewers) viewer.finish();
    this.#viewers.clear();
    this.#setTerminals([]);
    if (opening === undefined) return;
    const upstream = await opening.catch(() => undefined);
    upstream?.source.stream.destroy();
    this.#options.onClosed?.();
  }
}

function closed(why: string): Failure {
  return new Failure("node_not_running", why);
}
