import type { FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import type { OperationId } from "../../contract/operations.ts";
import type { BrowserGrant } from "../../service/common/call.ts";
import { isUpgrade } from "../streams/upgrades.ts";

/** A browser takes a name with this prefix only with Secure, Path=/ and no Domain: no other host or port can plant one. */
const cookieName = "__Host-labwright";
const attributes = "Path=/; Secure; HttpOnly; SameSite=Strict";
/** Pages of another origin cannot send it: they would have to ask first, and are never allowed to. */
const proofHeader = "x-labwright-csrf";

/** The value of our cookie in a Cookie header. */
export function browserCookie(header: string | undefined): string | undefined {
  return header
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${cookieName}=`))
    ?.slice(cookieName.length + 1);
}

/**
 * A cookie goes with every request to this host, also with those that a page of another origin makes; another port of the same
 * host is such an origin, and SameSite does not see the difference. So what the browser says of the origin must be ours, a request that is no
 * GET must carry our header, and a WebSocket, which browsers open across origins unasked, must name its origin. Throws unauthenticated.
 */
export function refuseForeign(request: FastifyRequest): void {
  refuseForeignPage(request);
  if (isUpgrade(request.raw)) {
    if (request.headers.origin === undefined) throw refuse("a WebSocket must name its origin");
  } else if (!isRead(request) && !request.headers[proofHeader]) {
    throw refuse(`the header X-Labwright-Csrf is missing`);
  }
}

/** Refuses what a page of another origin or site sends, as far as the browser says so. Throws unauthenticated. */
export function refuseForeignPage(request: FastifyRequest): void {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `https://${host}`.toLowerCase())
    throw refuse("the request comes from another origin");
  // "none": typed by the person, or from a bookmark.
  if (site !== undefined && site !== "same-origin" && !(site === "none" && isRead(request))) {
    throw refuse("the request comes from another site");
  }
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function refuse(why: string): Failure {
  return new Failure("unauthenticated", `the cookie does not count: ${why}`);
}

/** Sets the cookie of a new browser session, or clears it at logout. Answers what the body shows. */
export function keepCookie(id: OperationId, answer: unknown, reply: FastifyReply): unknown {
  if (id === "logout") reply.header("Set-Cookie", `${cookieName}=; Max-Age=0; ${attributes}`);
  if (id !== "createBrowserSession") return answer;
  const { cookie, expires_at } = answer as BrowserGrant;
  const seconds = Math.max(0, Math.floor((Date.parse(expires_at) - Date.now()) / 1000));
  reply.header("Set-Cookie", `${cookieName}=${cookie}; Max-Age=${seconds}; ${attributes}`);
  return { expires_at };
}
