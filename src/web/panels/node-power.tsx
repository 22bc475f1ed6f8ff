import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import type { ProjectModeCaps } from "../../contract/schemas/session.ts";
import { call } from "../service/api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Problem } from "../parts/problem.tsx";

interface NodePowerProps {
  readonly lab: string;
  /** What its lab's mode allows; undefined: not known. */
  readonly able: ProjectModeCaps | undefined;
  readonly node: InspectedNode;
  readonly status: string;
}

/** By the number that the wire has for each. */
const stopWords = ["gracefully", "by switching it off", "by hibernating it", "as its template stops best"] as const;
const auto = 3;

/** Starts, stops and wipes a node, and says who feels it. */
export function NodePower({ lab, able, node, status }: NodePowerProps) {
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [wiping, setWiping] = useState(false);
  const [how, setHow] = useState(auto);
  const key = node.node ?? node.name;
  const up = status === "running" || status === "starting" || status === "stopping";
  const power = async (action: "start" | "stop" | "wipe", words: string) => {
    setBusy(words);
    setError(undefined);
    try {
      const { failed, nodes } = await call("execProject", { lab, action, node: key, ...(action === "stop" && { stopmode: how }) });
      if (failed > 0) {
        const why = nodes?.find(({ ok }) => !ok)?.message;
        throw new LabwrightError(`${node.name} did not ${action}${why === undefined ? "" : `: ${why}`}`, {
          status: 502,
          code: "host_error",
        });
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(undefined);
    }
  };
  const neighbours = neighboursOf(node);
  const felt = up && neighbours.length > 0 ? `takes its links down: ${neighbours.join(", ")} will feel it.` : "";
  return (
    <>
      <div class="buttons">
        {up ? (
          <button type="button" disabled={busy !== undefined || able?.stop === false} onClick={() => void power("stop", "Stopping…")}>
            Stop
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={busy !== undefined || able?.start === false}
            onClick={() => void power("start", "Starting…")}
          >
            Start
          </button>
        )}
        {up && (able?.stopModes.length ?? 0) > 1 && (
          <select aria-label="How to stop it" value={how} onChange={(event) => setHow(Number(event.currentTarget.value))}>
            {able!.stopModes.map((one) => (
              <option key={one} value={one}>
                {stopWords[one as 0 | 1 | 2 | 3]}
              </option>
            ))}
          </select>
        )}
        <button type="button" class="danger" disabled={busy !== undefined || able?.wipe === false} onClick={() => setWiping(true)}>
          Wipe…
        </button>
        <output>{busy}</output>
      </div>
      {felt !== "" && <p class="hint">Stopping it {felt}</p>}
      {error !== undefined && <Problem error={error} />}
      {wiping && (
        <Confirm
          title={`Wipe ${node.name}?`}
          action="Wipe"
          onCancel={() => setWiping(false)}
          onConfirm={() => {
            setWiping(false);
            void power("wipe", "Wiping…");
          }}
        >
          {up ? "The node is stopped and its disk is dropped" : "Its disk is dropped"}: what was written to it, what was saved on it and
          what is not in the intent is lost. It begins anew with its startup-config at the next start.{" "}
          {felt !== "" && `Stopping it ${felt}`}
        </Confirm>
      )}
    </>
  );
}

/** Who is at the other end of its links that have carrier. */
function neighboursOf({ interfaces }: InspectedNode): readonly string[] {
  const ends = interfaces.flatMap(({ peer, suspended }) => (peer === undefined || suspended ? [] : [peer.split(":")[0]!]));
  return [...new Set(ends)].sort();
}
