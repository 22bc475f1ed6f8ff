import { useEffect, useRef } from "preact/hooks";
import type { EventData } from "../contract/schemas/observe.ts";

/**
 * Calls `heard` with each event of a lab (absent: of all labs) while the component is shown. The browser reconnects and resumes by itself;
 * a `gap` event says that something may be missing.
 */
export function useEvents(lab: string | undefined, heard: (event: EventData) => void): void {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => {
    const source = new EventSource(`/api/v1/events${lab === undefined ? "" : `?lab=${encodeURIComponent(lab)}`}`);
    const told = (message: MessageEvent<string>) => latest.current(JSON.parse(message.data) as EventData);
    for (const type of ["node", "link", "lab", "job", "capture", "gap", "message"]) source.addEventListener(type, told);
    return () => source.close();
  }, [lab]);
}
