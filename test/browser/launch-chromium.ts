import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

export interface LaunchedBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

/** The headless shell is the same browser without the parts that draw windows. Starting and opening pages takes half the processor time. */
const headlessShell = "/usr/bin/chromium-headless-shell";
const executable = process.env.LABWRIGHT_CHROMIUM ?? (existsSync(headlessShell) ? headlessShell : "/usr/bin/chromium");
/**
 * Pages are drawn by the processor, so a GPU process of its own would only cost time.
 *
 * The service's certificate is self-signed, so Chromium must not check it. The option of a browser context would be too late: Chromium then reconnects
 * for each refused certificate, and sometimes gives up (ERR_TOO_MANY_RETRIES).
 */
const defaultArgs = ["--disable-dev-shm-usage", "--in-process-gpu", "--ignore-certificate-errors"];
/** Any port is free in the browser's own network namespace. */
const proxyPort = 1080;

/**
 * Starts Debian's Chromium without windows. As root it runs without Chromium's sandbox, but in its own network namespace: Chromium aborts all requests
 * when an interface of the machine appears or disappears, as other tests cause (ERR_NETWORK_CHANGED). It reaches only this machine's loopback.
 */
export async function launchChromium(args: readonly string[] = []): Promise<LaunchedBrowser> {
  if (process.getuid?.() !== 0) {
    const browser = await chromium.launch({ executablePath: executable, args: [...defaultArgs, ...args] });
    return { browser, [Symbol.asyncDispose]: () => browser.close() };
  }
  const folder = await mkdtemp(join(tmpdir(), "labwright-chromium-"));
  const socket = join(folder, "proxy.sock");
  const proxy = await loopbackProxy(socket);
  const browser = await chromium.launch({
    executablePath: join(import.meta.dirname, "chromium-alone.sh"),
    args: [...defaultArgs, "--no-sandbox", ...args],
    // Loopback addresses use the proxy, too.
    proxy: { server: `http://127.0.0.1:${proxyPort}`, bypass: "<-loopback>" },
    env: {
      ...process.env,
      LABWRIGHT_TEST_NODE: process.execPath,
      LABWRIGHT_TEST_CHROMIUM: executable,
      LABWRIGHT_TEST_PROXY: socket,
      LABWRIGHT_TEST_PROXY_PORT: String(proxyPort),
    },
  });
  return {
    browser,
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      proxy.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Starts an HTTP proxy on a Unix socket that allows CONNECT to this machine's loopback only. */
async function loopbackProxy(path: string): Promise<{ close(): void }> {
  const open = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(403).end());
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.on("connect", (request, near: Socket, head: Buffer) => {
    const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(request.url ?? "") ?? [];
    near.on("error", () => near.destroy());
    if (host !== "127.0.0.1" && host !== "localhost") {
      near.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const far = connect(Number(port), "127.0.0.1");
    let connected = false;
    far.once("connect", () => {
      connected = true;
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      far.write(head);
      near.pipe(far).pipe(near);
    });
    far.on("error", () => (connected ? near.destroy() : near.end("HTTP/1.1 502 Bad Gateway\r\n\r\n")));
    // destroySoon: the last data must be passed on first.
    far.once("close", () => near.destroySoon());
    near.once("close", () => far.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  return {
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
