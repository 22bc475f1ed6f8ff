import { useEffect, useRef } from "preact/hooks";

/**
 * Calls a function for keys that no part of the page has: after the page was opened, or a focused button disappeared, nothing has the focus, and keys such
 * as Ctrl+V belong to the drawing. Not while a dialog is open.
 * @param onKey returns whether it used the key
 */
export function usePageKeys(onKey: (event: KeyboardEvent) => boolean): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.target !== document.body || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
      if (latest.current(event)) event.preventDefault();
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}
