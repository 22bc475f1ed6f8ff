import { useEffect, useRef } from "preact/hooks";
import type { EventData } from "../../contract/schemas/observe.ts";

type Listener = (event: EventData) => void;

/** A stream of events that all who listen to the same lab share: a browser has only few connections for one service. */
interface Feed {
  readonly listeners: Set<Listener>;
  readonly close: () => void;
}

/** By lab; "" for all labs. */
const feeds = new Map<string, Feed>();

const types = ["node", "link", "lab", "job", "capture", "gap", "message"] as const;
/** A browser itself does not try again after an answer that is no stream. */
const retryMs = 2_000;

/**
 * Calls `heard` with each event of a lab (absent: of all labs) while the component is shown. The stream resumes by itself; a `gap` event says
 * that something may be missing. A page that nobody sees listens to nothing, and hears of a gap when it is seen again.
 */
export function useEvents(lab: string | undefined, heard: Listener): void {
  const latest = useRef(heard);
  latest.current = heard;
  useEffect(() => {
    const key = lab ?? "";
    const feed = feeds.get(key) ?? openFeed(lab);
    feeds.set(key, feed);
    const listener: Listener = (event) => latest.current(event);
    feed.listeners.add(listener);
    return () => {
      feed.listeners.delete(listener);
      if (feed.listeners.size > 0) return;
      feeds.delete(key);
      feed.close();
    };
  }, [lab]);
}

function openFeed(lab: string | undefined): Feed {
  const listeners = new Set<Listener>();
  const tell = (event: EventData) => {
    for (const listener of [...listeners]) listener(event);
  };
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  /** @param again something may have happened since this feed listened last */
  const begin = (again: boolean) => {
    end();
    const opened = new EventSource(`/api/v1/events${lab === undefined ? "" : `?lab=${encodeURIComponent(lab)}`}`);
    source = opened;
    for (const type of types) {
      opened.addEventListener(type, (message: MessageEvent<string>) => tell(JSON.parse(message.data) as EventData));
    }
    if (again) {
      const gap: EventData = { id: "", at: new Date().toISOString(), type: "gap", data: { reason: "away" } };
      opened.addEventListener("open", () => tell(gap), { once: true });
    }
    opened.addEventListener("error", () => {
      if (source === opened && opened.readyState === EventSource.CLOSED) retry = setTimeout(() => begin(true), retryMs);
    });
  };
  const look = () => {
    if (document.hidden) end();
    else if (source === undefined) begin(true);
  };
  document.addEventListener("visibilitychange", look);
  if (!document.hidden) begin(false);
  return {
    listeners,
    close: () => {
      document.removeEventListener("visibilitychange", look);
      end();
    },
  };
}
