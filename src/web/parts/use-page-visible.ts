import { useEffect, useState } from "preact/hooks";

/** Whether the page is in sight: false in a tab that is hidden. */
export function usePresence(): boolean {
  const [present, setPresent] = useState(() => !document.hidden);
  useEffect(() => {
    const changed = () => setPresent(!document.hidden);
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
  return present;
}
