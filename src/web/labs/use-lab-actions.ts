import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { downloadLab } from "./download-lab.ts";

export interface LabActions {
  /** The running action: "Starting ospf…"; "" if none runs. */
  readonly busy: string;
  readonly error: unknown;
  readonly power: (entry: LabEntry, action: "start" | "stop") => void;
  readonly download: (entry: LabEntry) => void;
  readonly destroy: (entry: LabEntry) => void;
}

/** The actions on the labs of the list. @param reload reads the list again */
export function useLabActions(reload: () => void): LabActions {
  const [state, setState] = useState<{ readonly busy?: string; readonly error?: unknown }>({});
  const run = async (busy: string, work: () => Promise<unknown>) => {
    setState({ busy });
    try {
      await work();
      setState({});
    } catch (error) {
      setState({ error });
    }
  };
  const power = async (lab: string, action: "start" | "stop") => {
    const { failed, requested, nodes = [] } = await call("execProject", { lab, action });
    if (failed === 0) return;
    const first = nodes.find(({ ok }) => !ok);
    const why = first?.message === undefined ? "" : `; ${first.node}: ${first.message}`;
    throw new LabwrightError(`${failed} of ${requested} nodes did not ${action}${why}`, { status: 502, code: "host_error" });
  };
  return {
    busy: state.busy ?? "",
    error: state.error,
    power: ({ lab, name }, action) => void run(`${action === "start" ? "Starting" : "Stopping"} ${name}…`, () => power(lab, action)),
    download: ({ lab, name }) => void run(`Reading ${name}…`, () => downloadLab(lab)),
    destroy: ({ lab, name }) =>
      void run(`Destroying ${name}…`, async () => {
        await call("destroyProject", { lab });
        reload();
      }),
  };
}
