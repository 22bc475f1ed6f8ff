import { Duplex } from "node:stream";
import { Failure } from "../contract/errors.ts";
import { Scrollback } from "./scrollback.ts";

/** A console as the host opened it: its bytes, and how to tell it the window size where it has one. */
export interface ConsoleSource {
  readonly stream: Duplex;
  readonly resize?: (columns: number, rows: number) => void;
}

export interface HubOptions {
  /** Opens the one upstream; called again when a viewer comes after the upstream ended. */
  readonly open: () => Promise<ConsoleSource>;
  /** What a late viewer gets first. Default 64 KiB. */
  readonly scrollbackBytes?: number;
  /** A viewer that lets more than this pile up is dropped. Default 1 MiB. */
  readonly viewerBytes?: number;
  /** How long the upstream stays open without viewers. Default 30 s. */
  readonly idleMs?: number;
  /** Called when the upstream is closed: idle, ended or close(). */
  readonly onClosed?: () => void;
}

interface Upstream {
  readonly source: ConsoleSource;
  readonly scrollback: Scrollback;
}

/**
 * One console of one node, shared: one upstream, any number of viewers. Every viewer gets the recent scrollback, then live bytes;
 * what any of them writes goes to the console. A viewer that does not read neither stalls the others nor grows memory: over its
 * bound it is told so in its stream, and ended.
 */
export class ConsoleHub {
  readonly #options: HubOptions;
  readonly #viewers = new Set<Viewer>();
  #upstream: Promise<Upstream> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** A stream of this console; destroying it leaves the console to the others. Throws what `open` throws, node_not_running after close(). */
  async view(): Promise<Duplex> {
    clearTimeout(this.#idle);
    const { source, scrollback } = await this.#open();
    if (this.#closed) throw closed();
    // The wait above may have let an idle timer start again.
    clearTimeout(this.#idle);
    const viewer = new Viewer(source.stream, this.#options.viewerBytes ?? 1 << 20, () => this.#leave(viewer));
    this.#viewers.add(viewer);
    const recent = scrollback.snapshot();
    if (recent.length > 0) viewer.deliver(recent);
    return viewer;
  }

  /** Tells the console its window size, where it has one. */
  async resize(columns: number, rows: number): Promise<void> {
    // An upstream that cannot be opened is told to who looks at it.
    const upstream = await this.#upstream?.catch(() => undefined);
    upstream?.source.resize?.(columns, rows);
  }

  close(): void {
    this.#closed = true;
    void this.#shut();
  }

  #open(): Promise<Upstream> {
    if (this.#closed) return Promise.reject(closed());
    if (this.#upstream !== undefined) return this.#upstream;
    const opening = this.#options.open().then((source) => {
      const scrollback = new Scrollback(this.#options.scrollbackBytes ?? 64 << 10);
      const { stream } = source;
      stream.on("data", (bytes: Buffer) => {
        scrollback.push(bytes);
        for (const viewer of this.#viewers) viewer.deliver(bytes);
      });
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

  #leave(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.#viewers.size > 0 || this.#upstream === undefined) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#shut(), this.#options.idleMs ?? 30_000);
    this.#idle.unref();
  }

  async #shut(): Promise<void> {
    clearTimeout(this.#idle);
    const opening = this.#upstream;
    this.#upstream = undefined;
    for (const viewer of this.#viewers) viewer.finish();
    this.#viewers.clear();
    if (opening === undefined) return;
    const upstream = await opening.catch(() => undefined);
    upstream?.source.stream.destroy();
    this.#options.onClosed?.();
  }
}

function closed(): Failure {
  return new Failure("node_not_running", "the console is closed: its lab is gone, or the service goes down");
}

class Viewer extends Duplex {
  readonly #upstream: Duplex;
  readonly #limit: number;
  #ended = false;

  constructor(upstream: Duplex, limit: number, left: () => void) {
    super({ allowHalfOpen: false });
    this.#upstream = upstream;
    this.#limit = limit;
    this.once("close", left);
  }

  deliver(bytes: Buffer): void {
    if (this.#ended || this.destroyed) return;
    if (this.readableLength > 0 && this.readableLength + bytes.length > this.#limit) {
      this.push("\r\n[console dropped: this viewer reads too slowly]\r\n");
      this.finish();
      return;
    }
    this.push(bytes);
  }

  finish(): void {
    if (this.#ended || this.destroyed) return;
    this.#ended = true;
    this.push(null);
  }

  override _read(): void {
    // Bytes are pushed as they come; the bound is in deliver().
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#ended || this.#upstream.destroyed || !this.#upstream.writable) {
      done();
      return;
    }
    this.#upstream.write(bytes, () => done());
  }
}
