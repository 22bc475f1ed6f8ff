import type { FastifyRequest } from "fastify";
import type { OperationRow } from "../../contract/operations.ts";
import type { Caller } from "../../service/common/call.ts";
import type { Service } from "../../service/service.ts";
import { browserCookie, refuseForeign, refuseForeignPage } from "./browser.ts";

/**
 * Who calls: by bearer token, else by the cookie of a browser session. null where the operation takes a ticket from its body instead.
 * Throws unauthenticated or expired_agent_session.
 */
export function identify(service: Service, request: FastifyRequest, auth: OperationRow["auth"]): Caller | null {
  const { authorization, cookie } = request.headers;
  if (auth === "none") return null;
  // A cookie makes no further cookies.
  if (auth === "ticket" && authorization === undefined) {
    refuseForeignPage(request);
    return null;
  }
  const value = authorization === undefined ? browserCookie(cookie) : undefined;
  if (value === undefined) return service.authenticate(bearerToken(authorization));
  refuseForeign(request);
  return service.authenticateBrowser(value);
}

function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? "")?.[1];
}
