import { useState } from "preact/hooks";
import type { InspectedLink, LinkQuality } from "../../../contract/schemas/observe.ts";
import { useModal } from "../../dialog/use-modal.ts";
import { QualityFields, qualityOf, toInput } from "../../panels/quality-fields.tsx";

interface ImpairDialogProps {
  readonly links: readonly InspectedLink[];
  /** undefined: without any impairment. */
  readonly onQuality: (quality: LinkQuality | undefined) => void;
  readonly onCancel: () => void;
}

/** Asks for the quality that several links get, in both directions. */
export function ImpairDialog({ links, onQuality, onCancel }: ImpairDialogProps) {
  const dialog = useModal();
  const [input, setInput] = useState(() => toInput(undefined));
  const title = links.length === 1 ? `Impair ${links[0]?.key}` : `Impair ${links.length} links`;
  return (
    <dialog ref={dialog} onCancel={onCancel} aria-label={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onQuality(qualityOf(input));
        }}
      >
        <h2>{title}</h2>
        <p>{links.map(({ key }) => key).join(", ")}</p>
        <QualityFields legend="Packets of both directions" value={input} onChange={setInput} />
        <p class="hint">The running links change at once; the text of the lab does not.</p>
        <div class="buttons">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="button" onClick={() => onQuality(undefined)}>
            Clear all impairments
          </button>
          <button type="submit" class="primary" disabled={qualityOf(input) === undefined}>
            Apply
          </button>
        </div>
      </form>
    </dialog>
  );
}
