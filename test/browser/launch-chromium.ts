import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";

export interface LaunchedBrowser extends AsyncDisposable {
  readonly browser: Browser;
}

const executable = process.env.LABWRIGHT_CHROMIUM ?? "/usr/bin/chromium";
/**
 * A service's certificate is its own. Chromium does not look at it: where it is told afterwards to go on all the same, as browser contexts do, it
 * connects anew for each refusal, and now and then gives up (ERR_TOO_MANY_RETRIES).
 */
const usual = ["--disable-dev-shm-usage", "--ignore-certificate-errors"];
/** In its own network every port is free. */
const proxyPort = 1080;

/**
 * Debian's headless Chromium. As root it has no sandbox of its own, but a network of its own: where an interface of the machine comes or goes, as those
 * of other tests do, Chromium breaks off all its requests (ERR_NETWORK_CHANGED). It reaches this machine's loopback, and nothing else.
 */
export async function launchChromium(args: readonly string[] = []): Promise<LaunchedBrowser> {
  if (process.getuid?.() !== 0) {
    const browser = await chromium.launch({ executablePath: executable, args: [...usual, ...args] });
    return { browser, [Symbol.asyncDispose]: () => browser.close() };
  }
  const folder = await mkdtemp(join(tmpdir(), "labwright-chromium-"));
  const socket = join(folder, "proxy.sock");
  const proxy = await loopbackProxy(socket);
  const browser = await chromium.launch({
    executablePath: join(import.meta.dirname, "chromium-alone.sh"),
    args: [...usual, "--no-sandbox", ...args],
    // Addresses of loopback go by the proxy, too.
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

/** An HTTP proxy on a socket in the file system, for CONNECT to this machine's loopback only. */
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
    // Not before what came last is passed on.
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
