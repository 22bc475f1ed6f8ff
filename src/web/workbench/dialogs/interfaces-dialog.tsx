import { useState } from "preact/hooks";
import { useModal } from "../../dialog/use-modal.ts";
import type { LinkEnd } from "../edits/link-end.ts";

interface InterfacesDialogProps {
  readonly title: string;
  /** The ends at nodes; the end at a network has no interface. */
  readonly ends: readonly LinkEnd[];
  readonly onChosen: (interfaces: ReadonlyMap<string, string>) => void;
  readonly onCancel: () => void;
}

/** Asks for the interfaces of a link. */
export default function InterfacesDialog({ title, ends, onChosen, onCancel }: InterfacesDialogProps) {
  const dialog = useModal();
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map(ends.map((end) => [end.node, end.interface])));
  return (
    <dialog ref={dialog} onCancel={onCancel} aria-label={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onChosen(chosen);
        }}
      >
        {ends.map(({ node, choices }) => (
          <label key={node}>
            Interface of {node}
            <select value={chosen.get(node)} onChange={(event) => setChosen(new Map([...chosen, [node, event.currentTarget.value]]))}>
              {choices.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        ))}
        <div class="buttons">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Change
          </button>
        </div>
      </form>
    </dialog>
  );
}
