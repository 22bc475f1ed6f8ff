import { createHash, randomBytes } from "node:crypto";
import { Failure } from "../contract/errors.ts";
import type { Host, HostSession } from "../hosts/host.ts";
import type { Clock } from "./clock.ts";
import type { Call, Caller } from "./service.ts";
import type { Store } from "./store/store.ts";
import { LoginThrottle } from "./throttle.ts";

export interface SessionLimits {
  /** ms without a call. Default 12 h. */
  readonly idleMs: number;
  /** ms from login on. Default 7 d. */
  readonly absoluteMs: number;
}

/** How long an expired token is still told apart from an unknown one. */
const rememberExpiredMs = 7 * 24 * 3_600_000;
/** A session's last use is written at most this often. */
const touchEveryMs = 60_000;

/**
 * Bearer sessions, and the host session behind each. Tokens are 32 random bytes; only their SHA-256 is kept. Host sessions live in
 * memory: after a restart they are resumed where the host can, else the user must log in again (expired_host_session).
 */
export class Sessions {
  readonly #host: Host;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #limits: SessionLimits;
  readonly #throttle: LoginThrottle;
  readonly #hostSessions = new Map<string, Promise<HostSession>>();
  /** Changes that still use a session, by session. */
  readonly #leases = new Map<HostSession, number>();
  readonly #ended = new Set<HostSession>();
  readonly #closers = new Map<string, Set<() => void>>();

  constructor(host: Host, store: Store, clock: Clock, limits: SessionLimits) {
    this.#host = host;
    this.#store = store;
    this.#clock = clock;
    this.#limits = limits;
    this.#throttle = new LoginThrottle(clock);
  }

  async login(user: string, password: string, call: Call): Promise<{ readonly token: string; readonly username: string }> {
    const succeeded = this.#throttle.attempt(user, call.address);
    const hostSession = await this.#host.login(user, password, call.signal).catch((error: unknown) => {
      // A host that is away says nothing about the password.
      if (!(error instanceof Failure) || error.code !== "invalid_credentials") succeeded();
      throw error;
    });
    succeeded();
    const token = randomBytes(32).toString("base64url");
    const now = this.#clock.now();
    const hash = hashOf(token);
    this.#store.sessions.purge(now - this.#limits.absoluteMs - rememberExpiredMs);
    this.#store.sessions.insert({ hash, user: hostSession.user, role: hostSession.role, createdAt: now, usedAt: now, revoked: false });
    this.#hostSessions.set(hash, Promise.resolve(hostSession));
    return { token, username: hostSession.user };
  }

  /** Throws unauthenticated or expired_agent_session. */
  authenticate(token: string | undefined): Caller {
    const row = token === undefined ? undefined : this.#store.sessions.find(hashOf(token));
    if (row === undefined || row.revoked) throw new Failure("unauthenticated", "a valid bearer token is needed");
    const now = this.#clock.now();
    const expires = Math.min(row.usedAt + this.#limits.idleMs, row.createdAt + this.#limits.absoluteMs);
    if (now >= expires) {
      this.#end(row.hash);
      if (now >= expires + rememberExpiredMs) throw new Failure("unauthenticated", "a valid bearer token is needed");
      throw new Failure("expired_agent_session", "the session has expired; log in again");
    }
    if (now - row.usedAt >= Math.min(touchEveryMs, this.#limits.idleMs / 10)) this.#store.sessions.touch(row.hash, now);
    return { user: row.user, role: row.role, session: row.hash };
  }

  logout(caller: Caller): void {
    this.#store.sessions.revoke(caller.session);
    this.#end(caller.session);
  }

  /** The host session of this caller. Throws expired_host_session. */
  async hostSession(caller: Caller): Promise<HostSession> {
    const known = this.#hostSessions.get(caller.session);
    if (known !== undefined) return known;
    const resuming = this.resume(caller.user);
    this.#hostSessions.set(caller.session, resuming);
    resuming.catch(() => this.#hostSessions.delete(caller.session));
    return resuming;
  }

  /** A host session without a password, where the host gives one. Throws expired_host_session. */
  async resume(user: string): Promise<HostSession> {
    const session = await this.#host.resume?.(user);
    if (session === undefined || session === null) {
      throw new Failure("expired_host_session", "the session with the host is gone; log in again");
    }
    return session;
  }

  /** Keeps a host session open, also over a logout, until the answer is called. */
  hold(session: HostSession): () => void {
    this.#leases.set(session, (this.#leases.get(session) ?? 0) + 1);
    return () => {
      const left = (this.#leases.get(session) ?? 1) - 1;
      if (left > 0) this.#leases.set(session, left);
      else this.#leases.delete(session);
      this.#closeIfFree(session);
    };
  }

  /** The host no longer knows this session: the next call resumes it or asks for a login. */
  forgetHostSession(caller: Caller): void {
    this.#hostSessions.delete(caller.session);
  }

  /** Runs `close` when the session ends by logout or expiry. Answers the function that takes it back. */
  onEnd(session: string, close: () => void): () => void {
    const closers = this.#closers.get(session) ?? new Set();
    this.#closers.set(session, closers);
    closers.add(close);
    return () => {
      closers.delete(close);
      if (closers.size === 0) this.#closers.delete(session);
    };
  }

  async close(): Promise<void> {
    const open = [...this.#hostSessions.values(), ...[...this.#ended].map((session) => Promise.resolve(session))];
    this.#hostSessions.clear();
    this.#ended.clear();
    for (const hash of [...this.#closers.keys()]) this.#runClosers(hash);
    const sessions = await Promise.allSettled(open);
    await Promise.allSettled(sessions.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
  }

  #end(hash: string): void {
    this.#runClosers(hash);
    const ending = this.#hostSessions.get(hash);
    this.#hostSessions.delete(hash);
    ending?.then(
      (session) => {
        this.#ended.add(session);
        this.#closeIfFree(session);
      },
      () => {
        // It never came to be: the one who asked for it was told.
      },
    );
  }

  #closeIfFree(session: HostSession): void {
    if (!this.#ended.has(session) || this.#leases.has(session)) return;
    this.#ended.delete(session);
    // Nobody waits for it; a host that is away forgets the session by itself.
    session.close().catch(() => {});
  }

  #runClosers(hash: string): void {
    const closers = this.#closers.get(hash);
    this.#closers.delete(hash);
    for (const close of closers ?? []) close();
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
