import { createServer as createHttp, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { FatalError, type Reply, SlimError } from "./answer.ts";
import type { Call } from "./call.ts";
import { Host } from "./host.ts";
import { missingKey } from "./notice.ts";
import { type FakeEveOptions, noticesOf } from "./options.ts";
import { readBody } from "./php.ts";
import { routePnetLab } from "./pnetlab.ts";
import { route } from "./routes.ts";
import type { RunningNode, StartFault } from "./runtime.ts";

/**
 * An error page before or after the host did what it was asked for; the connection cut before the host did anything, or – with all done –
 * in the middle of the answer; all sessions ended before the host looked at the call.
 */
export type Breakage = "page before" | "page after" | "cut before" | "cut in the answer" | "signed out before";

interface Trap {
  readonly call: RegExp;
  readonly how: Breakage;
}

/** A fake EVE-NG host that is listening. */
export interface FakeEve extends AsyncDisposable {
  /** http://127.x.y.z:port */
  readonly url: string;
  readonly address: string;
  readonly port: number;
  /** Nodes with a console that listens. */
  running(): readonly RunningNode[];
  /** A lab file as it is; undefined where there is none. */
  labFile(path: string): string | undefined;
  putLabFile(path: string, text: string): void;
  addFolder(path: string): void;
  /** All of them but the root, sorted. */
  folders(): readonly string[];
  /** Labs with a lock beside them. */
  locks(): readonly string[];
  /** As left by PHP when it died. */
  leaveLock(path: string): void;
  /** As an operator does it on the host. */
  removeLock(path: string): void;
  expireSession(username: string): void;
  failNextStart(fault?: StartFault): void;
  /** A .lock in the directory where the user runs the node: status 1, or 3 while the node runs. Until a wipe clears it. */
  stickNode(path: string, node: number, username?: string): Promise<void>;
  /** Another program listens on a console port: 32768 + 128 × pod + node. */
  occupyPort(port: number): void;
  freePort(port: number): void;
  failNextExport(): void;
  /** PNETLab: after the next call that matches, the user is in no lab any more, as if someone had left it in the web interface. */
  leadAway(call: RegExp, username: string): void;
  /** Runs before the next call that matches, as somebody who changes the lab by hand at that moment. */
  meanwhile(call: RegExp, act: () => void): void;
  /** The next call whose "GET /api/…" matches does not end well. */
  breakNext(call: RegExp, how: Breakage): void;
  /** Settings that may change while a client is connected. */
  change(to: { readonly php?: 7 | 8; readonly guacamole?: boolean; readonly clock?: () => Date }): void;
  /** Calls so far: "GET /api/status". */
  readonly calls: readonly string[];
  /** Defects of the fake itself: if there is one, the test's result is void. */
  readonly defects: readonly unknown[];
  close(): Promise<void>;
}

/** Starts a host of its own, on a loopback address of its own. Close it. */
export async function startFakeEve(options: FakeEveOptions = {}): Promise<FakeEve> {
  const address = options.address ?? ownAddress();
  const host = new Host(options, () => address);
  const calls: string[] = [];
  const defects: unknown[] = [];
  let isClosed = false;
  const traps: Trap[] = [];
  const acts: { readonly call: RegExp; readonly act: () => void }[] = [];
  const away: { readonly call: RegExp; readonly username: string }[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    calls.push(`${request.method} ${request.url}`);
    const trap = traps.findIndex(({ call }) => call.test(`${request.method} ${request.url}`));
    const act = acts.findIndex((one) => one.call.test(`${request.method} ${request.url}`));
    if (act >= 0) acts.splice(act, 1)[0]!.act();
    const [sprung] = trap < 0 ? [] : traps.splice(trap, 1);
    const led = away.findIndex(({ call }) => call.test(`${request.method} ${request.url}`));
    const [left] = led < 0 ? [] : away.splice(led, 1);
    const lose = () => {
      for (const user of host.users.all()) if (user.username === left?.username) user.lab = null;
    };
    serve(host, request, response, sprung?.how, lose).catch((error: unknown) => {
      // Its close ends calls that it still works on.
      if (!isClosed || (error as Error).name !== "AbortError") defects.push(error);
      request.socket.destroy();
    });
  };
  const server: Server = options.tls === undefined ? createHttp(listener) : createHttps({ ...options.tls }, listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    isClosed = true;
    await host.runtime.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: `${options.tls === undefined ? "http" : "https"}://${address}:${port}`,
    address,
    port,
    calls,
    defects,
    running: () => host.runtime.running(),
    labFile: (path) => host.files.read(path)?.text,
    putLabFile: (path, text) => host.files.write(path, text),
    addFolder: (path) => host.files.addFolder(path),
    folders: () => host.files.folders(),
    locks: () => [...host.files.locks].sort(),
    leaveLock: (path) => host.files.locks.add(path),
    removeLock: (path) => host.files.locks.delete(path),
    expireSession: (username) => host.users.expire(username),
    failNextStart: (fault = { code: 12 }) => host.runtime.faults.push(fault),
    stickNode: async (path, id, username = "admin") => {
      const lab = await host.openLab(path, host.users.all().find((user) => user.username === username)?.tenant ?? 0);
      const node = lab.nodes.get(id);
      if (node === undefined) throw new RangeError(`${path} has no node ${id}`);
      host.runtime.stick(lab, node);
    },
    occupyPort: (at) => host.runtime.occupy(at),
    freePort: (at) => host.runtime.free(at),
    failNextExport: () => host.failingExports++,
    leadAway: (call, username) => {
      away.push({ call, username });
    },
    meanwhile: (call, act) => {
      acts.push({ call, act });
    },
    breakNext: (call, how) => {
      traps.push({ call, how });
    },
    change: ({ php, guacamole, clock }) => {
      if (php !== undefined) [host.settings.php, host.settings.notices] = [php, noticesOf(php)];
      if (guacamole !== undefined) host.users.guacamole = guacamole;
      if (clock !== undefined) host.settings.clock = clock;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

let started = 0;

/** Consoles have fixed ports on Community, so each host needs an address of its own; all of 127/8 is this machine. */
function ownAddress(): string {
  started++;
  return `127.${64 + ((process.pid >> 8) & 127)}.${process.pid & 255}.${1 + (started % 254)}`;
}

async function serve(
  host: Host,
  request: IncomingMessage,
  response: ServerResponse,
  how: Breakage | undefined,
  after: () => void,
): Promise<void> {
  const raw = await bodyOf(request);
  if (how === "cut before") {
    request.socket.destroy();
    return;
  }
  const url = new URL(request.url ?? "/", "http://host");
  await host.sleep(host.settings.latency.call);
  const archive = host.exports.get(url.pathname);
  if (request.method === "GET" && archive !== undefined) {
    send(host, request, response, archiveReply(archive.data, archive.made));
    return;
  }
  const call: Call = {
    host,
    method: request.method ?? "GET",
    path: decodeURIComponent(url.pathname),
    body: readBody(raw.toString("utf8")),
    raw,
    contentType: request.headers["content-type"] ?? "",
    query: url.searchParams,
    cookie: cookieOf(request),
    headers: request.headers,
    serverName: (request.headers.host ?? "").replace(/:\d+$/, ""),
  };
  if (how === "signed out before") for (const { username } of host.users.all()) host.users.expire(username);
  const broken = new SlimError(missingKey(host.settings.php, 0), { file: "api.php", line: 1, frames: [] }).reply();
  let reply: Reply | undefined = broken;
  if (how !== "page before") {
    try {
      reply = await (host.settings.edition === "pnetlab" ? routePnetLab(call) : route(call));
    } catch (error) {
      if (!(error instanceof SlimError) && !(error instanceof FatalError)) throw error;
      reply = error.reply();
    }
  }
  after();
  if (how === "cut in the answer") {
    const { status, body } = reply ?? unknown;
    const half = Buffer.from(body).subarray(0, Math.floor(Buffer.byteLength(body) / 2));
    request.socket.end(`HTTP/1.1 ${status} OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${half.toString("latin1")}`);
    return;
  }
  send(host, request, response, how === "page after" ? broken : (reply ?? unknown));
}

const unknown: Reply = { status: 501, headers: [["Content-Type", "text/plain"]], body: "EVE-NG has this, the fake has not.\n" };

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function cookieOf(request: IncomingMessage): string | undefined {
  return /(?:^|;\s*)(?:unetlab_session|token)=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
}

function archiveReply(body: Buffer, made: Date): Reply {
  const headers: Reply["headers"] = [
    ["Last-Modified", made.toUTCString()],
    ["ETag", `W/"${body.length.toString(16)}-${made.getTime().toString(16)}"`],
    ["Accept-Ranges", "bytes"],
    ["Content-Type", "application/zip"],
  ];
  return { status: 200, headers, body };
}

/** Apache: closes after these, and always has the type last. */
function send(host: Host, request: IncomingMessage, response: ServerResponse, { status, headers, body, fatal }: Reply): void {
  const bytes = Buffer.from(body);
  const closes = status === 400 || status === 500;
  const type = headers.filter(([name]) => name === "Content-Type");
  const all = [
    ["Date", host.settings.clock().toUTCString()],
    ["Server", "Apache/2.4.68 (Debian)"],
    ...headers.filter(([name]) => name !== "Content-Type"),
    ["Content-Length", String(bytes.length)],
    ...(closes ? [["Connection", "close"]] : []),
    ...type,
  ];
  if (fatal) {
    const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    request.socket.end(`HTTP/1.0 500 Internal Server Error\r\n${head}\r\n`);
    return;
  }
  response.sendDate = false;
  if (!closes) response.removeHeader("Connection");
  response.writeHead(status, all.flat());
  response.end(bytes);
}
