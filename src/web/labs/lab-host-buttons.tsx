import { useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";
import { call } from "../service/api.ts";

interface LabHostButtonsProps {
  readonly lab: string;
  readonly locked: boolean;
  /** undefined: not known yet. */
  readonly nodes: readonly LiveNodeData[] | undefined;
  /** Reads the lab again. */
  readonly reload: () => void;
}

/** Buttons to lock and unlock a lab, and to renumber a stopped lab, if the host supports them. */
export function LabHostButtons({ lab, locked, nodes, reload }: LabHostButtonsProps) {
  const canLock = useFeature("lock").data === true;
  const canRenumber = useFeature("renumber").data === true;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [confirming, setConfirming] = useState(false);
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
    reload();
  };
  const setLock = async () => {
    await call("setLabLock", { lab, locked: !locked });
    return "";
  };
  const renumber = async () => {
    const { nodes: moved } = await call("renumberLab", { lab });
    if (moved.length === 0) return "No other lab uses the same numbers.";
    return moved.map(({ node, before, after }) => `${node}: ${before} is now ${after}`).join(", ");
  };
  // A clashing number means that the running node belongs to another lab.
  const isStopped = nodes?.every(({ status, clash }) => status === "stopped" || status === "failed" || clash?.certain === true) === true;
  if (!canLock && !canRenumber) return null;
  return (
    <>
      <div class="buttons">
        {canLock && (
          <button
            type="button"
            disabled={busy}
            title={locked ? "Allow changes of the lab" : "Refuse all changes of the lab until it is unlocked"}
            onClick={() => void run(setLock)}
          >
            {locked ? "Unlock" : "Lock"}
          </button>
        )}
        {canRenumber && isStopped && !locked && (
          <button type="button" disabled={busy} onClick={() => setConfirming(true)}>
            Renumber…
          </button>
        )}
        <output>{outcome}</output>
      </div>
      {error !== undefined && <Problem error={error} />}
      {confirming && (
        <Confirm
          title="Renumber the lab?"
          action="Renumber"
          onCancel={() => setConfirming(false)}
          onConfirm={() => {
            setConfirming(false);
            void run(renumber);
          }}
        >
          Nodes and networks with a number of another lab get a new one, so that both labs can run. The disks of these nodes are deleted.
        </Confirm>
      )}
    </>
  );
}
