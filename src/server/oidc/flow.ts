import type { FlowSecrets } from "./provider.ts";

/** A sign-in that has begun. Kept in a cookie of the browser that began it, so that no other browser can finish it, and any service of a database can. */
export interface Flow extends FlowSecrets {
  /** The page to which the browser returns, below /ui/. */
  readonly page: string;
  /** Present if a program on the user's machine has begun it. */
  readonly program?: ProgramFlow;
}

export interface ProgramFlow {
  /** The port of 127.0.0.1 at which it waits. */
  readonly port: number;
  /** SHA-256 of its secret, base64url. */
  readonly challenge: string;
  /** Sent back to it. */
  readonly state: string;
}

const cookieName = "__Host-labwright-oidc";
const lifetimeSeconds = 600;
/** Lax: the browser comes back from the provider, another site. */
const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";

export function flowCookie(flow: Flow): string {
  return `${cookieName}=${Buffer.from(JSON.stringify(flow)).toString("base64url")}; Max-Age=${lifetimeSeconds}; ${attributes}`;
}

export const endedFlowCookie = `${cookieName}=; Max-Age=0; ${attributes}`;

/** Returns the flow of the cookies of a request; undefined without one. A browser may send anything: every part is checked again. */
export function flowOf(header: string | undefined): Flow | undefined {
  const pair = header?.split(";").find((one) => one.trim().startsWith(`${cookieName}=`));
  if (pair === undefined) return undefined;
  try {
    const value = pair.trim().slice(cookieName.length + 1);
    const { state, nonce, verifier, page, program } = JSON.parse(Buffer.from(value, "base64url").toString()) as Record<string, unknown>;
    if (![state, nonce, verifier].every((one) => typeof one === "string" && one.length >= 32)) return undefined;
    const secrets = { state, nonce, verifier } as FlowSecrets;
    if (program === undefined) return { ...secrets, page: localPage(page) };
    const { port, challenge, state: sent } = program as Record<string, unknown>;
    const checked = programFlow({ port: String(port), challenge, state: sent });
    return checked === undefined ? undefined : { ...secrets, page: localPage(page), program: checked };
  } catch {
    // No cookie of this service.
    return undefined;
  }
}

/** Returns a page below /ui/ of this service: anything else, such as the address of another site, becomes the first page. */
export function localPage(given: unknown): string {
  const origin = "https://this.invalid";
  if (typeof given !== "string" || !given.startsWith("/ui/") || !URL.canParse(given, origin)) return "/ui/";
  const url = new URL(given, origin);
  return url.origin === origin && url.pathname.startsWith("/ui/") ? `${url.pathname}${url.search}` : "/ui/";
}

/** Returns the checked parts of a program's request; undefined if one is malformed. */
export function programFlow(given: Readonly<Record<string, unknown>>): ProgramFlow | undefined {
  const { port, challenge, state } = given;
  const isText =
    typeof challenge === "string" && /^[\w-]{43}$/.test(challenge) && typeof state === "string" && /^[\w-]{16,128}$/.test(state);
  const number = Number(port);
  if (!isText || !Number.isInteger(number) || number < 1_024 || number > 65_535) return undefined;
  return { port: number, challenge, state };
}
