import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { LiveNodeData, StatusData } from "../../contract/schemas/observe.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";

interface LabPowerProps {
  readonly lab: string;
  readonly nodes: readonly LiveNodeData[];
  readonly resume: StatusData["resume"];
}

/** Buttons to start and stop all nodes of a lab, and to restore the nodes that ended with the host. */
export function LabPower({ lab, nodes, resume }: LabPowerProps) {
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [stopping, setStopping] = useState(false);
  const up = nodes.filter(({ status }) => status === "running" || status === "starting");
  const down = nodes.filter(({ status }) => status === "stopped" || status === "suspended" || status === "failed");
  const waiting = resume?.waiting ?? [];
  const run = async (label: string, work: () => Promise<unknown>) => {
    setBusy(label);
    setError(undefined);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    }
    setBusy(undefined);
  };
  const power = async (action: "start" | "stop") => {
    const { failed, requested, nodes = [] } = await call("execProject", { lab, action });
    if (failed > 0) {
      const first = nodes.find(({ ok }) => !ok);
      const why = first?.message === undefined ? "" : `; ${first.node}: ${first.message}`;
      throw new LabwrightError(`${failed} of ${requested} nodes did not ${action}${why}`, { status: 502, code: "host_error" });
    }
  };
  return (
    <>
      <div class="buttons">
        {waiting.length > 0 && (
          <button
            type="button"
            class="primary"
            disabled={busy !== undefined}
            title={`Start the nodes again that ran before the machine went down: ${waiting.join(", ")}`}
            onClick={() => void run("Restoring…", () => call("resumeLab", { lab }))}
          >
            Restore {waiting.length}
          </button>
        )}
        {down.length > 0 && (
          <button type="button" disabled={busy !== undefined} onClick={() => void run("Starting…", () => power("start"))}>
            Start all
          </button>
        )}
        {up.length > 0 && (
          <button type="button" disabled={busy !== undefined} onClick={() => setStopping(true)}>
            Stop all…
          </button>
        )}
        <output>{busy}</output>
      </div>
      {error !== undefined && <Problem error={error} />}
      {stopping && (
        <Confirm
          title="Stop all nodes?"
          action="Stop all"
          onCancel={() => setStopping(false)}
          onConfirm={() => {
            setStopping(false);
            void run("Stopping…", () => power("stop"));
          }}
        >
          {up.length === 1 ? "The running node is stopped" : `The ${up.length} running nodes are stopped`}, in the default way of the
          template. Disks are kept; state that was not saved is lost.
        </Confirm>
      )}
    </>
  );
}
