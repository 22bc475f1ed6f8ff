import { useState } from "preact/hooks";
import { LabwrightError } from "../../../client/browser.ts";
import { call } from "../../service/api.ts";

export type PowerAction = "start" | "stop" | "restart" | "wipe";

export interface NodesPower {
  /** The running action: "Stopping…"; undefined: none. */
  readonly busy: string | undefined;
  readonly error: unknown;
  /** @param nodes unique keys */
  readonly run: (action: PowerAction, nodes: readonly string[]) => void;
}

const labels: Readonly<Record<PowerAction, string>> = { start: "Starting…", stop: "Stopping…", restart: "Restarting…", wipe: "Wiping…" };

/** Starts, stops, restarts and wipes nodes of a lab. */
export function useNodesPower(lab: string): NodesPower {
  const [state, setState] = useState<{ readonly busy?: string; readonly error?: unknown }>({});
  const power = async (action: "start" | "stop" | "wipe", nodes: readonly string[]) => {
    const answer = await call("execProject", { lab, action, nodes: [...nodes] });
    if (answer.failed === 0) return;
    const first = answer.nodes?.find(({ ok }) => !ok);
    const why = first?.message === undefined ? "" : `; ${first.node}: ${first.message}`;
    throw new LabwrightError(`${answer.failed} of ${answer.requested} nodes did not ${action}${why}`, { status: 502, code: "host_error" });
  };
  const run = async (action: PowerAction, nodes: readonly string[]) => {
    setState({ busy: labels[action] });
    try {
      if (action === "restart") {
        await power("stop", nodes);
        await power("start", nodes);
      } else await power(action, nodes);
      setState({});
    } catch (error) {
      setState({ error });
    }
  };
  return { busy: state.busy, error: state.error, run: (action, nodes) => void run(action, nodes) };
}
