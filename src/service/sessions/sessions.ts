import { createHash, randomBytes } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { TokenScope } from "../../contract/token-scopes.ts";
import type { Host, HostSession } from "../../hosts/host.ts";
import type { Call, Caller } from "../common/call.ts";
import type { Clock } from "../common/clock.ts";
import type { Log } from "../common/log.ts";
import type { ApiToken, SessionRow, Store } from "../store/store.ts";
import { SessionStreams } from "./session-streams.ts";
import { LoginThrottle } from "./throttle.ts";

export interface SessionLimits {
  /** ms without a call. Default 12 h. */
  readonly idleMs: number;
  /** ms from login on. Default 7 d. */
  readonly absoluteMs: number;
}

export interface BrowserSession {
  /** The cookie's value. Only its hash is stored. */
  readonly cookie: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** How long an expired token is reported as expired and not as unknown. */
const rememberExpiredMs = 7 * 24 * 3_600_000;
/** Minimum interval between two writes of a session's last use, ms. */
const touchEveryMs = 60_000;
/** Maximum number of browsers of one session. With one more, the oldest must sign in again. */
const browsersPerSession = 20;

/**
 * Bearer sessions, and the host session of each. Tokens are 32 random bytes; only their SHA-256 is stored. Host sessions are in memory: after a
 * restart they are reopened if the host supports it, otherwise the user must log in again (expired_host_session).
 */
export class Sessions {
  readonly #host: Host;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: SessionLimits;
  readonly #throttle: LoginThrottle;
  readonly #hostSessions = new Map<string, Promise<HostSession>>();
  /** Host sessions by user, for labs that this user shares with others. */
  readonly #ownerSessions = new Map<string, Promise<HostSession | undefined>>();
  /** Number of running changes, by host session. */
  readonly #leases = new Map<HostSession, number>();
  readonly #ended = new Set<HostSession>();
  readonly #streams: SessionStreams;

  constructor(host: Host, store: Store, clock: Clock, log: Log, limits: SessionLimits) {
    this.#host = host;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#throttle = new LoginThrottle(clock);
    this.#streams = new SessionStreams(clock, {
      expires: (session) => {
        const row = store.sessions.find(session);
        return row === undefined ? 0 : this.#expiry(row);
      },
      accountsMark: () => host.accounts?.mark() ?? "",
      checkAccount: (session) => void this.alive(session),
      end: (session) => this.#end(session),
      unreadable: ({ message }) => log("error", "the host's accounts cannot be read", { error: message }),
    });
  }

  async login(user: string, password: string, call: Call): Promise<{ readonly token: string; readonly username: string }> {
    const { hostSession, credential } = await this.#throttle.attempt(user, call.address, call.signal, async () => {
      // Read before the password check, so that a password change in between ends this session.
      const credential = this.#host.accounts?.find(user)?.credential;
      return { hostSession: await this.#host.login(user, password, call.signal), credential };
    });
    const { user: username, role } = hostSession;
    const { token, hash } = await this.#add({ user: username, role, ...(credential !== undefined && { credential }) });
    this.#hostSessions.set(hash, Promise.resolve(hostSession));
    return { token, username };
  }

  /**
   * Makes a session for a user whom somebody else has identified. Throws invalid_credentials if the account is gone, or is not the one of `credential`.
   */
  async openFor(
    user: string,
    credential?: string,
  ): Promise<{ readonly token: string; readonly username: string; readonly session: string }> {
    const account = this.#host.accounts?.find(user) ?? null;
    if (account === null || (credential !== undefined && account.credential !== credential))
      throw new Failure("invalid_credentials", "the account has changed since the sign-in: sign in again");
    const { token, hash } = await this.#add({ user, ...account });
    return { token, username: user, session: hash };
  }

  async #add(account: Pick<SessionRow, "user" | "role" | "credential">): Promise<{ readonly token: string; readonly hash: string }> {
    const token = randomBytes(32).toString("base64url");
    const now = this.#clock.now();
    const hash = hashOf(token);
    await this.#store.sessions.purge(now - this.#limits.absoluteMs - rememberExpiredMs);
    await this.#store.sessions.insert({ hash, ...account, createdAt: now, usedAt: now, revoked: false });
    return { token, hash };
  }

  /** Stores a new API token of the caller, and returns it. Throws operation_not_allowed if the host opens no sessions without a password. */
  async createToken(caller: Caller, limits: ApiToken): Promise<{ readonly token: string; readonly row: SessionRow }> {
    if (this.#host.resume === undefined) {
      const text = "this host has no API tokens: it opens no session without a password. Sign in with a password instead";
      throw new Failure("operation_not_allowed", text);
    }
    const own = this.#store.sessions.find(caller.session);
    if (own === undefined || !this.alive(caller.session)) throw new Failure("unauthenticated", "the session has ended");
    const token = `lw_${randomBytes(32).toString("base64url")}`;
    const now = this.#clock.now();
    const { user, role, credential } = own;
    const row = { hash: hashOf(token), user, role, createdAt: now, usedAt: now, revoked: false, token: limits };
    const bound = { ...row, ...(credential !== undefined && { credential }) };
    await this.#store.sessions.insert(bound);
    return { token, row: bound };
  }

  /** Returns the API tokens that are neither revoked nor ended by a change of their account, the oldest first. */
  tokens(): readonly SessionRow[] {
    const rows = this.#store.sessions.tokens().filter((row) => this.#role(row) !== undefined);
    return rows.sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1));
  }

  /** Ends a session or an API token, and closes its streams. */
  async revoke(session: string): Promise<void> {
    await this.#store.sessions.revoke(session);
    this.#end(session);
  }

  /**
   * Throws unauthenticated or expired_agent_session; from an address with many unknown API tokens also rate_limited. The lookup compares digests, so its time
   * reveals nothing about a token.
   */
  authenticate(token: string | undefined, address?: string): Caller {
    const row = token === undefined ? undefined : this.#store.sessions.find(hashOf(token));
    if (row === undefined && token?.startsWith("lw_") === true && address !== undefined) this.#throttle.wrongToken(address);
    return this.#known(row);
  }

  /** Returns the caller of a browser's cookie: the session for which it was created. Throws the same errors as authenticate. */
  authenticateBrowser(cookie: string): Caller {
    return this.#known(this.#store.sessions.findByBrowser(hashOf(cookie)));
  }

  /**
   * Returns the caller of a call that another machine of the fleet passes on, with the rights that the account has now: that machine may be cut off from the
   * database, and so may not know that the session has ended. A session that this machine does not know yet is new. Throws as authenticate.
   */
  passedOn(caller: Caller): Caller {
    const row = this.#store.sessions.find(caller.session);
    if (row === undefined) return caller;
    if (row.token !== undefined && this.#clock.now() >= this.#expiry(row))
      throw new Failure("expired_agent_session", "the token has expired");
    const role = row.revoked ? undefined : this.#role(row);
    if (role === undefined) throw new Failure("unauthenticated", "the session has ended; log in again");
    return callerOf(row, role);
  }

  /** Returns the user of a browser's cookie; undefined if its session has ended. Does not count as use. */
  userOfBrowser(cookie: string): string | undefined {
    const row = this.#store.sessions.findByBrowser(hashOf(cookie));
    return row !== undefined && this.alive(row.hash) ? row.user : undefined;
  }

  /** Returns a cookie value for this session, valid until the session ends, at most until `expiresAt`. Throws unauthenticated. */
  async openBrowser(session: string): Promise<BrowserSession> {
    const row = this.#store.sessions.find(session);
    if (row === undefined || this.#expiry(row) <= this.#clock.now() || this.#role(row) === undefined)
      throw new Failure("unauthenticated", "the session has ended");
    const cookie = randomBytes(32).toString("base64url");
    await this.#store.sessions.insertBrowser({ hash: hashOf(cookie), session, createdAt: this.#clock.now() }, browsersPerSession);
    return { cookie, expiresAt: row.token?.expiresAt ?? row.createdAt + this.#limits.absoluteMs };
  }

  /** Returns whether this session has neither ended nor expired. Does not count as use. */
  alive(session: string): boolean {
    const row = this.#store.sessions.find(session);
    return row !== undefined && this.#clock.now() < this.#expiry(row) && this.#role(row) !== undefined;
  }

  /** Returns the number of sessions that have neither ended nor expired. */
  count(): number {
    const now = this.#clock.now();
    return this.#store.sessions.count(now - this.#limits.idleMs, now - this.#limits.absoluteMs);
  }

  async logout(caller: Caller): Promise<void> {
    await this.revoke(caller.session);
  }

  /** Returns the host session of this caller. Throws expired_host_session. */
  async hostSession(caller: Caller): Promise<HostSession> {
    const known = this.#hostSessions.get(caller.session);
    // The host, too, must not give an admin's power to a token without it.
    const limit = caller.limit !== undefined && caller.role === "user" ? "user" : undefined;
    if (known !== undefined) {
      const session = await known;
      if (this.#isOfNow(session, limit)) return session;
      // Running changes keep the old session, with the role that they began with.
      if (this.#hostSessions.get(caller.session) !== known) return this.hostSession(caller);
      this.#hostSessions.delete(caller.session);
      this.#letGo(known);
    }
    const resuming = this.resume(caller.user, limit);
    this.#hostSessions.set(caller.session, resuming);
    // The caller gets the failure. The next call opens a session again.
    resuming.catch(() => this.#hostSessions.delete(caller.session));
    return resuming;
  }

  /**
   * Returns the host session for a lab of `owner`. A host shows a user only the user's own labs. A shared lab therefore uses a session of its owner,
   * if the host gives the service one, which is never that of an admin; otherwise the caller's own session, and the host decides. Throws
   * expired_host_session.
   */
  async hostSessionFor(caller: Caller, owner: string | undefined): Promise<HostSession> {
    const own = await this.hostSession(caller);
    if (owner === undefined || owner === caller.user || caller.role !== "user") return own;
    let shared = this.#ownerSessions.get(owner);
    const before = await shared;
    if (shared !== undefined && before !== undefined && !this.#isOfNow(before, "user")) {
      if (this.#ownerSessions.get(owner) === shared) this.#ownerSessions.delete(owner);
      this.#letGo(shared);
      shared = this.#ownerSessions.get(owner);
    }
    if (shared === undefined) {
      shared = (async () => (await this.#host.resume?.(owner, "user")) ?? undefined)();
      this.#ownerSessions.set(owner, shared);
      shared.then(
        (session) => session === undefined && this.#ownerSessions.delete(owner),
        () => this.#ownerSessions.delete(owner),
      );
    }
    return (await shared) ?? own;
  }

  /** Opens a host session without a password, if the host supports it. Throws expired_host_session. */
  async resume(user: string, limit?: "user"): Promise<HostSession> {
    const session = await this.#host.resume?.(user, limit);
    if (session === undefined || session === null) {
      throw new Failure("expired_host_session", "the session with the host is gone; log in again");
    }
    return session;
  }

  /**
   * Like hostSessionFor, without a caller: for a change of `user` that a crash interrupted. Throws expired_host_session.
   * @param limit user: without the rights of an admin
   */
  async resumeFor(user: string, owner: string | undefined, limit?: "user"): Promise<HostSession> {
    if (owner === undefined || owner === user) return this.resume(user, limit);
    const role = this.#host.accounts?.find(user)?.role;
    return role === "admin" && limit === undefined ? this.resume(user) : this.resume(owner, "user");
  }

  /** Keeps a host session open, even after a logout, until the returned function is called. */
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
    // It is unknown which session of an owner was closed. All are reopened without a password.
    this.#ownerSessions.clear();
  }

  /**
   * Runs `close` within a second after the session ends, by logout, expiry or a change of its account, or after its user gets another role. An open
   * stream does not count as use of the session. Returns a function that cancels this.
   */
  onEnd(session: string, close: () => void): () => void {
    return this.#streams.add(session, close);
  }

  async close(): Promise<void> {
    const ended = [...this.#ended].map((session) => Promise.resolve(session));
    const open = [...this.#hostSessions.values(), ...this.#ownerSessions.values(), ...ended];
    this.#hostSessions.clear();
    this.#ownerSessions.clear();
    this.#ended.clear();
    this.#streams.closeAll();
    const sessions = await Promise.allSettled(open);
    await Promise.allSettled(sessions.map((one) => (one.status === "fulfilled" ? one.value?.close() : undefined)));
  }

  #known(row: SessionRow | undefined): Caller {
    if (row === undefined || row.revoked) throw new Failure("unauthenticated", "a valid bearer token is needed");
    const now = this.#clock.now();
    const expires = this.#expiry(row);
    if (now >= expires) {
      this.#end(row.hash);
      if (now >= expires + rememberExpiredMs) throw new Failure("unauthenticated", "a valid bearer token is needed");
      throw new Failure("expired_agent_session", "the session has expired; log in again");
    }
    const role = this.#role(row);
    if (role === undefined) throw new Failure("unauthenticated", "the account is gone or has another password; log in again");
    if (now - row.usedAt >= Math.min(touchEveryMs, this.#limits.idleMs / 10)) this.#later(this.#store.sessions.touch(row.hash, now));
    return callerOf(row, role);
  }

  /** Returns the current account. `undefined` if it was deleted, or if its password has changed since the login: then the session ends. */
  #role(row: SessionRow): SessionRow["role"] | undefined {
    const { accounts } = this.#host;
    if (accounts === undefined) return row.role;
    const account = accounts.find(row.user);
    if (account === null || account.credential !== row.credential) {
      this.#later(this.#store.sessions.revoke(row.hash));
      this.#end(row.hash);
      return undefined;
    }
    if (account.role !== row.role) {
      this.#later(this.#store.sessions.setRole(row.hash, account.role));
      // Streams and sessions were opened with the rights of the old role.
      this.#streams.close(row.hash);
    }
    return account.role;
  }

  /** For writes that no caller waits for: the next call of the session repeats a write that failed. */
  #later(write: Promise<void>): void {
    write.catch((error: unknown) => this.#log("warn", "a session could not be written", { error: String(error) }));
  }

  /** Returns whether the session still has the account's role. */
  #isOfNow({ user, role }: HostSession, limit?: "user"): boolean {
    const { accounts } = this.#host;
    const now = accounts?.find(user)?.role;
    return accounts === undefined || (limit !== undefined && now === "admin" ? limit : now) === role;
  }

  /** ms; 0 for a revoked one. */
  #expiry(row: SessionRow): number {
    if (row.token !== undefined && !row.revoked) return row.token.expiresAt;
    return row.revoked ? 0 : Math.min(row.usedAt + this.#limits.idleMs, row.createdAt + this.#limits.absoluteMs);
  }

  #end(hash: string): void {
    this.#streams.close(hash);
    const ending = this.#hostSessions.get(hash);
    this.#hostSessions.delete(hash);
    if (ending !== undefined) this.#letGo(ending);
  }

  /** Closes a host session when no change uses it any more. */
  #letGo(ending: Promise<HostSession | undefined>): void {
    ending.then(
      (session) => {
        if (session === undefined) return;
        this.#ended.add(session);
        this.#closeIfFree(session);
      },
      () => {
        // Opening the session failed, and its caller got the failure. There is nothing to close.
      },
    );
  }

  #closeIfFree(session: HostSession): void {
    if (!this.#ended.has(session) || this.#leases.has(session)) return;
    this.#ended.delete(session);
    // No caller waits for it, and an unreachable host drops the session by itself.
    session.close().catch(() => {});
  }
}

const limitOf = { read: "view", operate: "operate", deploy: "own", labs: "own", admin: "own" } as const satisfies Readonly<
  Record<TokenScope, Caller["limit"]>
>;

/** @param role of the account now */
function callerOf({ user, hash: session, token }: SessionRow, role: Caller["role"]): Caller {
  if (token === undefined) return { user, role, session };
  const { expiresAt: _expiresAt, ...apiToken } = token;
  const { scope } = apiToken;
  return {
    user,
    role: scope !== "admin" && role === "admin" ? "user" : role,
    session,
    limit: limitOf[scope],
    apiToken,
  };
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
