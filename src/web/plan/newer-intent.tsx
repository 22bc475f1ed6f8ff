import { useEffect, useState } from "preact/hooks";
import { IntentDiff } from "../intent/intent-diff.tsx";
import type { IntentText } from "../intent/intent-text.ts";
import type { PlanEvent } from "./control/plan-state.ts";

interface NewerIntentProps {
  /** The text that both started from. */
  readonly base: IntentText;
  readonly mine: IntentText;
  readonly theirs: IntentText;
  readonly dispatch: (event: PlanEvent) => void;
}

/** Shown when the lab's text was changed elsewhere while it has unapplied changes here: compares the two texts, and asks which one to keep. */
export default function NewerIntent({ base, mine, theirs, dispatch }: NewerIntentProps) {
  const merged = useMerged(base, mine, theirs);
  return (
    <section class="newer" aria-label="The lab's text was changed elsewhere">
      <p class="mark warn">
        The stored text was changed meanwhile, in another tab or by another user. Choose a text before you apply or save.
      </p>
      <IntentDiff before={mine} after={theirs} titles={["Your text", "Stored text"]} />
      <div class="buttons">
        {merged !== undefined && (
          <button
            type="button"
            class="primary"
            title="The two changed different parts"
            onClick={() => dispatch({ type: "newer-merged", intent: merged })}
          >
            Keep both changes
          </button>
        )}
        <button type="button" onClick={() => dispatch({ type: "newer-taken" })}>
          Use the stored text, discard mine
        </button>
        <button type="button" onClick={() => dispatch({ type: "newer-ignored" })}>
          Keep my text
        </button>
      </div>
    </section>
  );
}

/** Returns both edits in one text; undefined if they change the same part, or until it is known. */
function useMerged(base: IntentText, mine: IntentText, theirs: IntentText): IntentText | undefined {
  const [merged, setMerged] = useState<IntentText>();
  useEffect(() => {
    let isCurrent = true;
    setMerged(undefined);
    void import("../drawing/draw.ts").then(({ mergedText }) => isCurrent && setMerged(mergedText(base, mine, theirs)));
    return () => {
      isCurrent = false;
    };
  }, [base, mine, theirs]);
  return merged;
}
