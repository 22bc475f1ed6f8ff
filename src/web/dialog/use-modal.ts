import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Returns the reference of a dialog, which is shown while its component exists. The focus then goes back to the element that had it before. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect: the clean-up of useEffect runs only after the dialog was removed.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // The browser moves the focus back only if the dialog is closed, not if it is removed.
    return () => shown?.close();
  }, []);
  return dialog;
}
