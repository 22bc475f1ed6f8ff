import { useState } from "preact/hooks";
import { call } from "../../service/api.ts";
import { type Failed, failureOf } from "./each-failure.ts";

export type PowerAction = "start" | "stop" | "restart" | "wipe" | "save";

export interface NodesPower {
  /** The running action, such as "Stopping…", or the result of the last one; undefined: none. */
  readonly notice: string | undefined;
  readonly error: unknown;
  /** @param nodes unique keys */
  readonly run: (action: PowerAction, nodes: readonly string[]) => void;
}

const labels: Readonly<Record<PowerAction, string>> = {
  start: "Starting…",
  stop: "Stopping…",
  restart: "Restarting…",
  wipe: "Wiping…",
  save: "Saving configurations…",
};

interface Outcome {
  /** Keys of the nodes that are as asked for. */
  readonly done: readonly string[];
  readonly failed: readonly Failed[];
}

/** Starts, stops, restarts and wipes nodes of a lab, and saves their configurations. A failure of one node does not stop the others. */
export function useNodesPower(lab: string): NodesPower {
  const [state, setState] = useState<{ readonly notice?: string; readonly error?: unknown }>({});
  const run = async (action: PowerAction, nodes: readonly string[]) => {
    setState({ notice: labels[action] });
    try {
      const error = await (action === "save" ? save(lab, nodes) : power(lab, action, nodes));
      if (error !== undefined) setState({ error });
      else setState(action === "save" ? { notice: "Saved as startup configurations." } : {});
    } catch (error) {
      setState({ error });
    }
  };
  return { notice: state.notice, error: state.error, run: (action, nodes) => void run(action, nodes) };
}

/** Returns the error that names each failed node; undefined: none failed. */
async function power(lab: string, action: Exclude<PowerAction, "save">, nodes: readonly string[]) {
  if (action !== "restart") return failureOf(`nodes did not ${action}`, nodes.length, (await exec(lab, action, nodes)).failed);
  const stopped = await exec(lab, "stop", nodes);
  // Nodes that did not stop are not started: they still run.
  const started = stopped.done.length === 0 ? { failed: [] } : await exec(lab, "start", stopped.done);
  return failureOf("nodes did not restart", nodes.length, [...stopped.failed, ...started.failed]);
}

async function exec(lab: string, action: "start" | "stop" | "wipe", nodes: readonly string[]): Promise<Outcome> {
  const { nodes: outcomes = [] } = await call("execProject", { lab, action, nodes: [...nodes] });
  return outcomeOf(action, nodes, outcomes);
}

/** Returns the outcome by node. A node that the service does not mention has not failed. */
export function outcomeOf(
  action: string,
  nodes: readonly string[],
  outcomes: readonly { readonly node: string; readonly ok: boolean; readonly message?: string }[],
): Outcome {
  const failed = outcomes
    .filter(({ ok }) => !ok)
    .map(({ node, message = `did not ${action}; its log has the reason` }) => ({ name: node, message }));
  const names = new Set(failed.map(({ name }) => name));
  return { done: nodes.filter((node) => !names.has(node)), failed };
}

async function save(lab: string, nodes: readonly string[]) {
  const { nodes: saved } = await call("saveConfigs", { lab, nodes: [...nodes] });
  const failed = saved.flatMap(({ node, error }) => (error === undefined ? [] : [{ name: node, message: error }]));
  return failureOf("configurations were not saved", nodes.length, failed);
}
