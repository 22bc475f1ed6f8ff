import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { HostCapture } from "../../hosts/host-captures.ts";
import type { Log } from "../common/log.ts";

export interface CaptureWatchOptions {
  /** Opens a host session for the lab's owner. Closed after each poll. */
  readonly session: (user: string) => Promise<HostSession>;
  /** Called once for each watched capture that has ended by itself. */
  readonly ended: (lab: string, capture: HostCapture) => void;
  readonly log: Log;
  /** Default 2,000. */
  readonly intervalMs?: number;
}

/** A lab with running captures, and the user whose host session reads them. */
interface WatchedLab {
  readonly user: string;
  readonly captures: Set<string>;
  /** Whether the last read failed. The failure is logged once. */
  failing: boolean;
}

/** Polls running captures, so that a capture that ends by itself (killed, disk full, interface deleted) is reported without a request. */
export class CaptureWatch {
  readonly #options: CaptureWatchOptions;
  readonly #labs = new Map<string, WatchedLab>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #closed = false;

  constructor(options: CaptureWatchOptions) {
    this.#options = options;
  }

  /** @param user a user who may see the lab on the host */
  add(lab: string, user: string, capture: string): void {
    if (this.#closed) return;
    const watched = this.#labs.get(lab) ?? { user, captures: new Set<string>(), failing: false };
    watched.captures.add(capture);
    this.#labs.set(lab, watched);
    this.#timer ??= setInterval(() => void this.#look(), this.#options.intervalMs ?? 2_000).unref();
  }

  /** Stops watching a capture whose end the caller reports itself. Returns whether it was watched. */
  forget(lab: string, capture: string): boolean {
    const watched = this.#labs.get(lab);
    if (watched?.captures.delete(capture) !== true) return false;
    if (watched.captures.size === 0) this.#labs.delete(lab);
    if (this.#labs.size === 0) this.#rest();
    return true;
  }

  /** Watches captures that an earlier run of the service has started. */
  async begin(labs: readonly { readonly path: string; readonly owner: string }[]): Promise<void> {
    for (const { path, owner } of labs) {
      if (this.#closed) return;
      const captures = await this.#listed(path, owner);
      for (const { id, status } of captures ?? []) if (status === "running") this.add(path, owner, id);
    }
  }

  close(): void {
    this.#closed = true;
    this.#labs.clear();
    this.#rest();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    for (const [path, watched] of [...this.#labs]) {
      const asked = [...watched.captures];
      const found = await this.#listed(path, watched.user);
      if (found === undefined) continue;
      for (const id of asked) {
        const one = found.find((each) => each.id === id);
        // Not reported: a capture that was deleted, with its lab or by a call, and one that a call stops now and reports itself.
        if (one?.status === "running" || !this.forget(path, id) || one === undefined) continue;
        this.#options.ended(path, one);
      }
    }
    this.#looking = false;
  }

  /** Returns `undefined` if the captures cannot be read now, an empty list for a deleted lab. */
  async #listed(path: string, user: string): Promise<readonly HostCapture[] | undefined> {
    const { session, log } = this.#options;
    const watched = this.#labs.get(path);
    try {
      const host = await session(user);
      try {
        const captures = (await host.captures?.list(path)) ?? [];
        if (watched !== undefined) watched.failing = false;
        return captures;
      } finally {
        await host.close();
      }
    } catch (error) {
      if (error instanceof Failure && error.code === "lab_not_found") return [];
      // The owner's account on the host was deleted.
      if (error instanceof Failure && error.code === "expired_host_session") return undefined;
      if (watched?.failing !== true) log("warn", "captures cannot be read", { lab: path, error: String(error) });
      if (watched !== undefined) watched.failing = true;
      return undefined;
    }
  }
}
