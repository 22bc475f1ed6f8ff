import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as plainRequest, type RequestOptions } from "node:http";
import { request as tlsRequest } from "node:https";
import { isIP } from "node:net";
import { Failure } from "../../contract/errors.ts";
import type { LoadedSource, UrlImports } from "../../service/common/url-imports.ts";
import { isPublicAddress } from "./public-address.ts";
import { patternOf, type UrlPattern } from "./url-patterns.ts";

/** Limits of one load. The time includes redirects. */
const limits = { bytes: 24 * 2 ** 20, timeMs: 20_000, redirects: 5, atOnce: 4, atOnceOfUser: 2 } as const;

export interface LoadOptions {
  readonly patterns: readonly UrlPattern[];
  /** Returns the addresses of a host. Default: those of the machine's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Default: limits of the service. */
  readonly timeMs?: number;
  readonly bytes?: number;
}

/** Returns the imports by URL of these patterns. */
export function urlImports(options: LoadOptions): UrlImports {
  /** The users of the loads that run. */
  const running: string[] = [];
  return {
    hosts: options.patterns.map(({ text }) => text),
    load: async (url, user) => {
      const own = running.filter((one) => one === user).length;
      if (own >= limits.atOnceOfUser)
        throw new Failure(
          "rate_limited",
          `you load ${own} files from URLs at this time, which is the maximum: try again when they are there`,
        );
      if (running.length >= limits.atOnce)
        throw new Failure("rate_limited", "too many files are loaded from URLs at this time: try again later");
      running.push(user);
      try {
        return await load(url, options);
      } finally {
        running.splice(running.indexOf(user), 1);
      }
    },
  };
}

/**
 * Loads a file. The address of the URL and the address of each redirect are checked. The connection goes to the checked address: the name could resolve to
 * another one by then. No cookie, password or other data of the service is sent.
 */
async function load(
  text: string,
  { patterns, resolve = addressesOf, timeMs = limits.timeMs, bytes = limits.bytes }: LoadOptions,
): Promise<LoadedSource> {
  const signal = AbortSignal.timeout(timeMs);
  let url = parsed(text);
  for (let redirects = 0; ; redirects++) {
    const address = await checkedAddress(url, { patterns, resolve, signal });
    const response = await get(url, address, signal);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return { filename: nameOf(url), bytes: await bodyOf(response, url, { signal, bytes }) };
    response.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined)
      throw refused(url, `the server answered with status ${statusCode}`);
    if (redirects === limits.redirects) throw refused(url, `more than ${limits.redirects} redirects`);
    url = parsed(headers.location, url);
  }
}

function parsed(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null || !["https:", "http:"].includes(url.protocol))
    throw new Failure("invalid_source", "url: not an address that begins with https://");
  if (url.username !== "" || url.password !== "")
    throw new Failure("invalid_source", `${shown(url)}: a URL with a user name or password is not loaded: download the file and import it`);
  return url;
}

/** Returns an address of the URL's host. Throws if no pattern allows the URL, or if one of the addresses is private and not named by the pattern itself. */
async function checkedAddress(
  url: URL,
  { patterns, resolve, signal }: Required<Pick<LoadOptions, "patterns" | "resolve">> & { readonly signal: AbortSignal },
): Promise<string> {
  const pattern = patternOf(patterns, url);
  if (pattern === undefined) {
    const hosts = patterns.map(({ text }) => text).join(", ");
    throw refused(url, `files are loaded only from ${hosts}. Download the file and import it, or ask the administrator of the service`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return host;
  const addresses = await Promise.race([resolve(host).catch((): readonly string[] => []), expiry(url, signal)]);
  const [first] = addresses;
  if (first === undefined) throw refused(url, "the name of its host is not known");
  if (!addresses.every(isPublicAddress)) throw refused(url, "the address of its host is not public");
  return first;
}

/** Rejects when the time is over. A resolver has longer limits of its own. */
function expiry(url: URL, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const expire = () => reject(refused(url, "the resolver takes too long to answer"));
    if (signal.aborted) expire();
    else signal.addEventListener("abort", expire, { once: true });
  });
}

async function addressesOf(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function get(url: URL, address: string, signal: AbortSignal): Promise<IncomingMessage> {
  const options: RequestOptions & { readonly servername?: string } = {
    method: "GET",
    headers: { host: url.host, accept: "*/*", "accept-encoding": "identity", "user-agent": "labwright" },
    host: address,
    // The certificate must be valid for the host name of the URL. `host` is an IP address.
    ...(isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 && { servername: url.hostname }),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
    path: `${url.pathname}${url.search}`,
    agent: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? tlsRequest(options) : plainRequest(options);
    request.on("response", resolve);
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      reject(refused(url, "the server answered with status 101"));
    });
    // For every answer, also one without an event here: a load that never ended would keep its place.
    signal.addEventListener("abort", () => reject(refused(url, "the server takes too long to answer")), { once: true });
    request.on("error", (error) => reject(refused(url, reasonOf(error, signal))));
    request.end();
  });
}

async function bodyOf(
  response: IncomingMessage,
  url: URL,
  { signal, bytes }: { readonly signal: AbortSignal; readonly bytes: number },
): Promise<Uint8Array> {
  const encoding = response.headers["content-encoding"] ?? "identity";
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (encoding !== "identity") throw refused(url, `the server compresses its answer as ${JSON.stringify(encoding.slice(0, 40))}`);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) throw refused(url, `the file has more than ${bytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Failure ? error : refused(url, reasonOf(error as Error, signal));
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: Error, signal: AbortSignal): string {
  return signal.aborted ? "the server takes too long to answer" : `the file cannot be loaded: ${error.message}`;
}

function refused(url: URL, reason: string): Failure {
  return new Failure("invalid_source", `${shown(url)}: ${reason}`);
}

/** Without the query, which may be a secret, and in a length for a message. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.slice(0, 300);
}

function nameOf({ pathname }: URL): string {
  const name = pathname.slice(pathname.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return name.slice(-100) || "lab";
}
