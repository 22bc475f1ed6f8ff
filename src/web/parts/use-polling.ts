import { useEffect, useRef } from "preact/hooks";

/** Calls `work` every `ms` milliseconds while the page is visible, and at once when it becomes visible again. */
export function usePolling(work: () => void, ms: number): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const poll = () => {
      if (document.visibilityState === "visible") latest.current();
    };
    const timer = setInterval(poll, ms);
    document.addEventListener("visibilitychange", poll);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", poll);
    };
  }, [ms]);
}
