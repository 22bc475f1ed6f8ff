import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import type { Service } from "../../service/service.ts";
import { endedFlowCookie, type Flow, flowCookie, flowOf, localPage, type ProgramFlow, programFlow } from "./flow.ts";
import { type GroupRoles, identityOf } from "./identity.ts";
import { Provider, type ProviderOptions } from "./provider.ts";

export interface OidcOptions extends ProviderOptions {
  /** Name of the provider for people. */
  readonly name: string;
  readonly groups: GroupRoles;
}

type Audit = ((entry: Readonly<Record<string, unknown>>) => void) | undefined;

/** Each asks the provider: anybody can send such requests. */
const maxAtOnce = 16;

/** Adds the pages of the sign-in at a provider: /oidc/login begins it, the provider sends the browser to /oidc/callback, /oidc/logout also ends the provider's session. */
export function addOidc(app: FastifyInstance, service: Service, options: OidcOptions, audit: Audit): void {
  const provider = new Provider(options);
  let running = 0;
  const page = (url: string, answer: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>) =>
    app.route({
      method: "GET",
      url,
      handler: async (request, reply) => {
        reply.header("Referrer-Policy", "no-referrer");
        if (running >= maxAtOnce) return sendPage(reply, 503, "Sign-in is busy", ["Too many people sign in at once: try again."]);
        running += 1;
        try {
          return await answer(request, reply);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          request.log.warn({ err: error.cause ?? error, code: error.code }, "a sign-in at the provider failed");
          const hint = `If you have a local account, sign in with its password. Otherwise try again, or ask the administrator of this service.`;
          return sendPage(reply, error.status, "The sign-in failed", [error.message, hint]);
        } finally {
          running -= 1;
        }
      },
    });

  page("/oidc/login", async (request, reply) => {
    const query = request.query as Readonly<Record<string, unknown>>;
    const program = query["port"] === undefined ? undefined : programFlow(query);
    if (query["port"] !== undefined && program === undefined) throw new Failure("bad_request", "the address of this sign-in is malformed");
    const { url, secrets } = await provider.begin(`${originOf(request)}/oidc/callback`);
    const flow: Flow = { ...secrets, page: localPage(query["return"]), ...(program !== undefined && { program }) };
    return reply.header("Set-Cookie", flowCookie(flow)).redirect(url.href, 302);
  });

  page("/oidc/callback", async (request, reply) => {
    const flow = flowOf(request.headers.cookie);
    reply.header("Set-Cookie", endedFlowCookie);
    if (flow === undefined)
      throw new Failure("invalid_credentials", "this browser has begun no sign-in, or more than ten minutes ago: begin again");
    const claims = await provider.finish(new URL(request.url, originOf(request)), flow);
    // Only answers that the provider has confirmed are in the audit log: anybody can send others.
    const record = (fields: Readonly<Record<string, unknown>>) =>
      audit?.({
        time: new Date().toISOString(),
        request: request.id,
        operation: "login",
        address: request.socket.remoteAddress,
        on: { issuer: provider.issuer, subject: claims["sub"] },
        ...fields,
      });
    try {
      const identity = identityOf(provider.issuer, claims, options.groups);
      if (flow.program !== undefined) {
        const { user, code } = await service.signInProgram(identity, flow.program.challenge);
        record({ user, status: 200 });
        return sendConsent(reply, user, code, flow.program);
      }
      const { user, fragment } = await service.signInBrowser(identity);
      record({ user, status: 200 });
      return reply.redirect(`${flow.page}${fragment}`, 302);
    } catch (error) {
      if (error instanceof Failure) record({ status: error.status, code: error.code });
      throw error;
    }
  });

  page("/oidc/logout", async (request, reply) => {
    const end = await provider.end(`${originOf(request)}/ui/`);
    return reply.redirect(end?.href ?? "/ui/", 302);
  });
}

/** Asks before the program gets the code: another user of the machine may have begun the sign-in, and wait at that port. */
function sendConsent(reply: FastifyReply, user: string, code: string, { port, challenge, state }: ProgramFlow): FastifyReply {
  const check = checkCode(challenge);
  const text =
    `A program on this computer wants to use your session as ${user}. Continue only if you have just started labwright login --oidc yourself, and it shows the ` +
    `code ${check}.`;
  const href = `http://127.0.0.1:${port}/?${new URLSearchParams({ code, state })}`;
  return sendPage(reply, 200, "Sign in labwright", [text], { text: `Continue: the code is ${check}`, href });
}

/** A short text that the program and the page show: a person compares them. */
function checkCode(challenge: string): string {
  return createHash("sha256").update(challenge).digest("hex").slice(0, 6);
}

/** The provider accepts only registered addresses, so a request with another Host leads nowhere. */
function originOf(request: FastifyRequest): string {
  return `https://${request.headers.host}`;
}

function sendPage(
  reply: FastifyReply,
  status: number,
  title: string,
  texts: readonly string[],
  link: { readonly text: string; readonly href: string } = { text: "Back to the start", href: "/ui/" },
): FastifyReply {
  const body = texts.map((text) => `<p>${escaped(text)}</p>`).join("");
  return reply
    .code(status)
    .headers({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "X-Frame-Options": "DENY",
    })
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>` +
        `<h1>${escaped(title)}</h1>${body}<p><a href="${escaped(link.href)}">${escaped(link.text)}</a></p></html>\n`,
    );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
