import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { getCACertificates } from "node:tls";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { AddressRefused, guardedLookup, refuseAddress } from "./address-scope.ts";

export interface Request {
  readonly url: URL;
  readonly method?: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  /** PEM certificates that are trusted besides the system's. */
  readonly ca?: string | undefined;
  /** Which addresses may be connected to. Absent: all. */
  readonly isAllowed?: ((address: string) => boolean) | undefined;
  readonly signal: AbortSignal;
  /** Maximum silence of the server, ms. */
  readonly silenceMs: number;
}

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The address of the server. */
  readonly address: string;
  readonly body: IncomingMessage;
}

/** The server or the network failed: the request may be repeated. */
export class Unreachable extends ArchiveError {
  constructor(message: string, hint?: string) {
    super("unreachable", message, hint);
  }
}

/**
 * Sends one request and returns the response when its headers arrive; redirects are not followed. The connection is not used again. Throws Unreachable;
 * ArchiveError not_allowed for an address that is not allowed, and for a certificate that is not trusted; the signal's reason. The message has the host
 * and never the headers, nor the query of the URL.
 */
export function exchange({ url, method = "GET", headers, ca, isAllowed, signal, silenceMs }: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(signal.aborted ? signal.reason : problemOf(error, url));
    const options: RequestOptions = {
      method,
      headers: { "User-Agent": "labwright", ...headers },
      agent: false,
      signal,
      ...(isAllowed !== undefined && { lookup: guardedLookup(isAllowed) as NonNullable<RequestOptions["lookup"]> }),
    };
    try {
      if (isAllowed !== undefined) refuseAddress(url.hostname, isAllowed);
      const request =
        url.protocol === "http:"
          ? httpRequest(url, options)
          : httpsRequest(url, { ...options, ca: [...trusted(), ...(ca === undefined ? [] : [ca])] });
      request.setTimeout(silenceMs, () => request.destroy(new Error(`no answer for ${silenceMs / 1000} s`)));
      request.on("error", fail);
      request.on("response", (body) => {
        const address = body.socket.remoteAddress ?? "";
        // A request whose reader has gone fails without anybody who listens.
        body.on("error", () => undefined);
        resolve({ status: body.statusCode ?? 0, headers: body.headers, address, body });
      });
      request.end();
    } catch (error) {
      fail(error);
    }
  });
}

let system: readonly string[] | undefined;

/** Authorities of Node, and those that the administrator has added to the machine. */
function trusted(): readonly string[] {
  system ??= [...new Set([...getCACertificates("default"), ...getCACertificates("system")])];
  return system;
}

/** Returns the whole body. Throws ArchiveError too_large, Unreachable. */
export async function bodyOf({ body }: Response, url: URL, max: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > max) throw new ArchiveError("too_large", `the answer of ${url.host} has more than ${max} bytes`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    throw problemOf(error, url);
  }
  return Buffer.concat(parts);
}

/** Returns the error of a connection, with the host. */
export function problemOf(error: unknown, { host, protocol }: URL): ArchiveError {
  if (error instanceof ArchiveError) return error;
  if (error instanceof AddressRefused) return new ArchiveError("not_allowed", `${host}: ${error.message}`);
  const known = error instanceof AggregateError ? error.errors[0] : error;
  const { code = "", message } = known as NodeJS.ErrnoException;
  if (certificateCodes.test(code)) {
    const hint = "labwright registry add HOST --ca FILE names the authority of its certificate";
    return new ArchiveError("not_allowed", `the certificate of ${host} is not trusted: ${message.split(";", 1)[0]}`, hint);
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return new Unreachable(`${host} does not speak TLS`, "labwright registry add HOST --plain-http allows a registry without TLS");
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return new Unreachable(`the name ${host} is not known`);
  if (code === "ECONNREFUSED") return new Unreachable(`${host} refuses connections`);
  if (code === "HPE_INVALID_CONSTANT" && protocol === "http:") return new Unreachable(`${host} does not speak HTTP`);
  return new Unreachable(`no connection to ${host}: ${message}`);
}

const certificateCodes = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME)/;
