import { randomBytes } from "node:crypto";
import { access, link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, LabwrightError } from "../../client/index.ts";
import { makeDirectory } from "../../files/make-directory.ts";
import type { Arguments } from "../arguments.ts";
import { readPassword } from "../ask.ts";
import { runChange } from "../change.ts";
import { type Command, type ExitCode, labFlag, timeoutFlag, topoFlag, yesFlag } from "../command.ts";
import type { Context } from "../context.ts";
import type { Login } from "../credentials.ts";
import { readServiceFile, type ServiceFile, stateDirectory } from "../local-service.ts";
import { checkOffline } from "../offline-check.ts";
import { Progress } from "../progress.ts";
import type { Project } from "../project.ts";
import { answers, startService } from "../service-process.ts";
import { isUp, type Status, showStatus } from "../show-status.ts";
import { UsageError } from "../usage-error.ts";
import { applyProject } from "./apply.ts";
import { pathIsTaken } from "./deploy.ts";

const pollMs = 300;
const defaultWaitMs = 120_000;

export const up: Command = {
  name: "up",
  summary: "From a file to a running lab: starts a service where none runs, deploys or applies, waits until the nodes are up",
  operands: "[FILE]",
  maxOperands: 1,
  details:
    "The service is the one of your last login or the one of this machine. Where none answers, one is started in the background: its log and\n" +
    "the password made for its user admin are in the state directory (LABWRIGHT_STATE_DIR).",
  flags: [
    topoFlag,
    { ...labFlag, summary: "The lab's path on the host; default: its name" },
    yesFlag,
    { long: "no-confirm", summary: "For a lab that runs already: apply only what disturbs no running node" },
    { long: "prune", summary: "For a lab that runs already: also delete what the file has not" },
    {
      long: "allow-unsupported",
      summary: "For a lab that runs already: apply the rest where the host does not support something in the file",
    },
    { long: "host", value: "KIND", summary: "For a service that is started: its emulation host" },
    timeoutFlag,
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
    if (exists) code = await applyProject(context, args, { silent: context.json });
    else await runChange(context, "deployProject", { ...project.selector }, { what: `deploy ${project.title}` }).catch(pathIsTaken);
    if (code === 1) return code;
    const status = await waitUntilUp(context, project, args.milliseconds("timeout") ?? defaultWaitMs);
    context.result(status, (data) => showStatus(context.terminal.paint, data));
    context.terminal.note(nextSteps(project, status));
    return isAllUp(status) ? code : 1;
  },
};

function notThere(error: unknown): { readonly exists: boolean } {
  if (error instanceof LabwrightError && error.code === "lab_not_found") return { exists: false };
  throw error;
}

/** Leaves the context with a service that answers and a session on it. */
async function ensureService(context: Context, args: Arguments): Promise<void> {
  const known = await context.service();
  if (known !== undefined && (args.has("url") || process.env.LABWRIGHT_URL !== undefined || (await answers(known)))) {
    context.use(known.token === undefined ? await signIn(context, known) : known);
    return;
  }
  const state = stateDirectory();
  const local = await readServiceFile(state);
  if (local !== undefined && (await answers({ url: local.url, pin: local.fingerprint }))) {
    context.use(await signIn(context, { url: local.url, pin: local.fingerprint }));
    return;
  }
  const service = await begin(context, args, state);
  context.use(await signIn(context, { url: service.url, pin: service.fingerprint }));
}

async function begin(context: Context, args: Arguments, state: string): Promise<ServiceFile> {
  using progress = new Progress(context.terminal, "starting a service on this machine", { quiet: context.quiet });
  await makeDirectory(state, 0o700).catch((error: Error) => {
    throw new UsageError(`the state directory ${state} cannot be made: ${error.message}`, "LABWRIGHT_STATE_DIR names another one");
  });
  const password = await adminPassword(state);
  const host = args.text("host");
  const service = await startService({
    state,
    flags: host === undefined ? [] : ["--host", host],
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
  const kept = await keptPassword(state);
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
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return await keptPassword(state);
    throw error;
  }
}

async function keptPassword(state: string): Promise<string | undefined> {
  return await readFile(join(state, "admin-password"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** Whole or not at all, since another command may read it at once. Throws EEXIST where it is there. */
async function writeNew(path: string, text: string): Promise<void> {
  const made = `${path}.${process.pid}`;
  await writeFile(made, text, { mode: 0o600 });
  await link(made, path).finally(() => rm(made));
}

/** A token that works: the kept one of the same service, else a new one. */
async function signIn(context: Context, service: Login): Promise<Login> {
  const known = service.token !== undefined || service.pin === undefined ? service : await context.credentials.findByPin(service.pin);
  if (known?.token !== undefined) {
    const login = { ...known, url: service.url };
    using client = connect({ url: login.url, pin: login.pin, token: login.token });
    const works = await client.getSession().then(
      () => true,
      (error: unknown) => {
        if (error instanceof LabwrightError && error.status === 401) return false;
        throw error;
      },
    );
    if (works) {
      await context.credentials.keep(login);
      return login;
    }
  }
  const username = process.env.LABWRIGHT_USER ?? known?.username ?? "admin";
  const own =
    process.env.LABWRIGHT_PASSWORD ??
    (username === "admin" ? (process.env.LABWRIGHT_ADMIN_PASSWORD ?? (await keptPassword(stateDirectory()))) : undefined);
  const password = own ?? (await readPassword(context.terminal, `Password of ${username} at ${service.url}: `));
  using client = connect({ url: service.url, pin: service.pin });
  const { token } = await client.login({ username, password });
  const login = {
    url: service.url,
    username,
    ...(service.pin === undefined ? {} : { pin: service.pin }),
    ...(token === undefined ? {} : { token }),
  };
  await context.credentials.keep(login);
  return login;
}

/** Polls until every node that is meant to run is up, one has failed, or the time is over; gives the last state. */
async function waitUntilUp(context: Context, { selector, title }: Project, limitMs: number): Promise<Status> {
  const client = await context.client();
  using progress = new Progress(context.terminal, `waiting for ${title}`, { quiet: context.quiet });
  const until = Date.now() + limitMs;
  for (;;) {
    const status = await client.getProjectStatus(selector);
    const nodes = wanted(status);
    const pending = nodes.filter((node) => !isUp(node));
    if (status.live?.available !== false && (pending.length === 0 || nodes.some(({ status: power }) => power === "failed"))) return status;
    if (Date.now() > until) return status;
    const names = pending.map(({ node, name }) => node ?? name);
    progress.say(
      `${nodes.length - pending.length} of ${nodes.length} nodes are up; waiting for ${names.slice(0, 4).join(", ")}${names.length > 4 ? " …" : ""}`,
    );
    await pause(pollMs);
  }
}

/** Nodes that were left stopped on purpose (start: false, or stopped by someone) are not waited for. */
function wanted(status: Status) {
  return (status.live?.nodes ?? []).filter((node) => node.status !== "stopped" && node.status !== "suspended");
}

function isAllUp(status: Status): boolean {
  return status.live?.available === true && wanted(status).every(isUp);
}

function nextSteps({ file, selector }: Project, status: Status): string {
  const node = status.live?.nodes?.find(isUp)?.node ?? "NODE";
  const stopped = (status.live?.nodes ?? []).filter((one) => one.status === "stopped").map(({ node, name }) => node ?? name);
  const topo = `-t ${file?.name}${selector.lab === undefined ? "" : ` --lab ${selector.lab}`}`;
  return [
    "",
    `${headline(status, stopped)} What to do next:`,
    ...(stopped.length === 0 ? [] : [`  labwright start ${topo} --node ${stopped.join(",")}`]),
    `  labwright console ${topo} ${node}`,
    `  labwright exec ${topo} --node ${node} -- COMMAND`,
    `  labwright open ${topo}         its page in a browser`,
    `  labwright apply ${topo}        after a change of the file`,
    `  labwright destroy ${topo}      when you are done`,
  ].join("\n");
}

function headline(status: Status, stopped: readonly string[]): string {
  if (!isAllUp(status)) return "Not every node is up yet.";
  return stopped.length === 0 ? "The lab is up." : `The lab is up; stopped: ${stopped.join(", ")}.`;
}
