import { createHash, randomBytes } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { LoginData, LoginFinishRequest } from "../../contract/schemas/session.ts";
import type { ExternalIdentity, Host } from "../../hosts/host.ts";
import type { Clock } from "../common/clock.ts";
import type { Log } from "../common/log.ts";
import { RecentMap } from "../common/recent-map.ts";
import type { Store } from "../store/store.ts";
import type { Sessions } from "./sessions.ts";

interface SignInParts {
  readonly host: Pick<Host, "accounts" | "externalUsers">;
  readonly store: Pick<Store, "labs">;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** A sign-in that a program on the user's machine finishes. */
interface Pending {
  readonly user: string;
  readonly credential: string;
  /** SHA-256 of the program's secret, base64url. */
  readonly challenge: string;
  readonly expires: number;
}

/** The program waits for the code on the same machine as the browser. */
const codeMs = 120_000;

/** Sessions of users whom a provider of identities has identified. Who calls this has checked the provider's answer. */
export class ExternalSignIns {
  readonly #parts: SignInParts;
  readonly #pending = new RecentMap<Pending>(10_000);

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /** Returns a new session of the identity's user. Throws unsupported if the host has no such users. */
  async session(identity: ExternalIdentity): Promise<{ readonly user: string; readonly session: string }> {
    const { username, session } = await this.#parts.sessions.openFor(await this.#account(identity));
    return { user: username, session };
  }

  /** Returns a code with which the program that has the secret of `challenge` gets a session, once. Throws as session. */
  async code(identity: ExternalIdentity, challenge: string): Promise<{ readonly user: string; readonly code: string }> {
    const user = await this.#account(identity);
    const account = this.#parts.host.accounts?.find(user) ?? null;
    if (account === null) throw new Failure("invalid_credentials", "the account has just been removed");
    const code = randomBytes(32).toString("base64url");
    const expires = this.#parts.clock.now() + codeMs;
    this.#pending.set(digest(code), { user, credential: account.credential, challenge, expires });
    return { user, code };
  }

  /** Throws invalid_credentials for a code that is unknown, used or too old, or of another program. */
  async finish({ code, verifier }: LoginFinishRequest): Promise<LoginData> {
    const key = digest(code);
    const pending = this.#pending.get(key);
    // A failed attempt also consumes the code: it is no longer secret.
    this.#pending.delete(key);
    if (pending === undefined || this.#parts.clock.now() >= pending.expires || digest(verifier) !== pending.challenge)
      throw new Failure("invalid_credentials", "the code of the sign-in is unknown, used or too old: sign in again");
    const { token, username } = await this.#parts.sessions.openFor(pending.user, pending.credential);
    return { token, username };
  }

  async #account(identity: ExternalIdentity): Promise<string> {
    const { host, store, log } = this.#parts;
    if (host.externalUsers === undefined)
      throw new Failure("unsupported", "this host has users of its own only", { data: { feature: "userChanges" } });
    // Labs and grants of a removed account stay, and belong to the next account of its name.
    const named = new Set(
      store.labs.list().flatMap(({ owner, grants = {} }) => [owner, ...Object.keys(grants)].map((one) => one.toLowerCase())),
    );
    const user = await host.externalUsers.signIn(identity, (name) => named.has(name));
    log("info", "a user signed in at a provider", { user, issuer: identity.issuer, subject: identity.subject, role: identity.role });
    return user;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
