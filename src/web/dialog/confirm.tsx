import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useModal } from "./use-modal.ts";

interface ConfirmProps {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Label of the confirming button. */
  readonly action: string;
  /** Text that must be typed before the button is enabled; absent: none. */
  readonly word?: string;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({ title, children, action, word, onConfirm, onCancel }: ConfirmProps) {
  const dialog = useModal();
  const [typed, setTyped] = useState("");
  return (
    <dialog ref={dialog} onCancel={onCancel} aria-label={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
      >
        <h2>{title}</h2>
        <p>{children}</p>
        {word !== undefined && (
          <label>
            <span>
              Type <code>{word}</code> to continue
            </span>
            <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        <div class="buttons">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={word !== undefined && typed !== word}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
