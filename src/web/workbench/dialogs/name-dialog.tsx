import { useEffect, useRef, useState } from "preact/hooks";
import { useModal } from "../../dialog/use-modal.ts";

interface NameDialogProps {
  readonly name: string;
  /** Whether it is the content of a text, and not the name of a part. */
  readonly isText?: boolean;
  /** Returns why the name is refused; undefined if it is taken. */
  readonly onName: (name: string) => Promise<string | undefined>;
  readonly onCancel: () => void;
}

/** Asks for a new name, or a new text. */
export default function NameDialog({ name, isText = false, onName, onCancel }: NameDialogProps) {
  const dialog = useModal();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(name);
  const [refused, setRefused] = useState<string>();
  useEffect(() => input.current?.select(), []);
  return (
    <dialog ref={dialog} onCancel={onCancel} aria-label={isText ? "Change the text" : `Rename ${name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void onName(typed.trim()).then(setRefused);
        }}
      >
        <label>
          {isText ? "Text on the drawing" : `New name of ${name}`}
          <input
            ref={input}
            value={typed}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              setRefused(undefined);
            }}
            aria-invalid={refused !== undefined}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        {refused !== undefined && (
          <p class="problem" role="alert">
            {refused}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={typed.trim() === ""}>
            {isText ? "Change" : "Rename"}
          </button>
        </div>
      </form>
    </dialog>
  );
}
