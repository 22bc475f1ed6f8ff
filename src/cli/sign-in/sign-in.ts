import { connect, LabwrightError } from "../../client/index.ts";
import { askText, readPassword } from "../command/ask.ts";
import type { Context } from "../command/context.ts";
import { isSamePin, type Login } from "../command/credentials.ts";
import { keptAdminPassword, readServiceFile } from "../command/local-service.ts";
import { UsageError } from "../command/usage-error.ts";

/** A service that has just started answers a login when its host is open: it first connects to the labs that run, on a busy machine perhaps hundreds. */
export const loginTimeoutMs = 60_000;

/**
 * Returns a login with a valid token. Asks as few questions as possible: it uses the stored login of this service (made at any port), otherwise a new login of
 * the same user, otherwise one of admin. Stored logins of other users are kept. The users of a service on EVE-NG are the users of the EVE-NG host: without a
 * stored login it asks for one.
 */
export async function signIn(context: Context, service: Login): Promise<Login> {
  const logins = await context.credentials.ofService(service);
  const [preferred] = logins;
  for (const known of logins.filter(({ username }) => username === preferred?.username)) {
    const login = { ...known, url: service.url };
    if (await works(login)) return await keep(context, login, known.url);
  }
  const isOfEve = await usesEve(service);
  const known = process.env.LABWRIGHT_USER ?? preferred?.username;
  if (isOfEve && !context.terminal.interactive && process.env.LABWRIGHT_PASSWORD === undefined)
    throw new UsageError(
      `you are not signed in to the service at ${service.url}, whose users are the users of its EVE-NG host, and there is no terminal for questions`,
      "sign in with the EVE-NG user: labwright login; or set LABWRIGHT_USER and LABWRIGHT_PASSWORD",
    );
  const username =
    known ?? (isOfEve && context.terminal.interactive ? await askText(context.terminal, "User name on the EVE-NG host: ") : "admin");
  const own =
    process.env.LABWRIGHT_PASSWORD ??
    (username === "admin" && !isOfEve ? (process.env.LABWRIGHT_ADMIN_PASSWORD ?? (await keptAdminPassword())) : undefined);
  const password = own ?? (await readPassword(context.terminal, `Password of ${username} at ${service.url}: `));
  using client = connect({ url: service.url, pin: service.pin });
  const { token } = await client.login({ username, password }, { timeoutMs: loginTimeoutMs });
  context.terminal.note(`signed in as ${username}`);
  const { url, pin } = service;
  const login = { url, username, ...(pin === undefined ? {} : { pin }), ...(token === undefined ? {} : { token }) };
  return await keep(context, login, preferred?.url ?? url);
}

/** Returns whether this is the machine's service with EVE-NG as its host. The generated admin password is not valid there. */
async function usesEve({ pin }: Login): Promise<boolean> {
  const local = await readServiceFile();
  return local?.host === "eve" && isSamePin(local.fingerprint, pin);
}

/** Stores the login. If another user's login is stored for its address, it uses `otherUrl`: the certificate still identifies the service. */
async function keep({ credentials }: Context, login: Login, otherUrl: string): Promise<Login> {
  const there = await credentials.find(login.url);
  const isTaken = there?.token !== undefined && there.username !== login.username;
  await credentials.keep(isTaken ? { ...login, url: otherUrl } : login);
  return login;
}

async function works({ url, pin, token }: Login): Promise<boolean> {
  using client = connect({ url, pin, token });
  try {
    await client.getSession();
    return true;
  } catch (error) {
    if (error instanceof LabwrightError && error.status === 401) return false;
    throw error;
  }
}
