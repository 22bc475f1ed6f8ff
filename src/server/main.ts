/** The process of `labwright serve`: options, host, store, service, HTTPS server – and a clean end, with labs left running. */
import { randomBytes } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { SerialQueue } from "../base/keyed-queue.ts";
import { Ballast } from "../files/ballast.ts";
import { eveHost } from "../hosts/eve/host.ts";
import type { Host } from "../hosts/host.ts";
import { openUsers } from "../hosts/local/accounts/users.ts";
import { labsOnDisk } from "../hosts/local/definitions/labs-on-disk.ts";
import { localHost } from "../hosts/local/host.ts";
import { imageRecords } from "../hosts/local/images/images.ts";
import { type LocalPaths, localPaths } from "../hosts/local/machine/paths.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { createService } from "../service/create-service.ts";
import { sqliteStore } from "../service/store/sqlite.ts";
import type { Store } from "../service/store/store.ts";
import { loadPages } from "./http/pages.ts";
import { batchedLines } from "./process/batched-lines.ts";
import { jsonLog } from "./process/json-log.ts";
import { type ServeOptions, serveOptions, usage } from "./process/options.ts";
import { removeServiceFile, writeServiceFile } from "./process/service-file.ts";
import { startTrouble, usersTrouble } from "./process/start-trouble.ts";
import { holdStateDir } from "./process/state-lock.ts";
import { startServer } from "./start.ts";
import { serverCertificate } from "./tls/certificate.ts";

const env = process.env;
const uid = process.getuid?.() ?? 0;

let stateDir: string | undefined;
/** After so long a service that started is one that stays. */
const settledMs = 1_000;
const dayMs = 24 * 3_600_000;

/** Those that the service was started in: one that is gone sends SIGHUP, too. */
const terminals = [0, 1, 2].filter((fd) => isatty(fd));

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
  let reload = () => {};
  // Heard from the first moment on: a signal during start must not leave half of it behind.
  const ending = new Promise<NodeJS.Signals>((resolve) => {
    let told = false;
    const tell = (signal: NodeJS.Signals) => {
      // A second signal does not wait, but for that of a terminal that is gone: its programs are told by several.
      if (told && signal !== "SIGHUP") process.exit(1);
      told = true;
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, tell);
    process.on("SIGHUP", (signal) => (terminals.some(isGone) ? tell(signal) : reload()));
  });
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  await using cleanup = new AsyncDisposableStack();
  const held = await holdStateDir(stateDir);
  cleanup.defer(() => held.release());

  const warn = (text: string) => log("warn", text);
  const ballast = new Ballast(stateDir);
  const isFull = await ballast.drop();
  if (isFull)
    log("warn", "the file system of the state directory is full: labs can be stopped and destroyed; free space on it", { stateDir });
  // Before anything is made that only a first start makes.
  const store = await openStore(options);
  const readCertificate = () => serverCertificate({ stateDir, names: options.names, warn, ...(options.own && { own: options.own }) });
  const certificate = await readCertificate();
  const host = await openHost(options, store, warn);
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
    store,
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
    docs: () => loadPages(fileURLToPath(new URL("../../dist/docs", import.meta.url))),
    listen: { host: options.listen, port: options.port },
    log: { level: logLevel, stream: lines },
  });
  url = server.url;
  cleanup.defer(() => server.close());
  await writeServiceFile(stateDir, { url: server.url, fingerprint: server.fingerprint, pid: process.pid, host: options.host });
  cleanup.defer(() => removeServiceFile(stateDir, process.pid));
  const reloads = new SerialQueue();
  const readAgain = async () => {
    try {
      server.useCertificate(await readCertificate());
      await writeServiceFile(stateDir, { url: server.url, fingerprint: server.fingerprint, pid: process.pid, host: options.host });
      log("info", "the certificate was read again", { fingerprint: server.fingerprint });
    } catch (error) {
      log("error", `the certificate was not changed: ${(error as Error).message}`);
    }
  };
  reload = () => void reloads.run(readAgain);
  // Also what expires while the service runs is told.
  setInterval(() => void readCertificate().catch((error: Error) => warn(error.message)), dayMs).unref();
  process.stdout.write(`labwright ${version} listens on ${server.url} (${host.kind} host), certificate sha256:${server.fingerprint}\n`);

  cleanup.defer(() => ballast.close());
  // Not before it is known to stay: those who start many services in a row would pay for it each time.
  setTimeout(() => {
    service.keepReady();
    ballast.keep();
  }, settledMs).unref();

  const signal = await ending;
  log("info", "ending; labs keep running", { signal });
}

/** Throws where the database was lost, and not the labs. */
async function openStore({ host, stateDir, adopt }: ServeOptions): Promise<Store> {
  const labs = host === "embedded" && !adopt ? await labsOnDisk(stateDir) : 0;
  const file = join(stateDir, "labwright.db");
  return sqliteStore(file, {
    whenNew: (state) => {
      if (labs === 0) return;
      throw new Error(
        `the database ${file} is ${state}, and ${stateDir} holds ${labs === 1 ? "a lab" : `${labs} labs`}: restore the database from a backup; ` +
          "or start once with labwright serve --adopt, which makes a new one: labs run on, only admins see them until labwright adopt gives them back to their owners, and users must sign in again",
      );
    },
  });
}

/** A terminal that was closed is none any more. */
function isGone(terminal: number): boolean {
  return !isatty(terminal);
}

async function openHost({ host, eve, stateDir, nat }: ServeOptions, store: Store, warn: (text: string) => void): Promise<Host> {
  if (eve !== undefined) return eveHost({ ...eve, warn });
  const given = env.LABWRIGHT_ADMIN_PASSWORD || undefined;
  if (host === "memory") {
    const password = given ?? randomBytes(15).toString("base64url");
    if (given === undefined) announce(password);
    return memoryHost({ users: [{ name: "admin", password, role: "admin" }] });
  }
  const paths = localPaths({ ...env, LABWRIGHT_STATE_DIR: stateDir }, uid);
  await needSetUp(paths);
  const users = join(stateDir, "users.json");
  const first = await openUsers(users)
    .ensureFirstAdmin({ password: given })
    .catch((error: unknown) => Promise.reject(usersTrouble(users, error)));
  if (first.password !== undefined) announce(first.password);
  const recorded = new Map(store.labs.list().flatMap(({ path, labId: id, owner }) => (id === undefined ? [] : [[path, { id, owner }]])));
  return localHost({ paths, warn, nat, recorded });
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
