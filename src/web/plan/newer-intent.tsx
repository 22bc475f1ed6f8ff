import { IntentDiff, type IntentText } from "../intent/intent-diff.tsx";

interface NewerIntentProps {
  readonly mine: IntentText;
  readonly theirs: IntentText;
  readonly onTake: () => void;
  readonly onKeep: () => void;
}

/** Somebody changed the lab's intent while it was being changed here, too: what theirs has and mine has not, and which of them stays. */
export function NewerIntent({ mine, theirs, onTake, onKeep }: NewerIntentProps) {
  return (
    <section class="newer" aria-label="The lab's text was changed elsewhere">
      <p class="mark warn">The lab's text was changed elsewhere meanwhile. From yours to theirs:</p>
      <IntentDiff before={mine} after={theirs} />
      <div class="buttons">
        <button type="button" onClick={onTake}>
          Take theirs, drop mine
        </button>
        <button type="button" onClick={onKeep}>
          Keep mine
        </button>
      </div>
    </section>
  );
}
