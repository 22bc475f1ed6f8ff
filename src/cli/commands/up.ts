import { randomBytes } from "node:crypto";
import { access, link, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LabwrightError } from "../../client/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import type { Arguments } from "../command/arguments.ts";
import { type Command, type ExitCode, type Flag, labFlag, noWaitFlag, topoFlag, waitTimeoutFlag, yesFlag } from "../command/command.ts";
import { type Context, normalUrl } from "../command/context.ts";
import type { Login } from "../command/credentials.ts";
import { keptAdminPassword, readServiceFile, type ServiceFile, stateDirectory } from "../command/local-service.ts";
import { labFlags, type Project } from "../command/project.ts";
import { UsageError } from "../command/usage-error.ts";
import { runChange } from "../parts/change.ts";
import { reportTroubles } from "../parts/node-troubles.ts";
import { signIn } from "../parts/sign-in.ts";
import { takeOverFlag } from "../parts/take-over.ts";
import { isAllUp, waitForNodes } from "../parts/wait-for-nodes.ts";
import { checkOffline } from "../project-files/offline-check.ts";
import { answerOf, answers, startService } from "../service/service-process.ts";
import { Progress } from "../show/progress.ts";
import { isUp, nodeName, type Status, showStatus } from "../show/show-status.ts";
import { applyProject } from "./apply.ts";
import { pathIsTaken } from "./deploy.ts";

/** As of labwright serve, for a service that is started. */
const hostFlags: readonly Flag[] = [
  { long: "host-url", value: "URL", summary: "For a service that is started with --host eve: where the EVE-NG host is" },
  {
    long: "host-pin",
    value: "SHA256",
    summary: "For a service that is started with --host eve: fingerprint of the EVE-NG host's certificate",
  },
  { long: "host-plain-http", summary: "For a service that is started with --host eve: allow an http:// address" },
];

export const up: Command = {
  name: "up",
  summary: "From a file to a running lab: starts a service where none runs, deploys or applies, waits until the nodes are up",
  operands: "[FILE]",
  maxOperands: 1,
  details:
    "The service is the one of --url or LABWRIGHT_URL, of your last login, or of this machine. If none answers, and none at another machine is\n" +
    "asked for, one is started in the background: its log and the password made for its user admin are in the state directory\n" +
    "(LABWRIGHT_STATE_DIR). labwright down stops it. A kept login of that service is used, else up signs in as admin and says so; on EVE-NG it asks for\n" +
    "a user of that host.\n" +
    "What the host does not support is left out and named, also of a lab that runs already.",
  flags: [
    topoFlag,
    { ...labFlag, summary: "The lab's path on the host; default: its name" },
    yesFlag,
    takeOverFlag,
    { long: "no-confirm", summary: "For a lab that runs already: apply only what disturbs no running node" },
    { long: "prune", summary: "For a lab that runs already: also delete what the file has not" },
    {
      long: "port",
      value: "PORT",
      summary: "For a service that is started: its port; 0 takes any free one; default: LABWRIGHT_PORT, else 8443 if it is free",
    },
    {
      long: "allow-unsupported",
      summary: "Without effect: up always leaves out what the host does not support, and names it",
    },
    { long: "host", value: "KIND", summary: "For a service that is started: its emulation host" },
    ...hostFlags,
    noWaitFlag,
    waitTimeoutFlag,
  ],
  example: "labwright up labs/ospf-triangle.yaml",
  run: async (context, given) => {
    const args = given.operands[0] === undefined ? given : given.with("topo", given.operands[0]);
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
    context.result(status, (data) => showStatus(context.terminal.paint, data));
    if (!isAllUp(status)) {
      await reportTroubles(context, project, status, { waitedMs: Date.now() - began });
      return 1;
    }
    context.terminal.note(nextSteps(project, status));
    return code;
  },
};

async function deployProject(context: Context, { selector, origin, title }: Project): Promise<void> {
  const input = { ...selector, ...(origin === undefined ? {} : { origin }) };
  const { unsupported = [] } = await runChange(context, "deployProject", input, { what: `deploy ${title}` }).catch(pathIsTaken);
  const show = context.json ? context.terminal.note : context.terminal.print;
  for (const text of unsupported) show(`unsupported: ${text}`);
}

function notThere(error: unknown): { readonly exists: boolean } {
  if (error instanceof LabwrightError && error.code === "lab_not_found") return { exists: false };
  throw error;
}

/** Leaves the context with a service that answers and a session on it. */
async function ensureService(context: Context, args: Arguments): Promise<void> {
  const known = await context.service();
  const port = args.text("port");
  const given = args.text("url") ?? (process.env.LABWRIGHT_URL || undefined);
  if (port !== undefined && given !== undefined)
    throw new UsageError("--port is for a service of this machine, and the address of a service is given too", "one of the two");
  const use = async (login: Login) => void context.use(login.token === undefined ? await signIn(context, login) : login);
  if (known !== undefined && port === undefined && (await answers(known))) return await use(known);
  const wanted = given === undefined ? port : localPort(normalUrl(given));
  // An address that was asked for, at another machine: the first request reports why it cannot be used.
  if (given !== undefined && wanted === undefined && known !== undefined) return await use(known);
  const state = stateDirectory();
  const local = await readServiceFile(state);
  if (local !== undefined && (await answers({ url: local.url, pin: local.fingerprint }))) {
    if (wanted !== undefined && wanted !== "0" && new URL(local.url).port !== wanted)
      throw new UsageError(
        `this machine's service runs at ${local.url}, not at port ${wanted}`,
        `leave ${port === undefined ? (args.has("url") ? "--url" : "LABWRIGHT_URL") : "--port"} out to use it; labwright down stops it where labwright up started it`,
      );
    context.use(await signIn(context, { url: local.url, pin: local.fingerprint }));
    return;
  }
  // Somebody else listens there, behind a certificate that is not known or not the pinned one.
  if (given !== undefined && known !== undefined && (await answerOf(known)) !== "nobody") return await use(known);
  const service = await begin(context, args, state, wanted);
  context.use(await signIn(context, { url: service.url, pin: service.fingerprint }));
}

/** The port of an address of this machine's loopback; undefined: of another one. */
function localPort(address: string): string | undefined {
  const { hostname, port, protocol } = new URL(address);
  if (protocol !== "https:" || !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) return undefined;
  return port === "" ? "443" : port;
}

async function begin(context: Context, args: Arguments, state: string, port: string | undefined): Promise<ServiceFile> {
  using progress = new Progress(context.terminal, "starting a service on this machine", { quiet: context.quiet });
  await makeDirectory(state, 0o700).catch((error: Error) => {
    throw new UsageError(`the state directory ${state} cannot be made: ${error.message}`, "LABWRIGHT_STATE_DIR names another one");
  });
  const host = args.text("host");
  // Who may sign in to EVE-NG is that host's business.
  const password = (host ?? process.env.LABWRIGHT_HOST) === "eve" ? undefined : await adminPassword(state);
  const valued = ["host", "host-url", "host-pin"].flatMap((flag) => (args.has(flag) ? [`--${flag}`, args.text(flag) ?? ""] : []));
  const service = await startService({
    state,
    flags: [...valued, ...(args.has("host-plain-http") ? ["--host-plain-http"] : [])],
    port,
    env: password === undefined ? {} : { LABWRIGHT_ADMIN_PASSWORD: password },
  });
  progress[Symbol.dispose]();
  const whose = service.started ? "started a service" : "somebody else has just started the service";
  context.terminal.note(`${whose} at ${service.url} (process ${service.pid}); its log is ${join(state, "service.log")}`);
  return service;
}

/** The password of the user admin: given, or made at the first start and kept in the state directory for its owner alone. */
async function adminPassword(state: string): Promise<string | undefined> {
  const given = process.env.LABWRIGHT_ADMIN_PASSWORD;
  if (given !== undefined && given !== "") return given;
  const kept = await keptAdminPassword(state);
  if (kept !== undefined) return kept;
  const begun = await access(join(state, "users.json")).then(
    () => true,
    () => false,
  );
  // Users are there already: their passwords are known to their owners only.
  if (begun) return undefined;
  const password = randomBytes(15).toString("base64url");
  try {
    await writeNew(join(state, "admin-password"), `${password}\n`);
    return password;
  } catch (error) {
    // Another command has begun at the same moment: its password counts.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return await keptAdminPassword(state);
    throw error;
  }
}

/** Whole or not at all, since another command may read it at once. Throws EEXIST where it is there. */
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
  const stopped = nodes.filter((one) => one.status === "stopped").map(nodeName);
  // Nodes of which the host cannot say more keep up from coming here.
  const elsewhere = nodes.filter((one) => one.status === "unknown").map(nodeName);
  const down = [
    ...(stopped.length === 0 ? [] : [`stopped: ${stopped.join(", ")}`]),
    ...(elsewhere.length === 0 ? [] : [`not running, as another lab runs under their numbers: ${elsewhere.join(", ")}`]),
  ];
  return [
    "",
    `${node === undefined ? "No node of the lab runs" : "The lab is up"}${down.map((text) => `; ${text}`).join("")}. What to do next:`,
    ...(stopped.length === 0 ? [] : [`  labwright start ${topo} --node ${stopped.join(",")}`]),
    `  labwright console ${topo} ${node === undefined ? "NODE" : nodeName(node)}`,
    `  labwright exec ${topo} --node ${node === undefined ? "NODE" : nodeName(node)} -- COMMAND`,
    `  labwright open ${topo}         its page in a browser`,
    `  labwright apply ${topo}        after a change of the file`,
    `  labwright destroy ${topo}      when you are done`,
  ].join("\n");
}
