/** The process of `labwright serve`. Opens the host and the store, starts the service and the HTTPS server, and ends cleanly while labs keep running. */
import { randomBytes } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { hostname, totalmem } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import { SerialQueue } from "../base/keyed-queue.ts";
import { Ballast } from "../files/ballast.ts";
import { packagePath } from "../files/program-path.ts";
import { eveHost } from "../hosts/eve/host.ts";
import type { Host } from "../hosts/host.ts";
import { userChanges } from "../hosts/local/accounts/user-changes.ts";
import { openUsers, usersOf } from "../hosts/local/accounts/users.ts";
import { labsOnDisk } from "../hosts/local/definitions/labs-on-disk.ts";
import { localHost } from "../hosts/local/host.ts";
import { imageRecords } from "../hosts/local/images/images.ts";
import { type LocalPaths, localPaths } from "../hosts/local/machine/paths.ts";
import { tunnelMtu } from "../hosts/local/tunnels/tunnel-policy.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { noneHost } from "../hosts/none/none-host.ts";
import { partsIn } from "../hosts/spread/records.ts";
import { spreadHost } from "../hosts/spread/spread-host.ts";
import { createService } from "../service/create-service.ts";
import { reservedUnused } from "../service/reservations/machines.ts";
import { firstSpreadVni, type MachineFacts, idMark as machineMark, silentAfterMs } from "../service/store/machines.ts";
import { labsHere, type Store } from "../service/store/store.ts";
import { type AuditFile, openAuditFile } from "./audit/audit-file.ts";
import { factsNow, withoutLabs } from "./fleet/facts.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import { loadPages } from "./http/pages.ts";
import { urlImports } from "./import-url/load-source.ts";
import type { OidcOptions } from "./oidc/routes.ts";
import { openStore } from "./open-store.ts";
import { batchedLines } from "./process/batched-lines.ts";
import { jsonLog } from "./process/json-log.ts";
import type { OidcFlags } from "./process/oidc-flags.ts";
import { type ServeOptions, serveOptions, usage } from "./process/options.ts";
import { refuseOutsider } from "./process/outsider.ts";
import { checkOwnAddress } from "./process/own-address.ts";
import { removeServiceFile, writeServiceFile } from "./process/service-file.ts";
import { startTrouble, usersTrouble } from "./process/start-trouble.ts";
import { holdStateDir } from "./process/state-lock.ts";
import { useSharedAccounts } from "./shared-accounts.ts";
import { startServer } from "./start.ts";
import { serverCertificate } from "./tls/certificate.ts";

const env = process.env;
const uid = process.getuid?.() ?? 0;

let stateDir: string | undefined;
/** A service that has run for this time is unlikely to end soon. */
const settledMs = 1_000;
const dayMs = 24 * 3_600_000;

/** The terminals that the service was started in. A terminal that is closed sends SIGHUP too. */
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
  // Handled from the beginning: a signal during the start must not leave it half done.
  const ending = new Promise<NodeJS.Signals>((resolve) => {
    let isEnding = false;
    const end = (signal: NodeJS.Signals) => {
      // A second signal ends the process at once. A second SIGHUP does not: a closed terminal can send several.
      if (isEnding && signal !== "SIGHUP") process.exit(1);
      isEnding = true;
      resolve(signal);
    };
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, end);
    process.on("SIGHUP", (signal) => (terminals.some(isClosed) ? end(signal) : reload()));
  });
  /** Ends the service with an error, because it may not go on. */
  let giveUp!: (reason: Error) => void;
  const givenUp = new Promise<never>((_resolve, reject) => {
    giveUp = reject;
  });
  // Awaited at the end of the start.
  givenUp.catch(() => {});
  const { version } = JSON.parse(await readFile(packagePath("package.json"), "utf8")) as { version: string };
  await using cleanup = new AsyncDisposableStack();
  const held = await holdStateDir(stateDir);
  cleanup.defer(() => held.release());

  const warn = (text: string) => log("warn", text);
  const ballast = new Ballast(stateDir);
  const isFull = await ballast.drop();
  if (isFull)
    log("warn", "the file system of the state directory is full: labs can be stopped and destroyed; free space on it", { stateDir });
  const audit = openAudit(options.auditLog, log);
  if (audit !== undefined) cleanup.defer(() => audit.close());
  // Opened before anything that only a first start creates.
  const onDisk = await labsOnDisk(stateDir);
  if (options.host === "none") {
    refuseLabs(onDisk.labs);
    if (onDisk.parts.length > 0) refuseParts(stateDir, warn);
  }
  const labs = options.host === "embedded" && !options.adopt ? onDisk.labs : 0;
  // Before it joins a fleet, which takes a token and makes it known to the other machines.
  if (options.host === "embedded") await requireSetup(pathsOf(stateDir));
  const store = await openStore(options, labs, log);
  store.shared?.onSuperseded(() => giveUp(superseded(stateDir)));
  // A start that fails must end its lease: other machines would take the lease for that of a lost service, whose labs they start.
  let isServed = false;
  cleanup.defer(async () => {
    if (!isServed) await store.close();
  });
  const readCertificate = () => serverCertificate({ stateDir, names: options.names, warn, ...(options.own && { own: options.own }) });
  const certificate = await readCertificate();
  if (options.advertise === undefined) await refuseOutsider(store.shared?.machines);
  const underlay = await underlayOf(options, warn);
  const fleet =
    options.advertise === undefined ? undefined : await joinedFleet(options, options.advertise, { store, version, log, giveUp, underlay });
  cleanup.defer(() => fleet?.close());
  if (options.host === "none") refuseLabs(await ownedLabs(store));
  const host = await openHost(options, { store, warn, fleet, underlay, parts: onDisk.parts });
  cleanup.defer(() => host.close());
  if (host.parts !== undefined) fleet?.reportParts(() => host.parts!.labs());
  const { sessionIdleMs, sessionAbsoluteMs } = options;
  const oidc = options.oidc === undefined ? undefined : await readOidc(options.oidc);
  const pages = await loadPages(packagePath("dist/web"));
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
    // The nodes of another host do not run on this machine.
    ...(options.host !== "eve" && options.host !== "none" && { machineMemory: Math.floor(totalmem() / 2 ** 20) }),
    mappingFolder: join(stateDir, "mappings"),
    ...(options.importUrls.length > 0 && { urlImports: urlImports({ patterns: options.importUrls }) }),
    ...(oidc !== undefined && { oidc: { name: oidc.name } }),
    ...(fleet !== undefined && { fleet: fleet.calls }),
    ...(sessionIdleMs === undefined ? {} : { sessionIdleMs }),
    ...(sessionAbsoluteMs === undefined ? {} : { sessionAbsoluteMs }),
  });
  isServed = true;
  cleanup.defer(() => service.close());
  // Labs with an unfinished change are busy from here on. The service answers requests and signals meanwhile.
  await new Promise<void>((begun) => {
    service.recover(begun).catch((error: unknown) => {
      log("error", "the recovery of changes that a restart cut off failed", { error: String(error) });
      begun();
    });
  });
  const server = await startServer({
    service,
    certificate,
    version,
    pages,
    oidc,
    docs: () => loadPages(packagePath("dist/docs")),
    fleet,
    parts: host.parts,
    listen: { host: options.listen, port: options.port, anyPort: options.anyPort },
    log: { level: logLevel, stream: lines },
    audit: audit?.record,
  });
  url = server.url;
  cleanup.defer(() => server.close());
  await writeServiceFile(stateDir, { url: server.url, fingerprint: server.fingerprint, pid: process.pid, host: options.host });
  cleanup.defer(() => removeServiceFile(stateDir, process.pid));
  const reloads = new SerialQueue();
  const readAgain = async () => {
    try {
      audit?.reopen();
    } catch (error) {
      log("error", `the audit log was not opened again: ${(error as Error).message}`);
    }
    try {
      server.useCertificate(await readCertificate());
      await writeServiceFile(stateDir, { url: server.url, fingerprint: server.fingerprint, pid: process.pid, host: options.host });
      log("info", "the certificate was read again", { fingerprint: server.fingerprint });
    } catch (error) {
      log("error", `the certificate was not changed: ${(error as Error).message}`);
    }
  };
  reload = () => void reloads.run(readAgain);
  // Warns of a certificate that expires while the service runs.
  setInterval(() => void readCertificate().catch((error: Error) => warn(error.message)), dayMs).unref();
  process.stdout.write(`labwright ${version} listens on ${server.url} (${host.kind} host), certificate sha256:${server.fingerprint}\n`);

  cleanup.defer(() => ballast.close());
  // Delayed, so that services that run only for a moment do not pay for it.
  setTimeout(() => {
    service.keepReady();
    ballast.keep();
  }, settledMs).unref();

  const signal = await Promise.race([ending, givenUp]);
  log("info", "ending; labs keep running", { signal });
}

/* Functions, because the service runs before the end of this file is reached. */
function superseded(stateDir: string): Error {
  return new Error(
    `another service has begun with the installation-id of ${stateDir}, so this one has ended; its nodes run on. One of the two state directories is a copy: end ` +
      "the service there, remove installation-id and fleet-key from it, and start this service again",
  );
}

function removed(): Error {
  return new Error(
    "this machine was removed from the fleet: its service has ended, and its nodes run on. To use the machine again, start the service with a new token of " +
      "labwright machines token (--join-token-file)",
  );
}

/** Joins the fleet of the database. */
async function joinedFleet(
  { stateDir, machineName, joinTokenFile, host }: ServeOptions,
  url: string,
  {
    store: { shared },
    version,
    log,
    giveUp,
    underlay,
  }: {
    readonly store: Store;
    readonly version: string;
    readonly log: ReturnType<typeof jsonLog>;
    readonly giveUp: (reason: Error) => void;
    readonly underlay: MachineFacts["underlay"] | undefined;
  },
): Promise<Fleet> {
  if (shared === undefined) throw new Error("--advertise needs --store");
  await checkOwnAddress(url);
  // A machine that has joined needs the token no more: the file may be gone while the setting is still there.
  const token =
    joinTokenFile === undefined || (await shared.machines.hasJoined())
      ? undefined
      : await readFile(joinTokenFile, "utf8").catch((error: Error) => Promise.reject(new Error(`--join-token-file: ${error.message}`)));
  const { machines } = shared;
  const onRemoved = () => giveUp(removed());
  const network = underlay === undefined ? {} : { underlay };
  const noLabs = host === "none" ? { facts: () => withoutLabs(factsNow(version)) } : {};
  return openFleet({
    stateDir,
    machines,
    name: machineName ?? hostname(),
    url,
    token: token?.trim(),
    version,
    ...network,
    ...noLabs,
    onRemoved,
    log,
  });
}

/** Reads the files of the options for sign-ins at a provider. The service does not start without them; the provider itself may be down. */
async function readOidc({ clientSecretFile, caFile, ...options }: OidcFlags): Promise<OidcOptions> {
  const read = async (flag: string, file: string) => {
    const text = await readFile(file, "utf8").catch((error: Error) => Promise.reject(new Error(`${flag}: ${error.message}`)));
    if (text.trim() === "") throw new Error(`${flag}: ${file} is empty`);
    return text;
  };
  return {
    ...options,
    ...(clientSecretFile !== undefined && { clientSecret: (await read("--oidc-client-secret-file", clientSecretFile)).trim() }),
    ...(caFile !== undefined && { ca: await read("--oidc-ca", caFile) }),
  };
}

/** Opens the audit log, if there shall be one. Without it the service does not start: nobody would notice that it is missing. */
function openAudit(path: string | undefined, log: ReturnType<typeof jsonLog>): AuditFile | undefined {
  if (path === undefined) return undefined;
  try {
    return openAuditFile(path, (text, fields) => log("error", text, { file: path, ...fields }));
  } catch (error) {
    throw new Error(`--audit-log: ${(error as Error).message}: give a file in an existing directory that the service may write to`);
  }
}

/** A closed terminal is no longer a terminal for isatty. */
function isClosed(terminal: number): boolean {
  return !isatty(terminal);
}

/** Returns the address of this machine for links between machines, and the largest MTU of such a link; `undefined` if it can have none. */
async function underlayOf({ host, advertise, underlay }: ServeOptions, warn: (text: string) => void): Promise<MachineFacts["underlay"]> {
  if (advertise === undefined || host !== "embedded" || uid !== 0) return undefined;
  const address = underlay ?? new URL(advertise).hostname;
  const mtu = isIPv4(address) ? await tunnelMtu({ local: address }) : undefined;
  if (mtu !== undefined) return { address, mtu };
  if (underlay !== undefined) throw new Error(`--underlay: no device of this machine has the address ${underlay}`);
  warn(
    `this machine gets no nodes of labs that are spread over machines: ${address} is no IPv4 address of it; --underlay gives another one`,
  );
  return undefined;
}

async function openHost(
  { host, eve, stateDir, nat, hostsFile, bindAllow, tunnels: allowed }: ServeOptions,
  {
    store,
    warn,
    fleet,
    underlay,
    parts,
  }: {
    readonly store: Store;
    readonly warn: (text: string) => void;
    readonly fleet: Fleet | undefined;
    readonly underlay: MachineFacts["underlay"] | undefined;
    readonly parts: readonly string[];
  },
): Promise<Host> {
  if (eve !== undefined) return eveHost({ ...eve, warn });
  const given = env.LABWRIGHT_ADMIN_PASSWORD || undefined;
  if (host === "memory") {
    const password = given ?? randomBytes(15).toString("base64url");
    if (given === undefined) announce(password);
    return memoryHost({ users: [{ name: "admin", password, role: "admin" }] });
  }
  const paths = pathsOf(stateDir);
  const file = join(stateDir, "users.json");
  const { shared } = store;
  const begin = async () => {
    if (shared !== undefined) await useSharedAccounts(file, shared, warn);
    return (shared === undefined ? openUsers(file) : usersOf(shared.accounts)).ensureFirstAdmin({ password: given });
  };
  const first = await begin().catch((error: unknown) => Promise.reject(usersTrouble(file, error)));
  if (first.password !== undefined) announce(first.password);
  if (host === "none" && shared !== undefined) return noneHost(sharedUsers(shared));
  const own = shared?.machines.own;
  const idMark = own === undefined ? undefined : machineMark(own);
  const recorded = new Map(labsHere(store).flatMap(({ path, labId: id, owner }) => (id === undefined ? [] : [[path, { id, owner }]])));
  // The other numbers are those of links between machines.
  const tunnels =
    allowed === undefined || underlay === undefined
      ? allowed
      : { ...allowed, vnis: { ...allowed.vnis, last: Math.min(allowed.vnis.last, firstSpreadVni - 1) } };
  const local = localHost({
    paths,
    warn,
    nat,
    recorded,
    hostsFile,
    bindAllow,
    tunnels,
    accounts: shared?.accounts,
    idMark,
    ...(underlay !== undefined && { underlay: { local: underlay.address } }),
  });
  if (fleet === undefined || shared === undefined || own === undefined || idMark === undefined) return local;
  const { machines } = shared;
  return spreadHost(local, {
    own,
    idMark,
    calls: fleet.parts,
    directory: spreadDirectory(stateDir),
    parts,
    recorded: labsHere(store).flatMap(({ path, labId: id, ids }) =>
      id === undefined ? [] : [{ path, id, nodes: Object.values(ids.nodes) }],
    ),
    takeVnis: (count) => machines.takeVnis(count),
    reserved: (machine) => reservedUnused({ store }, machine, Date.now()),
    warn,
    machines: () =>
      machines.list().map(({ number, name, labels, state, silentMs, facts }) => ({
        number,
        name,
        labels,
        answers: number === own || silentMs <= silentAfterMs,
        isOpen: state === "active",
        room: facts.availableMemory,
        ...(facts.underlay !== undefined && { underlay: facts.underlay }),
      })),
  });
}

/** The accounts of the database. */
function sharedUsers({ accounts }: NonNullable<Store["shared"]>): Parameters<typeof noneHost>[0] {
  const users = usersOf(accounts);
  const signIn: ReturnType<typeof sharedUsers>["externalUsers"]["signIn"] = (identity, isTaken) =>
    users.signInExternal(identity, async (name) => isTaken(name));
  return { ...users, userChanges: userChanges(users), externalUsers: { signIn } };
}

/** Returns the number of labs in the database that belong to this machine. Those of a machine that was removed belong to none. */
async function ownedLabs({ shared }: Store): Promise<number> {
  const owners = [...((await shared?.machines.owners())?.values() ?? [])];
  return owners.filter((owner) => owner === shared?.machines.own).length;
}

/** Throws if this machine has labs: `--host none` is for machines that never had any, or from which they were moved. */
function refuseLabs(labs: number): void {
  if (labs === 0) return;
  const [noun, verb] = labs === 1 ? ["a lab", "it"] : [`${labs} labs`, "them"];
  throw new Error(
    `--host none runs no labs, and this machine has ${noun}: start the service without it, move ${verb} away (labwright machines drain NAME --stop-labs) or destroy ${verb}, and start again; ` +
      "or use an empty state directory",
  );
}

function pathsOf(stateDir: string): LocalPaths {
  return localPaths({ ...env, LABWRIGHT_STATE_DIR: stateDir }, uid);
}

/** Throws because this machine has parts of other machines' labs: nobody else would end them, and their labs would lack nodes. */
function refuseParts(stateDir: string, warn: (text: string) => void): never {
  const paths = partsIn(spreadDirectory(stateDir), warn)
    .all()
    .map(({ path }) => path)
    .sort();
  throw new Error(
    `--host none runs no labs, and this machine has nodes of labs that are spread over machines${paths.length === 0 ? "" : ` (${paths.join(", ")})`}: ` +
      "start the service without it, destroy these labs, and start again; or use an empty state directory",
  );
}

/** The folder of records about labs that are spread over machines. */
function spreadDirectory(stateDir: string): string {
  return join(stateDir, "spread");
}

/** Throws if the machine is not set up: without these files no node can start. */
async function requireSetup({ holder, images }: LocalPaths): Promise<void> {
  const missing = [
    ...(await access(holder).then(
      () => [],
      () => [`lab holder (${holder})`],
    )),
    ...((await imageRecords(images)).size === 0 ? [`root file systems (${images})`] : []),
  ];
  if (missing.length === 0) return;
  throw new Error(
    `this machine is not set up for labs: no ${missing.join(", no ")}. Run labwright setup first; --host memory needs no set-up`,
  );
}

/** Prints a generated password. It is never shown again, and stored only as a hash. */
function announce(password: string): void {
  process.stdout.write(`first start: sign in as admin with the password ${password}\n`);
}
