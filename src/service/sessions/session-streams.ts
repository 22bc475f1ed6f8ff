import type { Clock } from "../common/clock.ts";

/** The session functions that SessionStreams needs. */
export interface WatchedSessions {
  /** Returns when the session expires without further use, ms since the epoch. 0 if it has ended. */
  expires(session: string): number;
  /** Returns a text that changes when an account may have changed. Throws if the accounts cannot be read. */
  accountsMark(): string;
  /** Ends the session if its account is gone or has another password. Throws if the accounts cannot be read. */
  checkAccount(session: string): void;
  /** Ends the session, which closes its streams. */
  end(session: string): void;
  /** Called once for each period in which the accounts cannot be read. */
  unreadable(error: Error): void;
}

interface OpenSession {
  readonly closers: Set<() => void>;
  /** The last read expiry time. Use of the session can only make it later. */
  expires: number;
}

/** Interval of checks for changed accounts, and for a changed clock, while streams are open, ms. */
const lookEveryMs = 500;

/** The open streams of each session. A stream makes no calls, so a timer runs for the next session that expires. */
export class SessionStreams {
  readonly #clock: Clock;
  readonly #sessions: WatchedSessions;
  readonly #open = new Map<string, OpenSession>();
  /** The earliest expiry time of a session with open streams. */
  #nextExpiry = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #seenAccounts: string | undefined;
  #trouble: string | undefined;

  constructor(clock: Clock, sessions: WatchedSessions) {
    this.#clock = clock;
    this.#sessions = sessions;
  }

  /** Runs `close` when the session ends. Returns a function that cancels this. */
  add(session: string, close: () => void): () => void {
    const known = this.#open.get(session);
    const open = known ?? { closers: new Set(), expires: this.#sessions.expires(session) };
    this.#open.set(session, open);
    open.closers.add(close);
    this.#nextExpiry = Math.min(this.#nextExpiry, open.expires);
    // An account may have changed since this session was checked.
    this.#seenAccounts = undefined;
    this.#schedule();
    return () => {
      open.closers.delete(close);
      if (open.closers.size === 0 && this.#open.get(session) === open) this.#open.delete(session);
      this.#schedule();
    };
  }

  /** Closes the streams of one session. */
  close(session: string): void {
    const open = this.#open.get(session);
    this.#open.delete(session);
    for (const close of open?.closers ?? []) close();
    this.#schedule();
  }

  closeAll(): void {
    for (const session of [...this.#open.keys()]) this.close(session);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#open.size === 0) return;
    const wait = Math.min(Math.max(this.#nextExpiry - this.#clock.now(), 0), lookEveryMs);
    this.#timer = setTimeout(() => this.#look(), wait).unref();
  }

  #look(): void {
    if (this.#clock.now() >= this.#nextExpiry) this.#endExpired();
    try {
      this.#checkAccounts();
      this.#trouble = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#trouble) this.#sessions.unreadable(error as Error);
      this.#trouble = message;
    }
    this.#schedule();
  }

  #endExpired(): void {
    const now = this.#clock.now();
    for (const [session, open] of [...this.#open]) {
      if (now < open.expires) continue;
      open.expires = this.#sessions.expires(session);
      if (now >= open.expires) this.#sessions.end(session);
    }
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    for (const { expires } of this.#open.values()) this.#nextExpiry = Math.min(this.#nextExpiry, expires);
  }

  #checkAccounts(): void {
    const mark = this.#sessions.accountsMark();
    if (mark === this.#seenAccounts) return;
    for (const session of [...this.#open.keys()]) this.#sessions.checkAccount(session);
    this.#seenAccounts = mark;
  }
}
