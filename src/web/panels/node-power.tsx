import { useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import { LabwrightError } from "../../client/browser.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import type { ProjectModeCaps } from "../../contract/schemas/session.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";

interface NodePowerProps {
  readonly lab: string;
  /** The capabilities of the lab's mode; undefined: not known yet. */
  readonly modeCaps: ProjectModeCaps | undefined;
  readonly node: InspectedNode;
  readonly status: string;
}

type Action = "start" | "stop" | "wipe";

/** Labels of the stop modes, by their number in the API. */
const stopText = ["gracefully", "by switching it off", "by hibernating it", "the template's default"] as const;
const auto = 3;

/** Buttons to start, stop, restart and wipe a node, with the neighbours that a stop affects. */
export function NodePower({ lab, modeCaps, node, status }: NodePowerProps) {
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [wiping, setWiping] = useState(false);
  const [stopMode, setStopMode] = useState(auto);
  const key = nodeKey(node);
  const up = status === "running" || status === "starting" || status === "stopping";
  const exec = async (action: Action) => {
    const { failed, nodes } = await call("execProject", { lab, action, node: key, ...(action === "stop" && { stopmode: stopMode }) });
    if (failed === 0) return;
    const why = nodes?.find(({ ok }) => !ok)?.message;
    throw new LabwrightError(`${node.name} did not ${action}${why === undefined ? "" : `: ${why}`}`, { status: 502, code: "host_error" });
  };
  /** Runs the actions one after the other, until one fails. */
  const power = async (label: string, ...actions: readonly Action[]) => {
    setBusy(label);
    setError(undefined);
    try {
      for (const action of actions) await exec(action);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(undefined);
    }
  };
  const neighbours = neighboursOf(node);
  const effect = up && neighbours.length > 0 ? `Stopping it takes its links down. Affected: ${neighbours.join(", ")}.` : "";
  return (
    <>
      <div class="buttons">
        {up ? (
          <button type="button" disabled={busy !== undefined || modeCaps?.stop === false} onClick={() => void power("Stopping…", "stop")}>
            Stop
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={busy !== undefined || modeCaps?.start === false}
            onClick={() => void power("Starting…", "start")}
          >
            Start
          </button>
        )}
        {up && (
          <button
            type="button"
            disabled={busy !== undefined || modeCaps?.stop === false || modeCaps?.start === false}
            onClick={() => void power("Restarting…", "stop", "start")}
          >
            Restart
          </button>
        )}
        {up && (modeCaps?.stopModes.length ?? 0) > 1 && (
          <select aria-label="Stop mode" value={stopMode} onChange={(event) => setStopMode(Number(event.currentTarget.value))}>
            {modeCaps!.stopModes.map((one) => (
              <option key={one} value={one}>
                {stopText[one as 0 | 1 | 2 | 3]}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="danger" disabled={busy !== undefined || modeCaps?.wipe === false} onClick={() => setWiping(true)}>
          Wipe…
        </button>
        <output>{busy}</output>
      </div>
      {effect !== "" && <p class="hint">{effect}</p>}
      {error !== undefined && <Problem error={error} />}
      {wiping && (
        <Confirm
          title={`Wipe ${node.name}?`}
          action="Wipe"
          onCancel={() => setWiping(false)}
          onConfirm={() => {
            setWiping(false);
            void power("Wiping…", "wipe");
          }}
        >
          {up ? "The node is stopped and its disk is deleted" : "Its disk is deleted"}: files and saved configurations that are not in the
          intent are lost. At its next start it begins with its startup-config. {effect}
        </Confirm>
      )}
    </>
  );
}

/** Returns the nodes and networks at the other ends of its links that have a carrier. */
function neighboursOf({ interfaces }: InspectedNode): readonly string[] {
  const ends = interfaces.flatMap(({ peer, suspended }) => (peer === undefined || suspended ? [] : [peer.split(":")[0]!]));
  return [...new Set(ends)].sort();
}
