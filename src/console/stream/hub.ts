import type { Duplex } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import { QueryFilter, withoutQueries } from "./queries.ts";
import { Scrollback } from "./scrollback.ts";
import { Viewer } from "./viewer.ts";

/** A console that the host has opened: its bytes, and how to set the window size if it has one. */
export interface ConsoleSource {
  readonly stream: Duplex;
  /** Number of first bytes that are from before it was opened: queries to a terminal in them are old. Default 0. */
  readonly recalled?: number;
  readonly resize?: (columns: number, rows: number) => void;
  /** Passes the data to `each` instead of the stream's readers. The memory is reused after the call. Absent: the stream is read. */
  readonly listen?: (each: (bytes: Buffer) => void) => void;
}

export interface HubOptions {
  /** Opens the one upstream; called again if a viewer comes after the upstream ended. */
  readonly open: () => Promise<ConsoleSource>;
  /** Bytes of recent output that a new viewer gets first. Default 64 KiB. */
  readonly scrollbackBytes?: number;
  /** Bytes that may be queued for a viewer. It loses further bytes, with a note in the stream. Default 1 MiB. */
  readonly viewerBytes?: number;
  /** How long the node is held back at once if all viewers are behind, ms. Default 500, half of what the embedded host waits for the service. */
  readonly stallMs?: number;
  /** How long the upstream stays open without viewers, unless it prints more than 1 MiB, ms. Default 30,000. */
  readonly idleMs?: number;
  /** Called when the upstream is closed: idle, ended or close(). */
  readonly onClosed?: () => void;
}

export interface ViewOptions {
  /** Whether a terminal behind the viewer answers the console's queries (cursor position, type). Default true. */
  readonly terminal?: boolean;
  /** Whether the viewer starts with the recent output. false: with the first new byte. Default true. */
  readonly scrollback?: boolean;
}

interface Upstream {
  readonly source: ConsoleSource;
  readonly scrollback: Scrollback;
}

/** Bytes that a console may print without viewers before it is closed. */
const maxUnseenBytes = 1 << 20;

/** Keys are held back at most this long, ms: the holder may have ended without releasing them. */
const holdMs = 5_000;

/**
 * One console of one node with one upstream and any number of viewers. Each viewer gets the recent scrollback, then live bytes; keys of every viewer
 * go to the console. A query of the console to its terminal reaches one viewer: the last that typed, else the first. A viewer that does not read
 * neither delays the others nor grows memory: it loses bytes and gets a note. If all viewers are behind, the node is held back for a moment.
 */
export class ConsoleHub {
  readonly #options: HubOptions;
  readonly #viewers = new Set<Viewer>();
  /** Viewers with a terminal: first the one that answers queries, then the others in order of arrival. */
  #terminals: readonly Viewer[] = [];
  /** Viewers with a terminal that do not answer queries. */
  #silent: ReadonlySet<Viewer> = new Set();
  #queries = new QueryFilter();
  #upstream: Promise<Upstream> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #stall: NodeJS.Timeout | undefined;
  #stream: Duplex | undefined;
  #holder: { readonly viewer: Duplex; readonly release: () => void; readonly waiting: (() => void)[] } | undefined;
  /** Bytes that arrived since the last viewer left. */
  #unseen = 0;
  /** Viewers that get no bytes from before they came. */
  readonly #withoutScrollback = new WeakSet<Viewer>();
  /** Why it was closed. */
  #closed: string | undefined;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Whether the upstream is open or opening. */
  get open(): boolean {
    return this.#upstream !== undefined;
  }

  /** Opens a stream of this console; destroying it leaves the console to the others. Throws the error of `open`, and node_not_running after close(). */
  async view({ terminal = true, scrollback: fromStart = true }: ViewOptions = {}): Promise<Viewer> {
    clearTimeout(this.#idle);
    const { source, scrollback } = await this.#open();
    if (this.#closed !== undefined) throw closed(this.#closed);
    // An idle timer may have started again during the wait above.
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
    // A viewer that answers queries also gets the bytes that are held back for a possible query; other viewers get them later.
    const known = this.#silent.has(viewer) ? recent.subarray(0, recent.length - this.#queries.waiting.length) : recent;
    viewer.deliver(withoutQueries(known));
    return viewer;
  }

  /** Holds back the keys of all others until the returned function is called. Then they are sent. */
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

  /** Sets the console's window size, if it has one. The last size applies to all viewers. */
  async resize(columns: number, rows: number): Promise<void> {
    // A failure to open is reported to the viewers.
    const upstream = await this.#upstream?.catch(() => undefined);
    upstream?.source.resize?.(columns, rows);
  }

  /** @param why what closed it, for people */
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
      const onBytes = (bytes: Buffer) => {
        scrollback.push(bytes);
        const old = bytes.subarray(0, recalled);
        const fresh = bytes.subarray(old.length);
        recalled -= old.length;
        if (old.length > 0) this.#deliver(withoutQueries(old), true);
        if (fresh.length > 0) this.#deliver(fresh);
      };
      if (source.listen === undefined) stream.on("data", onBytes);
      else source.listen(onBytes);
      const ended = () => {
        if (this.#upstream === opening) void this.#shut();
      };
      stream.once("end", ended);
      stream.once("close", ended);
      // The host reports why it broke; viewers only see the end.
      stream.on("error", ended);
      return { source, scrollback };
    });
    this.#upstream = opening;
    opening.catch(() => {
      if (this.#upstream === opening) this.#upstream = undefined;
    });
    return opening;
  }

  #deliver(bytes: Buffer, recalled = false): void {
    if (this.#viewers.size === 0) {
      this.#unseen += bytes.length;
      // A node that prints without viewers costs the service nothing: the next viewer opens the console again.
      if (this.#unseen > maxUnseenBytes) void this.#shut();
      return;
    }
    this.#unseen = 0;
    const quiet = this.#silent.size === 0 ? bytes : this.#queries.push(bytes);
    for (const viewer of this.#viewers)
      if (!recalled || !this.#withoutScrollback.has(viewer)) viewer.deliver(this.#silent.has(viewer) ? quiet : bytes);
    this.#flow();
  }

  /** Holds the upstream back if all viewers are behind, but not for long: then they lose bytes, and the node continues. */
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
      // Stays set until a viewer has caught up, so that the node is held back only once.
      this.#stall = setTimeout(() => stream.resume(), this.#options.stallMs ?? 500);
      this.#stall.unref();
    }
  }

  #setTerminals(terminals: readonly Viewer[]): void {
    const [first, ...others] = terminals;
    // The viewer that answers now did not answer before: it first gets the bytes that were held back.
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
    // The current one would stop answering and miss the bytes that are held back: it changes later.
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
