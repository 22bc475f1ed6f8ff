import { Failure } from "../../../contract/errors.ts";
import type { Transport, TransportCall } from "../../../transport/transport.ts";
import { type EveAnswer, hostError, readAnswer, recordOf, textOf } from "../api/answer.ts";
import type { EveCall, EveReply } from "../api/eve-call.ts";
import { hostFailure } from "../api/host-failure.ts";
import { joinSecrets, secretsOfBody, secretsOfTexts } from "../api/repeated-secrets.ts";
import { pnetlabLogin } from "../pnetlab/pnetlab-login.ts";
import { PnetlabRoutes } from "../pnetlab/pnetlab-routes.ts";

/** Reads wait longer than the 25 s after which the host gives up a file's lock. */
const callMs = 60_000;
/** If two sessions are lost within this time, someone else keeps signing in with the same account, ms. */
const takenOverMs = 5_000;

/**
 * One user of the host. EVE-NG has one session for each user, and a second login ends the first. Therefore all sessions of this process for a user
 * share one account object. It keeps the password in memory, to open the session again.
 */
export class EveAccount {
  readonly user: string;
  /** Whether the host is PNETLab, which has other calls. */
  readonly pnetlab: boolean;
  readonly #transport: Transport;
  readonly #routes: PnetlabRoutes | undefined;
  #password: string;
  #cookie: string;
  #reopening: Promise<void> | undefined;
  #reopenedAt = Number.NEGATIVE_INFINITY;
  #generation = 0;

  private constructor(transport: Transport, user: string, password: string, { cookie, pnetlab }: SignedIn) {
    this.#transport = transport;
    this.user = user;
    this.#password = password;
    this.#cookie = cookie;
    this.pnetlab = pnetlab;
    if (pnetlab) this.#routes = new PnetlabRoutes((call) => send(transport, call, this.#credentials()));
  }

  /** Throws invalid_credentials, host_unreachable, host_timeout, host_error. */
  static async open(transport: Transport, user: string, password: string, signal?: AbortSignal): Promise<EveAccount> {
    return new EveAccount(transport, user, password, await login(transport, user, password, signal));
  }

  /**
   * A number that changes with each lost session. As long as it is the same, nobody else was signed in as this user. Afterwards the cached state of
   * the user's nodes may be wrong.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Checks the password by opening a new session; other users of this account object continue with the new session. */
  async open(password: string, signal?: AbortSignal): Promise<void> {
    const before = await this.peek("/api/auth", { signal });
    if (before === undefined) this.#generation++;
    this.#cookie = await this.#login(password, signal);
    this.#password = password;
    // An earlier takeover of the session does not matter any more.
    this.#reopenedAt = Number.NEGATIVE_INFINITY;
  }

  /** Sends a call and returns its answer with any status. Throws expired_host_session, and the errors of the transport. */
  async send(call: EveCall): Promise<EveReply> {
    const answer = await this.#send(call);
    if (!(await this.#sessionLost(answer))) return answer;
    if (!call.read) {
      // The next read opens the session again. Only the caller may repeat a change.
      throw new Failure(
        "expired_host_session",
        "the session with the host ended, and nothing was sent again; log in again or repeat the change",
      );
    }
    await this.#reopen(call.signal);
    const again = await this.#send(call);
    if (await this.#sessionLost(again)) throw new Failure("expired_host_session", "the host ends the session at once; log in again");
    return again;
  }

  /** Reads without opening a lost session again, which would end the session of the user who took it over. Returns `undefined` if the session is lost. */
  async peek(path: string, options: Pick<EveCall, "signal" | "timeoutMs" | "maxBytes"> = {}): Promise<EveAnswer | undefined> {
    const { signal, timeoutMs, maxBytes } = options;
    const limits = { ...(timeoutMs !== undefined && { timeoutMs }), ...(maxBytes !== undefined && { maxBytes }) };
    const answer = await this.#send({ path, read: true, signal, ...limits });
    return (await this.#sessionLost(answer)) ? undefined : readAnswer(answer);
  }

  async call(call: EveCall): Promise<EveAnswer> {
    const answer = readAnswer(await this.send(call));
    const file = /^\/api\/labs(\/[^?]*?\.unl)(?=\/|$)/.exec(call.path)?.[1];
    return file === undefined ? answer : { ...answer, file: decodeURIComponent(file) };
  }

  /** Returns the data of a read that must succeed. */
  async get(path: string, doing: string, signal?: AbortSignal): Promise<unknown> {
    const answer = await this.call({ path, read: true, signal });
    if (answer.status >= 300 || answer.word === "fail") throw hostError(doing, answer);
    return answer.data;
  }

  async logout(): Promise<void> {
    await this.#send({ path: "/api/auth/logout", read: false, timeoutMs: 5_000 });
  }

  #send(call: EveCall): Promise<EveReply> {
    return this.#routes === undefined ? send(this.#transport, call, this.#credentials()) : this.#routes.send(call);
  }

  #credentials(): Credentials {
    return { cookie: this.#cookie, password: this.#password };
  }

  async #login(password: string, signal?: AbortSignal): Promise<string> {
    if (this.pnetlab) return pnetlabLogin(this.#transport, this.user, password, signal);
    return (await login(this.#transport, this.user, password, signal)).cookie;
  }

  /** guess pro-lost-session: Professional reports a lost session as an unknown request. The request may really be unknown, so the host is then asked for the session's user. */
  async #sessionLost(answer: EveReply): Promise<boolean> {
    if (answer.status === 412 || answer.status === 401) return readAnswer(answer).code !== 90032;
    if (answer.status !== 400 || readAnswer(answer).code !== 60027) return false;
    const who = await this.#send({ path: "/api/auth", read: true });
    return who.status !== 200;
  }

  async #reopen(signal?: AbortSignal): Promise<void> {
    this.#reopening ??= (async () => {
      if (performance.now() - this.#reopenedAt < takenOverMs) {
        throw new Failure(
          "expired_host_session",
          `the session of ${this.user} on the host was taken over twice in a moment: EVE-NG has one session per user, and someone else signs in as the same user`,
        );
      }
      this.#generation++;
      this.#cookie = await this.#login(this.#password, signal);
      this.#reopenedAt = performance.now();
    })();
    const reopening = this.#reopening;
    try {
      await reopening;
    } catch (error) {
      if (error instanceof Failure && error.code === "invalid_credentials") {
        throw new Failure("expired_host_session", "the password on the host has changed; log in again", { cause: error });
      }
      throw error;
    } finally {
      if (this.#reopening === reopening) this.#reopening = undefined;
    }
  }
}

interface Credentials {
  /** The cookie of the session. */
  readonly cookie?: string;
  readonly password?: string;
}

async function send(transport: Transport, call: EveCall, { cookie, password }: Credentials): Promise<EveReply> {
  const { method = "GET", path, body, contentType, configs = [], timeoutMs = callMs, maxBytes, signal, read } = call;
  const bytes = body === undefined ? undefined : body instanceof Uint8Array ? body : JSON.stringify(body);
  const request: TransportCall = {
    method,
    path,
    headers: {
      Accept: "application/json",
      ...(cookie !== undefined && { Cookie: cookie }),
      ...(bytes !== undefined && { "Content-Type": contentType ?? "application/json" }),
    },
    body: bytes,
    timeoutMs,
    maxBytes,
    signal,
    repeatable: read,
  };
  const answer = await transport.request(request);
  const cookies = [...(cookie?.split(";") ?? []), ...(answer.headers["set-cookie"] ?? []).map((line) => line.replace(/;.*/s, ""))];
  const values = [...(password === undefined ? [] : [password]), ...cookies.map((one) => one.slice(one.indexOf("=") + 1))];
  return { ...answer, secrets: joinSecrets({ values, texts: [] }, secretsOfBody(body), secretsOfTexts(configs)) };
}

interface SignedIn {
  /** The cookie of the session, sent with every call. */
  readonly cookie: string;
  readonly pnetlab: boolean;
}

/**
 * Without html5, because with it a login fails if Guacamole on the host does not answer. A host like EVE-NG that does not have this call is PNETLab.
 */
async function login(transport: Transport, username: string, password: string, signal?: AbortSignal): Promise<SignedIn> {
  const call: EveCall = { method: "POST", path: "/api/auth/login", body: { username, password, html5: "-1" }, read: false, signal };
  const response = await send(transport, call, { password });
  const answer = readAnswer(response);
  if (answer.code === 90013) {
    const cookie = response.headers["set-cookie"]
      ?.map((line) => /^unetlab_session=([^;]+)/.exec(line)?.[1])
      .findLast((one) => one !== undefined);
    if (cookie === undefined)
      throw new Failure("host_error", "the host accepted the login and returned no session", {
        data: { host: { message: answer.message } },
      });
    return { cookie: `unetlab_session=${cookie}`, pnetlab: false };
  }
  if (answer.status === 404 && answer.code === 60038) {
    return { cookie: await pnetlabLogin(transport, username, password, signal), pnetlab: true };
  }
  if ([90011, 90012, 90014].includes(answer.code ?? 0)) throw new Failure("invalid_credentials", "wrong user name or password");
  if (answer.broken && (await wrongPasswordBreaks(transport, answer, signal))) {
    throw new Failure("invalid_credentials", "wrong user name or password");
  }
  throw hostError("login", answer);
}

/**
 * guess ce6-wrong-password: Community Edition answers a wrong password with an error page where PHP shows its notices: `Undefined index: rows`
 * with PHP 7, `Undefined array key "rows"` with PHP 8. If the host hides these messages, GET /api/auth is sent without a session: its usual answer means that the
 * host works, and that the password is wrong.
 */
async function wrongPasswordBreaks(transport: Transport, page: EveAnswer, signal?: AbortSignal): Promise<boolean> {
  if (/api_authentication/.test(page.message)) return /\brows\b/.test(page.message);
  if (page.message !== "Slim Application Error" && !page.message.startsWith("HTTP ")) return false;
  const who = readAnswer(await send(transport, { path: "/api/auth", read: true, signal }, {}));
  return who.status === 401 && who.code === 90001;
}

/** The session's user, as GET /api/auth reports it. */
export interface EveUser {
  readonly name: string;
  readonly role: string;
  /** The user's pod number on the host. Community Edition computes console ports from it. */
  readonly tenant: number | undefined;
}

export async function readUser(account: EveAccount): Promise<EveUser> {
  const data = recordOf(await account.get("/api/auth", "read the user"));
  const tenant = Number(data.tenant ?? data.pod ?? Number.NaN);
  const [name, role] = [textOf(data.username), textOf(data.role)];
  if (name === undefined || role === undefined) throw hostFailure("read the user: the host does not report its name and role");
  checkUserName(name, account.user);
  return {
    name,
    role,
    tenant: Number.isInteger(tenant) && tenant >= 0 ? tenant : undefined,
  };
}

/** Maximum characters of a user's name. The form of EVE-NG accepts fewer. */
const maxUserName = 64;

/** Throws host_error for a name that is not a name, or not the name of the user who signed in. Labs and rights belong to this name. */
function checkUserName(name: string, typed: string): void {
  if (name.length > maxUserName || name !== name.trim() || /^$|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) {
    throw hostFailure("read the user: the host reports a name that is empty, too long, or has control characters");
  }
  if (comparedName(name) !== comparedName(typed)) {
    throw hostFailure(`read the user: signed in as ${JSON.stringify(typed)}, but the host reports ${JSON.stringify(name)}`);
  }
}

/** EVE-NG's database compares names without case, accents and blanks at the end. */
function comparedName(name: string): string {
  return name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trimEnd();
}
