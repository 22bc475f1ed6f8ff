import { randomBytes } from "node:crypto";
import { access, link, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeKey } from "../../base/node-key.ts";
import { LabwrightError } from "../../client/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import type { Arguments } from "../command/arguments.ts";
import {
  type Command,
  type ExitCode,
  type Flag,
  fileOperand,
  labFlag,
  noWaitFlag,
  topoFlag,
  waitTimeoutFlag,
  yesFlag,
} from "../command/command.ts";
import { type Context, normalUrl } from "../command/context.ts";
import type { Login } from "../command/credentials.ts";
import { labSource } from "../command/lab-source.ts";
import { keptAdminPassword, readServiceFile, type ServiceFile, stateDirectory } from "../command/local-service.ts";
import { labFlags, type Project } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { reportingFailures, reportTroubles } from "../parts/node-troubles.ts";
import { takeOverFlag } from "../parts/take-over.ts";
import { isAllUp, waitForNodes } from "../parts/wait-for-nodes.ts";
import { checkOffline } from "../project-files/offline-check.ts";
import { answerOf, answers, startService } from "../service/service-process.ts";
import { Progress } from "../show/progress.ts";
import { isUp, type Status, showStatus } from "../show/show-status.ts";
import { signIn } from "../sign-in/sign-in.ts";
import { applyProject } from "./apply.ts";
import { pathIsTaken } from "./deploy.ts";
import { runTests } from "./test.ts";

/** Flags of labwright serve, for a service that up starts. */
const hostFlags: readonly Flag[] = [
  { long: "host-url", value: "URL", summary: "With --host eve: the address of the EVE-NG host" },
  {
    long: "host-pin",
    value: "SHA256",
    summary: "With --host eve: fingerprint of the EVE-NG host's certificate",
  },
  { long: "host-plain-http", summary: "With --host eve: allow an http:// address" },
];

export const up: Command = {
  name: "up",
  summary: "Run a lab from its file: start a service if none is running, deploy or apply, wait until the nodes are up",
  ...fileOperand,
  details:
    "up uses the service of --url or LABWRIGHT_URL, of your last login, or of this machine. If no service answers, and the address is not on another\n" +
    "machine, up starts one in the background. Its log and the generated password of its user admin are in the state directory (LABWRIGHT_STATE_DIR).\n" +
    "labwright down stops it. up uses a stored login of that service. Without one it signs in as admin; on EVE-NG it asks for a user of that host.\n" +
    "Fields that the host does not support are left out and named, also for a running lab.",
  flags: [
    topoFlag,
    { ...labFlag, summary: "The lab's path on the host; default: its name" },
    yesFlag,
    takeOverFlag,
    { long: "no-confirm", summary: "For a running lab: apply only changes that disturb no running node" },
    { long: "prune", summary: "For a running lab: also delete nodes, links and networks that are not in the file" },
    {
      long: "port",
      value: "PORT",
      summary: "The port of a new service; 0 takes any free port; default: LABWRIGHT_PORT, otherwise 8443 if it is free",
    },
    {
      long: "allow-unsupported",
      summary: "Has no effect: up always leaves out unsupported fields and names them",
    },
    { long: "host", value: "KIND", summary: "The emulation host of a new service" },
    ...hostFlags,
    { long: "test", summary: "Run the tests of the lab's file once the nodes are up; exit code 1: a test did not pass" },
    noWaitFlag,
    waitTimeoutFlag,
  ],
  readsText: true,
  example: "labwright up labs/ospf-triangle.yaml",
  run: async (context, args) => {
    if (args.has("test") && args.has("no-wait"))
      throw new UsageError("--test runs when the nodes are up, and --no-wait does not wait for them", "give one of the two");
    const project = await context.projectFile(args);
    checkOffline(context, project);
    await ensureService(context, args);
    const client = await context.client();
    const { exists } = await client.getProjectStatus(project.selector).catch(notThere);
    let code: ExitCode = 0;
    if (exists) code = await applyProject(context, args, { silent: context.json, allowUnsupported: true });
    else await deployProject(context, project);
    if (code === 1) return code;
    if (code === 2 || args.has("no-wait")) {
      context.result(await client.getProjectStatus(project.selector), (data) => showStatus(context.terminal.paint, data));
      return code;
    }
    const began = Date.now();
    const status = await waitForNodes(context, project, args.milliseconds("timeout"));
    // JSON is one document: the results of the tests, if they run.
    if (!(context.json && args.has("test") && isAllUp(status))) context.result(status, (data) => showStatus(context.terminal.paint, data));
    if (!isAllUp(status)) {
      await reportTroubles(context, project, status, { waitedMs: Date.now() - began });
      return 1;
    }
    if (args.has("test")) return (await runTests(context, project, { timeoutMs: args.milliseconds("timeout") })) || code;
    context.terminal.note(nextSteps(project, status));
    return code;
  },
};

async function deployProject(context: Context, project: Project): Promise<void> {
  const { file, selector, origin, title } = project;
  const input = { ...selector, ...(origin === undefined ? {} : { origin }), ...(await labSource(file)) };
  const { unsupported = [] } = await runChange(context, "deployProject", input, { what: `deploy ${title}` })
    .catch(pathIsTaken)
    .catch(reportingFailures(context, project));
  const show = context.json ? context.terminal.note : context.terminal.print;
  for (const text of unsupported) show(`unsupported: ${text}`);
}

function notThere(error: unknown): { readonly exists: boolean } {
  if (error instanceof LabwrightError && error.code === "lab_not_found") return { exists: false };
  throw error;
}

/** Connects the context to a service that answers, with a valid session. */
async function ensureService(context: Context, args: Arguments): Promise<void> {
  const known = await context.service();
  const port = args.text("port");
  const given = args.text("url") ?? (process.env.LABWRIGHT_URL || undefined);
  if (port !== undefined && given !== undefined)
    throw new UsageError(
      "--port is for a service of this machine, and cannot be combined with the address of a service",
      "give one of the two",
    );
  const use = async (login: Login) => void context.use(login.token === undefined ? await signIn(context, login) : login);
  if (known !== undefined && port === undefined && (await answers(known))) return await use(known);
  const wanted = given === undefined ? port : localPort(normalUrl(given));
  // The given address is on another machine: the first request reports why it cannot be used.
  if (given !== undefined && wanted === undefined && known !== undefined) return await use(known);
  const state = stateDirectory();
  const local = await readServiceFile(state);
  if (local !== undefined && (await answers({ url: local.url, pin: local.fingerprint }))) {
    if (wanted !== undefined && wanted !== "0" && new URL(local.url).port !== wanted)
      throw new UsageError(
        `this machine's service runs at ${local.url}, not at port ${wanted}`,
        `leave ${port === undefined ? (args.has("url") ? "--url" : "LABWRIGHT_URL") : "--port"} out to use it; labwright down stops it if labwright up started it`,
      );
    context.use(await signIn(context, { url: local.url, pin: local.fingerprint }));
    return;
  }
  // Another program or service listens there, with an unknown certificate.
  if (given !== undefined && known !== undefined && (await answerOf(known)) !== "nobody") return await use(known);
  const service = await begin(context, args, state, wanted);
  context.use(await signIn(context, { url: service.url, pin: service.fingerprint }));
}

/** Returns the port of a loopback address; `undefined` for other addresses. */
function localPort(address: string): string | undefined {
  const { hostname, port, protocol } = new URL(address);
  if (protocol !== "https:" || !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) return undefined;
  return port === "" ? "443" : port;
}

async function begin(context: Context, args: Arguments, state: string, port: string | undefined): Promise<ServiceFile> {
  using progress = new Progress(context.terminal, "starting a service on this machine", { quiet: context.quiet });
  await makeDirectory(state, 0o700).catch((error: Error) => {
    throw new UsageError(`the state directory ${state} cannot be created: ${error.message}`, "LABWRIGHT_STATE_DIR names another one");
  });
  const host = args.text("host");
  // The users of a service on EVE-NG are the users of the EVE-NG host: there is no admin password.
  const password = (host ?? process.env.LABWRIGHT_HOST) === "eve" ? undefined : await adminPassword(state);
  const valued = ["host", "host-url", "host-pin"].flatMap((flag) => (args.has(flag) ? [`--${flag}`, args.text(flag) ?? ""] : []));
  const service = await startService({
    state,
    flags: [...valued, ...(args.has("host-plain-http") ? ["--host-plain-http"] : [])],
    port,
    env: password === undefined ? {} : { LABWRIGHT_ADMIN_PASSWORD: password },
  });
  progress[Symbol.dispose]();
  const whose = service.started ? "started a service" : "another command has just started the service";
  context.terminal.note(`${whose} at ${service.url} (process ${service.pid}); its log is ${join(state, "service.log")}`);
  return service;
}

/** Returns the password of the user admin: the given one, or the one that is generated at the first start and stored in the state directory (0600). */
async function adminPassword(state: string): Promise<string | undefined> {
  const given = process.env.LABWRIGHT_ADMIN_PASSWORD;
  if (given !== undefined && given !== "") return given;
  const kept = await keptAdminPassword(state);
  if (kept !== undefined) return kept;
  const begun = await access(join(state, "users.json")).then(
    () => true,
    () => false,
  );
  // Users exist already: only they know their passwords.
  if (begun) return undefined;
  const password = randomBytes(15).toString("base64url");
  try {
    await writeNew(join(state, "admin-password"), `${password}\n`);
    return password;
  } catch (error) {
    // Another command has started at the same moment: its password is used.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return await keptAdminPassword(state);
    throw error;
  }
}

/** Writes the file atomically, since another command may read it at once. Throws EEXIST if it exists. */
async function writeNew(path: string, text: string): Promise<void> {
  const made = `${path}.${process.pid}`;
  await writeFile(made, text, { mode: 0o600 });
  await link(made, path).finally(() => rm(made));
}

function nextSteps(project: Project, status: Status): string {
  const nodes = status.live?.nodes ?? [];
  const topo = labFlags(project);
  if (nodes.length === 0) return `\nThe lab is empty: it has no nodes yet. Write some into the file, then labwright apply ${topo}`;
  const node = nodes.find(isUp);
  const stopped = nodes.filter((one) => one.status === "stopped").map(nodeKey);
  // With other nodes of unknown state, `up` has already failed.
  const elsewhere = nodes.filter((one) => one.status === "unknown").map(nodeKey);
  const down = [
    ...(stopped.length === 0 ? [] : [`stopped: ${stopped.join(", ")}`]),
    ...(elsewhere.length === 0 ? [] : [`not running, as another lab runs under their numbers: ${elsewhere.join(", ")}`]),
  ];
  return [
    "",
    `${node === undefined ? "No node of the lab runs" : "The lab is up"}${down.map((text) => `; ${text}`).join("")}. What to do next:`,
    ...(stopped.length === 0 ? [] : [`  labwright start ${topo} --node ${stopped.join(",")}`]),
    `  labwright console ${topo} ${node === undefined ? "NODE" : nodeKey(node)}`,
    `  labwright exec ${topo} ${node === undefined ? "NODE" : nodeKey(node)} -- PROGRAM`,
    `  labwright open ${topo}         its page in a browser`,
    `  labwright apply ${topo}        after a change of the file`,
    `  labwright destroy ${topo}      when you are done`,
  ].join("\n");
}
