import { useEffect, useRef } from "preact/hooks";
import type { EventData } from "../contract/schemas/observe.ts";

type Heard = (event: EventData) => void;

interface Listening {
  readonly source: EventSource;
  readonly heard: Set<Heard>;
}

/** By address. A browser has six connections to a service for all its tabs: each part of a page that listens does not take another. */
const open = new Map<string, Listening>();

/**
 * Calls `heard` with each event of a lab (absent: of all labs) while the component is shown. The browser reconnects and resumes by itself;
 * a `gap` event says that something may be missing.
 */
export function useEvents(lab: string | undefined, heard: Heard): void {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => listen(lab, (event) => latest.current(event)), [lab]);
}

/** Answers the function that ends it. */
function listen(lab: string | undefined, heard: Heard): () => void {
  const address = `/api/v1/events${lab === undefined ? "" : `?lab=${encodeURIComponent(lab)}`}`;
  const listening = open.get(address) ?? begin(address);
  listening.heard.add(heard);
  return () => {
    listening.heard.delete(heard);
    if (listening.heard.size > 0) return;
    listening.source.close();
    open.delete(address);
  };
}

function begin(address: string): Listening {
  const listening = { source: new EventSource(address), heard: new Set<Heard>() };
  const told = (message: MessageEvent<string>) => {
    const event = JSON.parse(message.data) as EventData;
    for (const heard of [...listening.heard]) heard(event);
  };
  for (const type of ["node", "link", "lab", "job", "capture", "gap", "message"]) listening.source.addEventListener(type, told);
  open.set(address, listening);
  return listening;
}
