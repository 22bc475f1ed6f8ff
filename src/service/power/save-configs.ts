import Type, { type Static } from "typebox";
import { compareNatural } from "../../base/natural-order.ts";
import { Failure } from "../../contract/errors.ts";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import type { SaveConfigsData, SavedNode } from "../../contract/schemas/save.ts";
import { list, text } from "../../contract/schemas/shapes.ts";
import { joinIds } from "../../engine/compare/join.ts";
import type { ObservedNode } from "../../engine/model/observed.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { unsupported } from "../common/capabilities.ts";
import { labNotFound } from "../common/refusals.ts";
import { execOn } from "../consoles/consoles.ts";
import { addressChange } from "../context/address.ts";
import { chosenNodes, keyedNodes, nodeNotFound } from "../context/chosen-nodes.ts";
import type { ChangeParts, ConsolesPart, ObservationsPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";

/** Journal request of a save. */
const SaveRequest = Type.Object({
  /** IaC node keys; absent: all. */
  nodes: Type.Optional(list(text)),
});
type SaveRequest = Static<typeof SaveRequest>;

export const saveConfigsKind: ChangeKind<typeof SaveRequest, SaveConfigsData> = {
  operation: "saveConfigs",
  version: 1,
  request: SaveRequest,
  isStepless: true,
  run: ({ context, job, target }, request) => saveNodes(context, job, target, request),
};

/** Maximum duration of a save command on a console, ms. */
const commandMs = 60_000;

interface Candidate {
  readonly key: string;
  readonly node: ObservedNode;
}

/** Makes running nodes save their configuration, and returns it. Throws node_not_found, and unsupported if the host cannot save configurations. */
export async function saveConfigs(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<SaveConfigsData | JobStarted> {
  const target = await addressChange(context, caller, payload);
  if (!(await target.host.capabilities()).features.saveConfigs) throw unsupported("saveConfigs");
  const chosen = chosenNodes(payload);
  const request: SaveRequest = chosen === undefined ? {} : { nodes: [...chosen] };
  return runChange(context, target, call, saveConfigsKind, request);
}

/** Safe to run again. */
async function saveNodes(
  context: ObservationsPart & ConsolesPart,
  job: Job,
  target: Target,
  request: SaveRequest,
): Promise<SaveConfigsData> {
  try {
    return await saveChosen(context, job, target, request);
  } catch (error) {
    if (!job.signal.aborted) throw error;
    throw new Failure("cancelled", "the change was cancelled: some nodes may have kept their configuration, none was returned", {
      cause: error,
    });
  }
}

async function saveChosen(
  context: ObservationsPart & ConsolesPart,
  job: Job,
  target: Target,
  { nodes: wanted }: SaveRequest,
): Promise<SaveConfigsData> {
  const { host, path, intent } = target;
  if (host.saveConfigs === undefined) throw unsupported("saveConfigs");
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  refuseLocked(observed);
  const ids = joinIds(intent?.lab ?? null, observed, target.ids);
  const native = new Map(observed.nodes.map((node) => [node.id, node]));
  const keys = (wanted ?? Object.keys(ids.nodes)).toSorted(compareNatural);
  const candidates = keys.map((key): Candidate => {
    const node = native.get(ids.nodes[key] ?? "");
    if (node === undefined) throw nodeNotFound(path, key, keyedNodes(observed, ids));
    return { key, node };
  });
  const ready = await prepared(context, job, target, candidates);
  job.signal.throwIfAborted();
  const asked = candidates.filter(({ key }) => ready.get(key) === undefined).map(({ node }) => node.id);
  const answers = asked.length === 0 ? new Map<string, string | Failure>() : await host.saveConfigs(path, asked, job.signal);
  const files: Record<string, string> = {};
  const known = new Map(intent?.lab.nodes.map(({ key, startupConfig }) => [key, startupConfig]));
  const rows = candidates.map(({ key, node }): SavedNode => {
    const answer =
      ready.get(key) ?? answers.get(node.id) ?? new Failure("host_error", "the host returned no configuration of this node: try again");
    const row = { node: key, name: node.name };
    if (answer instanceof Failure) {
      const isSkipped = answer.code === "unsupported" || answer.code === "node_not_running";
      return { ...row, outcome: isSkipped ? "skipped" : "failed", code: answer.code, error: answer.message };
    }
    const file = `${key}.cfg`;
    files[file] = answer;
    return { ...row, outcome: (known.get(key) ?? "") === answer ? "unchanged" : "saved", file };
  });
  const count = (outcome: SavedNode["outcome"]) => rows.filter((row) => row.outcome === outcome).length;
  return { lab: path, saved: count("saved") + count("unchanged"), failed: count("failed"), nodes: rows, files };
}

/** Runs the save commands of nodes whose template has one, all at the same time. Returns, by key, why a node cannot be saved now. */
async function prepared(
  context: ObservationsPart & ConsolesPart,
  job: Job,
  target: Target,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<string, Failure>> {
  const templates = new Map((await target.host.templates()).map((template) => [template.id, template]));
  const problems = new Map<string, Failure>();
  const prepare = async ({ key, node }: Candidate): Promise<void> => {
    // Another lab's node may run under its number: the host refuses it with the node's name.
    if (node.power === "unknown") return;
    if (node.power !== "running") {
      problems.set(key, new Failure("node_not_running", `the node is ${node.power}; start it first`));
      return;
    }
    const command = templates.get(node.template)?.saveCommand;
    if (command === undefined) return;
    try {
      await execOn(context, target, { key, node }, { command, timeoutMs: commandMs }, job.signal);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      problems.set(key, new Failure(error.code, `its console did not take the command "${command}": ${error.message}`));
    }
  };
  await Promise.all(candidates.map(prepare));
  return problems;
}
