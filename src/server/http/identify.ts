import type { FastifyRequest } from "fastify";
import type { OperationRow } from "../../contract/operations.ts";
import type { Caller } from "../../service/common/call.ts";
import type { Service } from "../../service/service.ts";
import { forwardedOf } from "../forwarding/forwarded.ts";
import { browserCookie, refuseForeign, refuseForeignPage } from "./browser.ts";

/**
 * Returns the caller: from the bearer token, otherwise from the cookie of a browser session. `null` if the operation needs no caller, or takes a ticket from
 * its body; and for a call that another machine of the fleet passes on, whom that machine has authenticated; this one checks only whether the session has ended. Throws unauthenticated, expired_agent_session or rate_limited.
 */
export function identify(service: Service, request: FastifyRequest, auth: OperationRow["auth"]): Caller | null {
  const { authorization, cookie } = request.headers;
  const forwarded = forwardedOf(request.raw);
  if (forwarded !== undefined) return forwarded.caller === null ? null : service.passedOn(forwarded.caller);
  if (auth === "none") return null;
  // A ticket is required: a cookie cannot create another cookie.
  if (auth === "ticket" && authorization === undefined) {
    refuseForeignPage(request);
    return null;
  }
  const value = authorization === undefined ? browserCookie(cookie) : undefined;
  if (value === undefined) return service.authenticate(bearerToken(authorization), request.socket.remoteAddress);
  refuseForeign(request);
  return service.authenticateBrowser(value);
}

function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? "")?.[1];
}
