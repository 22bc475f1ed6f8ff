import { Failure } from "../../../contract/errors.ts";
import type { Answer, Transport } from "../../../transport/transport.ts";
import { messageOf, textOf } from "../api/answer.ts";
import { jsonOf } from "./pnetlab-answer.ts";

const callMs = 60_000;
const login = "/store/public/auth/login/login";

/**
 * "Username is not existed", "Password is Wrong", "Username or Password empty". Other errors contain these words, too: those of its database name the user,
 * and whether a password was used.
 */
const wrongPassword = /^(?:username|password)\b[a-z ]{0,40}\b(?:wrong|incorrect|invalid|empty|not exist(?:ed)?)\.?$/i;

/**
 * Signs in with a local ("offline") account of PNETLab, for native consoles. Returns the cookie of the session. Throws invalid_credentials, and
 * host_error, even if the host requires a captcha.
 */
export async function pnetlabLogin(transport: Transport, username: string, password: string, signal?: AbortSignal): Promise<string> {
  const cookies = await welcome(transport, signal);
  const token = cookies.get("XSRF-TOKEN");
  if (token === undefined) throw refused("the host has no page to sign in, as PNETLab has");
  const answer = await transport.request({
    method: "POST",
    path: login,
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      "X-XSRF-TOKEN": decoded(token),
      Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
    },
    body: JSON.stringify({ username, password, html: "0", captcha: "" }),
    timeoutMs: callMs,
    signal,
  });
  const json = jsonOf(answer);
  const session = cookiesOf(answer).get("token");
  if (json.result === true && session !== undefined) return `token=${session}`;
  // guess pnetlab-login: the messages are from its source code.
  const data = json.data;
  const why = textOf(typeof data === "object" && data !== null && "data" in data ? data.data : data) ?? textOf(json.message) ?? "";
  if (/captcha/i.test(why)) {
    throw refused(
      "PNETLab asks for a captcha at its login: an administrator must turn it off in its settings, since programs cannot read it",
    );
  }
  if (wrongPassword.test(why)) throw new Failure("invalid_credentials", "wrong user name or password");
  const secrets = { values: [password, ...cookies.values(), ...cookiesOf(answer).values()], texts: [] };
  throw refused(`PNETLab did not let ${username} in: ${messageOf(why, secrets).message || `HTTP ${answer.status}`}`, answer.status);
}

/** The cookies that the pages before the login set. */
async function welcome(transport: Transport, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const cookies = new Map<string, string>();
  let path = "/";
  for (let hops = 0; hops < 5; hops++) {
    const Cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = cookies.size > 0 ? { Cookie } : {};
    const answer = await transport.request({ method: "GET", path, headers, timeoutMs: callMs, signal, repeatable: true });
    for (const [name, value] of cookiesOf(answer)) cookies.set(name, value);
    const to = answer.status >= 300 && answer.status < 400 ? answer.headers.location : undefined;
    if (to === undefined) return cookies;
    const next = URL.parse(to, transport.url.href);
    if (next === null) throw refused("PNETLab redirects to an address that is not a sign-in page");
    // Online accounts sign in at PNETLab's store: the password must not be sent there.
    if (next.host !== transport.url.host) throw refused(`PNETLab redirects to ${next.host} for the sign-in: turn its offline mode on`);
    path = next.pathname + next.search;
  }
  return cookies;
}

function cookiesOf(answer: Answer): ReadonlyMap<string, string> {
  return new Map(
    (answer.headers["set-cookie"] ?? []).flatMap((line) => {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(line) ?? [];
      return name === undefined || value === undefined || value === "" ? [] : [[name, value] as const];
    }),
  );
}

/** The characters that are allowed in a header. */
function decoded(token: string): string {
  let text: string | undefined;
  try {
    text = decodeURIComponent(token);
  } catch {
    // Reported below, like any other cookie that cannot be sent back.
  }
  if (text !== undefined && /^[\x20-\x7e]+$/.test(text)) return text;
  throw refused("the host's page to sign in sets a malformed cookie XSRF-TOKEN");
}

function refused(message: string, status?: number): Failure {
  return new Failure("host_error", message, { data: { host: { message, ...(status !== undefined && { status }) } } });
}
