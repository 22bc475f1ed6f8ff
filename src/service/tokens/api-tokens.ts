import { randomBytes } from "node:crypto";
import { Failure } from "../../contract/errors.ts";
import type { ApiTokenData, NewTokenData, TokenCreatePayload, TokenRevokePayload, TokensData } from "../../contract/schemas/tokens.ts";
import type { Caller } from "../common/call.ts";
import type { Clock } from "../common/clock.ts";
import type { Log } from "../common/log.ts";
import { badRequest } from "../common/refusals.ts";
import { checkLabPattern } from "../sessions/lab-patterns.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { SessionRow } from "../store/store.ts";

export interface ApiTokens {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

const maxPerUser = 50;
const daySeconds = 24 * 3_600;

/** Makes an API token of the caller. Its text is in this answer only: the store has its SHA-256. */
export async function createToken({ sessions, clock, log }: ApiTokens, caller: Caller, body: TokenCreatePayload): Promise<NewTokenData> {
  refuseToken(caller);
  const { name, scope = "labs", lifetime = 30 * daySeconds } = body;
  const labs = body.labs === undefined ? undefined : patternsOf(body.labs);
  if (scope === "admin" && caller.role !== "admin") throw badRequest("/scope", "only an admin makes tokens with the scope admin");
  const own = sessions.tokens().filter(({ user }) => user === caller.user);
  if (own.length >= maxPerUser) throw badRequest("/name", `you have ${maxPerUser} tokens, which is the maximum: revoke some first`);
  const id = randomBytes(6).toString("hex");
  const limits = { id, name, scope, ...(labs !== undefined && { labs }), expiresAt: clock.now() + lifetime * 1_000 };
  const { token, row } = await sessions.createToken(caller, limits);
  log("info", "an API token was made", { user: caller.user, token: id, name, scope, ...(labs !== undefined && { labs }) });
  return { ...shown(row), token };
}

/** Returns the caller's API tokens, and those of all users for an admin, without their texts. */
export function listTokens({ sessions }: Pick<ApiTokens, "sessions">, caller: Caller): TokensData {
  refuseToken(caller);
  return { tokens: seen(sessions, caller).map(shown) };
}

/** Ends an API token, its streams, and the browser sessions that were made with it. Returns the other ones. */
export async function revokeToken({ sessions, log }: ApiTokens, caller: Caller, { id }: TokenRevokePayload): Promise<TokensData> {
  refuseToken(caller);
  const row = seen(sessions, caller).find(({ token }) => token?.id === id);
  if (row === undefined) throw badRequest("/id", `you have no token with the id ${JSON.stringify(id)}: labwright token list shows them`);
  await sessions.revoke(row.hash);
  log("info", "an API token was revoked", { user: row.user, token: id, by: caller.user });
  return listTokens({ sessions }, caller);
}

/** Throws bad_request. */
function patternsOf(given: readonly string[]): readonly string[] {
  if (given.length === 0) throw badRequest("/labs", "name at least one lab, or leave it out for all labs");
  const patterns = given.map((text, index) => {
    const checked = checkLabPattern(text);
    if ("problem" in checked) throw badRequest(`/labs/${index}`, checked.problem);
    return checked.pattern;
  });
  return [...new Set(patterns)].sort();
}

function seen(sessions: Sessions, caller: Caller): readonly SessionRow[] {
  return sessions.tokens().filter(({ user }) => user === caller.user || caller.role === "admin");
}

/** A stolen token must not outlive its revocation by another one that it has made. */
function refuseToken({ limit }: Caller): void {
  if (limit !== undefined) throw new Failure("operation_not_allowed", "an API token cannot manage tokens: sign in with a password");
}

function shown({ user, createdAt, usedAt, token }: SessionRow): ApiTokenData {
  const { expiresAt, ...limits } = token!;
  const time = (at: number) => new Date(at).toISOString();
  return { ...limits, user, created_at: time(createdAt), used_at: time(usedAt), expires_at: time(expiresAt) };
}
