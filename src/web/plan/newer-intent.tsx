import { IntentDiff } from "../intent/intent-diff.tsx";
import type { IntentText } from "../intent/intent-text.ts";

interface NewerIntentProps {
  readonly mine: IntentText;
  readonly theirs: IntentText;
  readonly onTake: () => void;
  readonly onKeep: () => void;
}

/** Shown when the lab's text was changed elsewhere while it has unapplied changes here: compares the two texts, and asks which one to keep. */
export default function NewerIntent({ mine, theirs, onTake, onKeep }: NewerIntentProps) {
  return (
    <section class="newer" aria-label="The lab's text was changed elsewhere">
      <p class="mark warn">The lab's text was changed elsewhere meanwhile. Your text and theirs:</p>
      <IntentDiff before={mine} after={theirs} titles={["Your text", "Their text"]} />
      <div class="buttons">
        <button type="button" onClick={onTake}>
          Use their text, discard mine
        </button>
        <button type="button" onClick={onKeep}>
          Keep my text
        </button>
      </div>
    </section>
  );
}
