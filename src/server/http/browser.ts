import type { FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import type { OperationId } from "../../contract/operations.ts";
import type { BrowserGrant } from "../../service/common/call.ts";
import { isUpgrade } from "../streams/upgrades.ts";

/** A browser accepts a name with this prefix only with Secure, Path=/ and no Domain, so that no other host can set the cookie. */
const cookieName = "__Host-labwright";
const attributes = "Path=/; Secure; HttpOnly; SameSite=Strict";
/** Pages of another origin cannot send this header: the browser asks the service first, which never allows it. */
const proofHeader = "x-labwright-csrf";

/** Returns the value of Labwright's cookie in a Cookie header. */
export function browserCookie(header: string | undefined): string | undefined {
  return header
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${cookieName}=`))
    ?.slice(cookieName.length + 1);
}

/**
 * Refuses requests with a cookie that a page of another origin has sent. A browser adds the cookie to every request to this host. Another port of the same
 * host is another origin, but SameSite does not distinguish ports. Therefore:
 * - The origin that the browser reports must be the service's.
 * - A request other than GET must have the service's own header.
 * - A WebSocket must name its origin, because browsers open WebSockets across origins.
 *
 * Throws unauthenticated.
 */
export function refuseForeign(request: FastifyRequest): void {
  refuseForeignPage(request);
  if (isUpgrade(request.raw)) {
    if (request.headers.origin === undefined) throw refuse("a WebSocket must name its origin");
  } else if (!isRead(request) && !request.headers[proofHeader]) {
    throw refuse(`the header X-Labwright-Csrf is missing`);
  }
}

/** Refuses a request of a page of another origin or site, if the browser reports one. Throws unauthenticated. */
export function refuseForeignPage(request: FastifyRequest): void {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined && origin.toLowerCase() !== `https://${host}`.toLowerCase())
    throw refuse("the request comes from a page of another origin: only the service's own pages may use its cookie");
  // "none": the user typed the address or used a bookmark.
  if (site !== undefined && site !== "same-origin" && !(site === "none" && isRead(request))) {
    throw refuse("the request comes from a page of another site: only the service's own pages may use its cookie");
  }
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function refuse(why: string): Failure {
  return new Failure("unauthenticated", `the cookie is not accepted: ${why}`);
}

/** Sets the cookie of a new browser session, or clears it at logout. Returns the data for the body. */
export function keepCookie(id: OperationId, answer: unknown, reply: FastifyReply): unknown {
  if (id === "logout") reply.header("Set-Cookie", `${cookieName}=; Max-Age=0; ${attributes}`);
  if (id !== "createBrowserSession") return answer;
  const { cookie, expires_at } = answer as BrowserGrant;
  const seconds = Math.max(0, Math.floor((Date.parse(expires_at) - Date.now()) / 1000));
  reply.header("Set-Cookie", `${cookieName}=${cookie}; Max-Age=${seconds}; ${attributes}`);
  return { expires_at };
}
