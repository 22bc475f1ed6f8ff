import { connect, LabwrightError } from "../../client/index.ts";
import { readPassword } from "../command/ask.ts";
import type { Context } from "../command/context.ts";
import type { Login } from "../command/credentials.ts";
import { keptAdminPassword } from "../command/local-service.ts";

/**
 * A login whose token works, without a question where that is possible: the kept login of this service, at whatever port it was made, else a new one of the
 * same user, else one of admin. The login of another user stays kept.
 */
export async function signIn(context: Context, service: Login): Promise<Login> {
  const logins = await context.credentials.ofService(service);
  const [preferred] = logins;
  for (const known of logins.filter(({ username }) => username === preferred?.username)) {
    const login = { ...known, url: service.url };
    if (await works(login)) return await keep(context, login, known.url);
  }
  const username = process.env.LABWRIGHT_USER ?? preferred?.username ?? "admin";
  const own =
    process.env.LABWRIGHT_PASSWORD ??
    (username === "admin" ? (process.env.LABWRIGHT_ADMIN_PASSWORD ?? (await keptAdminPassword())) : undefined);
  const password = own ?? (await readPassword(context.terminal, `Password of ${username} at ${service.url}: `));
  using client = connect({ url: service.url, pin: service.pin });
  const { token } = await client.login({ username, password });
  context.terminal.note(`signed in as ${username}`);
  const { url, pin } = service;
  const login = { url, username, ...(pin === undefined ? {} : { pin }), ...(token === undefined ? {} : { token }) };
  return await keep(context, login, preferred?.url ?? url);
}

/** Keeps the login; where another user's login is kept at its address, under `otherUrl`: the certificate leads from there to the service. */
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
