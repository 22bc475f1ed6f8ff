import type { Duplex } from "node:stream";
import { compareNatural } from "../../base/natural-order.ts";
import { runDialogue } from "../../console/dialogue/dialogue.ts";
import { execCommand } from "../../console/dialogue/exec.ts";
import type { Viewer } from "../../console/stream/viewer.ts";
import { renderText } from "../../console/text/terminal.ts";
import { Failure } from "../../contract/errors.ts";
import type {
  ConsoleAttachData,
  ConsoleEntry,
  ConsoleExecData,
  ConsoleExecManyData,
  ConsoleExecResult,
  ConsoleLogData,
  ConsoleLogPayload,
  ConsolePayload,
  ConsoleRunData,
  ConsoleRunPayload,
  ConsolesData,
} from "../../contract/schemas/console.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { joinIds } from "../../engine/compare/join.ts";
import { clashText } from "../../engine/effects/blocked.ts";
import type { ObservedNode } from "../../engine/model/observed.ts";
import type { Feature } from "../../hosts/host.ts";
import type { Call, Caller, Upgrade } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { orIfFailed } from "../common/or-if-failed.ts";
import { badRequest } from "../common/refusals.ts";
import { addressObserved, addressPath } from "../context/address.ts";
import { chosenNodes, nodeNotFound, refuseUnknown } from "../context/chosen-nodes.ts";
import { inKeys } from "../context/in-keys.ts";
import type { ConsolesPart, LookupParts, ObservationsPart, StreamsPart, UsesPart } from "../context/parts.ts";
import type { Selector } from "../context/selector.ts";
import type { LabPlace, Target } from "../context/target.ts";
import type { Right } from "../sessions/rights.ts";
import type { Tickets } from "../sessions/tickets.ts";

export interface ConsoleGrant {
  readonly path: string;
  readonly nodeId: string;
}

const defaultTimeoutMs = 15_000;
/** Maximum age of the cached list of nodes for console calls, ms. The power of nodes is always read from the host. */
const structureMs = 2_000;

export interface ConsoleNode {
  readonly key: string;
  /** The intent knows it. */
  readonly joined: boolean;
  readonly node: ObservedNode;
}

export interface ConsoleLab {
  readonly target: Target;
  readonly nodes: readonly ConsoleNode[];
}

export async function listConsoles(
  context: LookupParts & ObservationsPart,
  caller: Caller,
  payload: ProjectPayload,
): Promise<ConsolesData> {
  const { target, nodes: all } = await consoleLab(context, caller, payload, "view");
  const chosen = chosenNodes(payload);
  const rows = all.map(({ key, node }) => ({ unique_key: key, name: node.name }));
  if (chosen !== undefined) refuseUnknown(chosen, rows, target);
  const nodes = chosen === undefined ? all : all.filter(({ key }) => chosen.has(key));
  // Without the live read, the power is the one in the lab's definition.
  const live = await context.observations.status(target.host, target.path).catch(orIfFailed(undefined));
  const powers = new Map((live?.nodes ?? []).map(({ id, status }) => [id, status]));
  // If the screen's address cannot be read now, only the console is listed.
  const screens = (await target.host.screens?.(target.path).catch(orIfFailed(undefined))) ?? new Map<string, string>();
  const consoles = nodes
    .filter(({ node }) => node.consoleType !== "none")
    .map(({ key, joined, node }): ConsoleEntry => {
      const status = powers.get(node.id) ?? node.power;
      const available = status === "running" || status === "starting";
      const vnc = screens.get(node.id);
      const names = { node: joined ? key : null, unique_key: key, id: node.id, name: node.name };
      return { ...names, console_type: node.consoleType, status, available, ...(vnc !== undefined && { vnc }) };
    });
  return { lab: target.path, consoles };
}

export async function execConsole(
  context: LookupParts & ObservationsPart & ConsolesPart,
  caller: Caller,
  payload: ConsolePayload,
  call: Call,
): Promise<ConsoleExecData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { command } = payload;
  if (command === undefined) throw badRequest("/command", "a command is needed");
  const timeoutMs = payload.timeout_ms ?? defaultTimeoutMs;
  return execOn(context, lab.target, nodeOf(lab, payload.node), { command, timeoutMs }, call.signal);
}

/** Each target has its own outcome; results are in target order. */
export async function execConsoleMany(
  context: LookupParts & ObservationsPart & ConsolesPart,
  caller: Caller,
  payload: ConsolePayload,
  call: Call,
): Promise<ConsoleExecManyData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const targets =
    payload.targets ??
    (payload.node !== undefined && payload.node !== ""
      ? [{ node: payload.node }]
      : lab.nodes.filter(({ node }) => node.power === "running" && isText(node)).map(({ key }) => ({ node: key })));
  const results = await Promise.all(
    targets.map(async (one: NonNullable<ConsolePayload["targets"]>[number]): Promise<ConsoleExecResult> => {
      const command = one.command ?? payload.command;
      const timeoutMs = one.timeout_ms ?? payload.timeout_ms ?? defaultTimeoutMs;
      try {
        if (command === undefined) throw badRequest("/command", "a command is needed");
        return { ...(await execOn(context, lab.target, nodeOf(lab, one.node), { command, timeoutMs }, call.signal)), ok: true };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        const output = error.data?.["output"];
        return {
          node: one.node,
          ...(command !== undefined && { command }),
          ok: false,
          code: error.code,
          error: error.message,
          ...(typeof output === "string" && { output }),
        };
      }
    }),
  );
  return { results };
}

export async function runConsole(
  context: LookupParts & ObservationsPart & ConsolesPart,
  caller: Caller,
  payload: ConsoleRunPayload,
  call: Call,
): Promise<ConsoleRunData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { key, node } = nodeOf(lab, payload.node);
  refuseGraphic(key, node, "consoleRun");
  const timeoutMs = payload.steps.reduce((sum, step) => sum + (step.timeout_ms ?? defaultTimeoutMs), 0) || defaultTimeoutMs;
  const at = { path: lab.target.path, nodeId: node.id };
  return whileHostAnswers(context, lab.target, call.signal, (signal) =>
    context.consoles.inTurn(lab.target.host, at, { timeoutMs, signal }, async (stream) => {
      const { steps, output } = await runDialogue(stream, payload.steps, {
        signal,
        timeoutMs: defaultTimeoutMs,
        test: (source, text) => context.consoles.expressions.test(source, text, caller.user),
      });
      return { node: key, steps: [...steps], output };
    }),
  ).catch(inKeys({ key, node }));
}

/** Returns the console output since the node's last start, also of a stopped node: its last lines often show why it stopped. */
export async function readConsoleLog(
  context: LookupParts & ObservationsPart,
  caller: Caller,
  payload: ConsoleLogPayload,
): Promise<ConsoleLogData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { host, path } = lab.target;
  if (host.consoleLog === undefined) throw unsupported("consoleLog");
  const { key, node } = nodeOf(lab, payload.node);
  refuseGraphic(key, node, "consoleLog");
  const output = renderText(await host.consoleLog(path, node.id));
  return { node: key, name: node.name, console_type: node.consoleType, output };
}

/** Issues a one-time ticket for the console's byte stream. */
export async function attachConsole(
  context: LookupParts & ObservationsPart,
  tickets: Tickets<ConsoleGrant>,
  caller: Caller,
  payload: ConsolePayload,
): Promise<ConsoleAttachData> {
  const lab = await consoleLab(context, caller, payload, "operate");
  const { key, node } = nodeOf(lab, payload.node);
  refuseGraphic(key, node, "consoleStream");
  if (node.power === "stopped" || node.power === "failed") throw notRunning(lab.target, key, node.power);
  if (node.power === "unknown") throw clashes(key, node);
  const stream = tickets.issue(caller.session, { path: lab.target.path, nodeId: node.id });
  return { node: key, name: node.name, console_type: node.consoleType, stream, transport: "host-telnet" };
}

/** Redeems a ticket; the console is open before the upgrade is granted. The stream ends with the session. */
export async function streamConsole(
  context: LookupParts & ConsolesPart & StreamsPart & UsesPart,
  tickets: Tickets<ConsoleGrant>,
  caller: Caller,
  ticket: string,
  call: Call,
): Promise<Upgrade> {
  const { path, nodeId } = tickets.redeem(ticket, caller.session);
  const { host } = await addressPath(context, caller, path, "operate");
  const viewer = await context.consoles.view(host, path, nodeId);
  const close = () => viewer.destroy();
  const forget = [context.sessions.onEnd(caller.session, close), context.streams.add(caller.user, path, close)];
  viewer.once("close", () => {
    for (const each of forget) each();
  });
  const gone = () => viewer.destroy();
  if (call.signal.aborted) gone();
  else call.signal.addEventListener("abort", gone, { once: true });
  return {
    protocol: "host-telnet",
    resize: (columns, rows) => context.consoles.resize(host, path, nodeId, columns, rows),
    attach: (connection) => {
      // From now on the end of the connection ends the stream.
      call.signal.removeEventListener("abort", gone);
      join(connection, viewer);
      // Typing is a use of the lab; an open console alone is none.
      connection.on("data", () => context.uses.note(path));
    },
  };
}

function join(connection: Duplex, viewer: Viewer): void {
  connection.pipe(viewer);
  viewer.sendTo(connection);
  viewer.once("close", () => {
    if (!viewer.readableEnded) connection.destroy();
    // Waits for the last bytes, but only for a limited time.
    else setTimeout(() => connection.destroy(), 5_000).unref();
  });
  viewer.on("error", () => connection.destroy());
  connection.once("close", () => viewer.destroy());
  connection.on("error", () => viewer.destroy());
}

/** Runs one command on one node's console. */
export async function execOn(
  context: ObservationsPart & ConsolesPart,
  target: Target,
  { key, node }: Pick<ConsoleNode, "key" | "node">,
  { command, timeoutMs }: { readonly command: string; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<ConsoleExecData> {
  refuseGraphic(key, node, "consoleRun");
  const templates = await target.host.templates();
  const traits = templates.find(({ id }) => id === node.template) ?? {};
  const at = { path: target.path, nodeId: node.id };
  const { output, durationMs, truncated } = await whileHostAnswers(context, target, signal, (signal) =>
    context.consoles.inTurn(target.host, at, { timeoutMs, signal }, (stream, leftMs, hold) =>
      execCommand(stream, { command, timeoutMs: leftMs, traits, signal, hold }),
    ),
  ).catch(inKeys({ key, node }));
  return {
    node: key,
    name: node.name,
    console_type: node.consoleType,
    command,
    output,
    duration_ms: durationMs,
    ...(truncated && { truncated }),
  };
}

/** A quick command ends before the first check of the host. */
const lookAfterMs = 250;

/** Runs `work`. Ends it with host_timeout if the lab's host hangs, because an open console would only stay silent. */
async function whileHostAnswers<Result>(
  context: ObservationsPart,
  { host, path }: Target,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const hangs = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    await context.observations.status(host, path).catch((error: unknown) => {
      // Any other failure of this read is unrelated to the console.
      if (error instanceof Failure && error.code === "host_timeout") hangs.abort(error);
    });
    if (timer !== undefined) timer = setTimeout(() => void look(), 4 * lookAfterMs).unref();
  };
  timer = setTimeout(() => void look(), lookAfterMs).unref();
  try {
    return await work(AbortSignal.any([signal, hangs.signal]));
  } finally {
    clearTimeout(timer);
    timer = undefined;
  }
}

export async function consoleLab(
  context: LookupParts & ObservationsPart,
  caller: Caller,
  payload: Selector,
  right: Right,
): Promise<ConsoleLab> {
  const read = ({ host, path }: LabPlace) => context.observations.structure(host, path, structureMs);
  const { target, observed } = await addressObserved(context, caller, payload, right, read);
  const ids = joinIds(target.intent?.lab ?? null, observed, target.ids);
  const known = target.intent && new Set(target.intent.lab.nodes.map(({ key }) => key));
  const natives = new Map(observed.nodes.map((node) => [node.id, node]));
  const nodes = Object.entries(ids.nodes).flatMap(([key, id]): ConsoleNode[] => {
    const node = natives.get(id);
    return node === undefined ? [] : [{ key, joined: known === undefined || known.has(key), node }];
  });
  return { target, nodes: nodes.sort((a, b) => compareNatural(a.key, b.key)) };
}

export function nodeOf({ target, nodes }: ConsoleLab, key: string | undefined): ConsoleNode {
  if (key === undefined || key === "") {
    const [only] = nodes;
    if (nodes.length === 1 && only !== undefined) return only;
    throw badRequest("/node", "a node is needed: the lab has several");
  }
  const found = nodes.find((one) => one.key === key);
  if (found !== undefined) return found;
  throw nodeNotFound(
    target.path,
    key,
    nodes.map((one) => ({ key: one.key, name: one.node.name })),
  );
}

function isText(node: ObservedNode): boolean {
  return node.consoleType === "telnet" || node.consoleType === "serial";
}

function refuseGraphic(key: string, node: ObservedNode, feature: Feature): void {
  if (isText(node)) return;
  const what = node.consoleType === "none" ? "no console" : `a ${node.consoleType} console, which is not text`;
  const hint = "labwright switches shows the ports of VLAN-aware switches, labwright inspect the interfaces of all nodes";
  const data = { feature, console_type: node.consoleType, ...(node.consoleType === "none" && { hint }) };
  throw new Failure("unsupported", `${key} has ${what}`, { data });
}

function clashes(key: string, { clash }: ObservedNode): Failure {
  const why = clash === undefined ? "another lab may run it" : clashText(clash);
  return new Failure("number_clash", `the console of ${key} was not opened: ${why}`, { data: clash === undefined ? {} : { clash } });
}

function notRunning({ host }: Target, key: string, power: ObservedNode["power"]): Failure {
  const log = host.consoleLog === undefined ? { log: false } : {};
  return new Failure("node_not_running", `node ${key} is ${power} and its console is closed: start it first`, {
    data: { node: key, power, ...log },
  });
}
