import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { UsageError } from "../command/usage-error.ts";

/** The time that a person has in the browser, ms. */
const patienceMs = 600_000;

export interface BrowserSignIn {
  readonly code: string;
  /** The secret that only this program has; the service compares its digest. */
  readonly verifier: string;
}

/**
 * Signs in with a browser of this machine: it opens a page of the service, which sends it to the provider and at last to a port of 127.0.0.1. Returns what
 * finishLogin needs.
 * @param show gets the address to open, and the code that the page shows
 */
export async function browserSignIn(
  url: string,
  show: (address: string, check: string) => void,
  waitMs = patienceMs,
): Promise<BrowserSignIn> {
  const [verifier, state] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")];
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  let resolve: (code: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<string>((done, failed) => {
    [resolve, reject] = [done, failed];
  });
  // It is awaited below, when the port is open.
  promise.catch(() => {});
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "/", "http://127.0.0.1").searchParams;
    const code = query.get("code");
    // Other pages and programs can send requests to this port: only the service knows the state.
    const isMine = request.method === "GET" && query.get("state") === state && code !== null;
    const text = isMine
      ? "You are signed in. Close this page and go back to the terminal."
      : "This page belongs to labwright login --oidc.";
    response.writeHead(isMine ? 200 : 404, { "Content-Type": "text/plain; charset=utf-8", Connection: "close" }).end(`${text}\n`);
    if (isMine) resolve(code);
  });
  await new Promise<void>((listening, failed) => server.once("error", failed).listen(0, "127.0.0.1", listening));
  const late = setTimeout(
    () => reject(new UsageError(`nobody signed in within ${Math.ceil(waitMs / 60_000)} minutes`, "run labwright login --oidc again")),
    waitMs,
  );
  try {
    const { port } = server.address() as AddressInfo;
    const query = new URLSearchParams({ port: String(port), challenge, state });
    show(`${url}/oidc/login?${query}`, createHash("sha256").update(challenge).digest("hex").slice(0, 6));
    return { code: await promise, verifier };
  } finally {
    clearTimeout(late);
    server.close();
    server.closeIdleConnections();
  }
}
