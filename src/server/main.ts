/** The process of `labwright serve`: options, host, store, service, HTTPS server – and a clean end, with labs left running. */
import { randomBytes } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eveHost } from "../hosts/eve/host.ts";
import type { Host } from "../hosts/host.ts";
import { localHost } from "../hosts/local/host.ts";
import { imageRecords } from "../hosts/local/images.ts";
import { type LocalPaths, localPaths } from "../hosts/local/paths.ts";
import { openUsers } from "../hosts/local/users.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { createService } from "../service/create-service.ts";
import { sqliteStore } from "../service/store/sqlite.ts";
import { batchedLines } from "./batched-lines.ts";
import { serverCertificate } from "./certificate.ts";
import { jsonLog } from "./json-log.ts";
import { type ServeOptions, serveOptions, usage } from "./options.ts";
import { loadPages } from "./pages.ts";
import { removeServiceFile, writeServiceFile } from "./service-file.ts";
import { startServer } from "./start.ts";
import { startTrouble } from "./start-trouble.ts";
import { holdStateDir } from "./state-lock.ts";

const env = process.env;
const uid = process.getuid?.() ?? 0;

let stateDir: string | undefined;
/** After so long a service that started is one that stays. */
const settledMs = 1_000;

try {
  const options = serveOptions(process.argv.slice(2), env, localPaths(env, uid).state);
  if (options !== "help") stateDir = options.stateDir;
  if (options === "help") process.stdout.write(usage);
  else await serve(options);
  process.exit();
} catch (error) {
  process.stderr.write(`labwright serve: ${await startTrouble(error, stateDir)}\n`);
  process.exit(1);
}

async function serve(options: ServeOptions): Promise<void> {
  const { stateDir, logLevel } = options;
  const lines = batchedLines((text) => process.stderr.write(text));
  process.once("exit", lines.flush);
  const log = jsonLog(logLevel, lines.write);
  // Heard from the first moment on: a signal during start must not leave half of it behind.
  const ending = new Promise<NodeJS.Signals>((resolve) => {
    let told = false;
    const tell = (signal: NodeJS.Signals) => {
      // A second signal does not wait, but for that of a terminal that is gone: its programs are told by several.
      if (told && signal !== "SIGHUP") process.exit(1);
      told = true;
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, tell);
  });
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  await using cleanup = new AsyncDisposableStack();
  const held = await holdStateDir(stateDir);
  cleanup.defer(() => held.release());

  const certificate = await serverCertificate({ stateDir, names: options.names, ...(options.own && { own: options.own }) });
  const host = await openHost(options, (text) => log("warn", text));
  cleanup.defer(() => host.close());
  const { sessionIdleMs, sessionAbsoluteMs } = options;
  const pages = await loadPages(fileURLToPath(new URL("../../dist/web", import.meta.url)));
  let url = "";
  const service = createService({
    host,
    ...(pages !== undefined && {
      webUi: {
        page: (lab: string) => `${url}/ui/labs${lab.split("/").map(encodeURIComponent).join("/")}`,
        capturePage: (capture: string) => `${url}/ui/captures/${capture}`,
      },
    }),
    store: sqliteStore(join(stateDir, "labwright.db")),
    log,
    version,
    resume: options.resume,
    ...(sessionIdleMs === undefined ? {} : { sessionIdleMs }),
    ...(sessionAbsoluteMs === undefined ? {} : { sessionAbsoluteMs }),
  });
  cleanup.defer(() => service.close());
  // Labs whose changes go on are busy from here on; the service answers meanwhile, and can be told to end.
  service
    .recover()
    .catch((error: unknown) => log("error", "changes that a restart cut off could not be looked at", { error: String(error) }));
  const server = await startServer({
    service,
    certificate,
    version,
    pages,
    listen: { host: options.listen, port: options.port },
    log: { level: logLevel, stream: lines },
  });
  url = server.url;
  cleanup.defer(() => server.close());
  await writeServiceFile(stateDir, { url: server.url, fingerprint: server.fingerprint, pid: process.pid });
  cleanup.defer(() => removeServiceFile(stateDir, process.pid));
  process.stdout.write(`labwright ${version} listens on ${server.url} (${host.kind} host), certificate sha256:${server.fingerprint}\n`);

  // Not before it is known to stay: those who start many services in a row would pay for it each time.
  setTimeout(() => service.keepReady(), settledMs).unref();

  const signal = await ending;
  log("info", "ending; labs keep running", { signal });
}

async function openHost({ host, eve, stateDir, nat }: ServeOptions, warn: (text: string) => void): Promise<Host> {
  if (eve !== undefined) return eveHost({ ...eve, warn });
  const given = env.LABWRIGHT_ADMIN_PASSWORD || undefined;
  if (host === "memory") {
    const password = given ?? randomBytes(15).toString("base64url");
    if (given === undefined) announce(password);
    return memoryHost({ users: [{ name: "admin", password, role: "admin" }] });
  }
  const paths = localPaths({ ...env, LABWRIGHT_STATE_DIR: stateDir }, uid);
  await needSetUp(paths);
  const first = await openUsers(join(stateDir, "users.json")).ensureFirstAdmin({ password: given });
  if (first.password !== undefined) announce(first.password);
  return localHost({ paths, warn, nat });
}

/** Without these no node can start: better told now than at the first lab. */
async function needSetUp({ holder, images }: LocalPaths): Promise<void> {
  const missing = [
    ...(await access(holder).then(
      () => [],
      () => [`lab holder (${holder})`],
    )),
    ...((await imageRecords(images)).size === 0 ? [`root file systems (${images})`] : []),
  ];
  if (missing.length === 0) return;
  throw new Error(`this machine is not set up for labs: no ${missing.join(", no ")}. Run labwright setup first; --host memory needs none`);
}

/** The one time that a made password is shown; it is stored nowhere. */
function announce(password: string): void {
  process.stdout.write(`first start: sign in as admin with the password ${password}\n`);
}
