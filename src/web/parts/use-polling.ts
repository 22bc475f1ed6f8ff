import { useEffect, useRef } from "preact/hooks";

/** Does something every `ms` while the page is looked at, and at once when it is looked at again. */
export function useWhileSeen(work: () => void, ms: number): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") latest.current();
    };
    const timer = setInterval(look, ms);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [ms]);
}
