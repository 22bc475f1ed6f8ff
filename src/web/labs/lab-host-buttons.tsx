import { useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";

interface LabHostButtonsProps {
  readonly lab: string;
  readonly locked: boolean;
  /** undefined: not known yet. */
  readonly nodes: readonly LiveNodeData[] | undefined;
  /** Reads the lab again. */
  readonly again: () => void;
}

/** Locks and unlocks a lab, and renumbers one that is stopped, on hosts that can. */
export function LabHostButtons({ lab, locked, nodes, again }: LabHostButtonsProps) {
  const locks = useFeature("lock").data === true;
  const renumbers = useFeature("renumber").data === true;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [asking, setAsking] = useState(false);
  const [outcome, setOutcome] = useState("");
  const run = async (work: () => Promise<string>) => {
    setBusy(true);
    setError(undefined);
    setOutcome("");
    try {
      setOutcome(await work());
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
    again();
  };
  const setLock = async () => {
    await call("setLabLock", { lab, locked: !locked });
    return "";
  };
  const renumber = async () => {
    const { nodes: moved } = await call("renumberLab", { lab });
    if (moved.length === 0) return "No other lab has a number of this one.";
    return moved.map(({ node, before, after }) => `${node}: ${before} is now ${after}`).join(", ");
  };
  // A node whose number runs for another lab does not run itself.
  const isStopped = nodes?.every(({ status, clash }) => status === "stopped" || status === "failed" || clash?.certain === true) === true;
  if (!locks && !renumbers) return null;
  return (
    <>
      <div class="buttons">
        {locks && (
          <button
            type="button"
            disabled={busy}
            title={locked ? "Allow changes of the lab again" : "Refuse every change of the lab until it is unlocked"}
            onClick={() => void run(setLock)}
          >
            {locked ? "Unlock" : "Lock"}
          </button>
        )}
        {renumbers && isStopped && !locked && (
          <button type="button" disabled={busy} onClick={() => setAsking(true)}>
            Renumber…
          </button>
        )}
        <output>{outcome}</output>
      </div>
      {error !== undefined && <Problem error={error} />}
      {asking && (
        <Confirm
          title="Renumber the lab?"
          action="Renumber"
          onCancel={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void run(renumber);
          }}
        >
          Nodes and networks whose number another lab of the host has get a number of their own, so that both labs can run at once. The
          disks of such nodes are deleted: the host keeps a disk under the number.
        </Confirm>
      )}
    </>
  );
}
