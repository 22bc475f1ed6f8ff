import { useEffect, useRef } from "preact/hooks";
import type { EventData } from "../../contract/schemas/observe.ts";
import { checkSession } from "./api.ts";
import { reportConnection } from "./connection.ts";

type Listener = (event: EventData) => void;

/** One event stream per lab, shared by all its listeners: a browser opens only a few connections to one service. */
interface Feed {
  readonly listeners: Set<Listener>;
  readonly close: () => void;
}

/** Open feeds by lab; "" is the feed of all labs. */
const feeds = new Map<string, Feed>();

const types = ["node", "link", "lab", "job", "capture", "presence", "gap", "message"] as const;
/** Presence comes only to readers that ask for it, and shows their user to the others. */
const asked = ["node", "link", "lab", "job", "capture", "presence"].join();
/** Delay before a new connection, ms. A browser does not reconnect by itself after a response that is not a stream. */
const retryMs = 2_000;

/**
 * Calls `onEvent` with each event of a lab while the component is shown. Without a lab, with the events of all labs. The stream resumes by itself;
 * a `gap` event means that events may be missing. A hidden page closes its stream, and gets a `gap` event when it is visible again.
 * @param enabled false: no stream, for instance because the lab does not exist
 */
export function useEvents(lab: string | undefined, onEvent: Listener, { enabled = true }: { readonly enabled?: boolean } = {}): void {
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(() => {
    if (!enabled) return undefined;
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
  }, [lab, enabled]);
}

function openFeed(lab: string | undefined): Feed {
  const listeners = new Set<Listener>();
  const dispatch = (event: EventData) => {
    for (const listener of [...listeners]) listener(event);
  };
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const disconnect = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  /** @param afterGap events may have been missed since the last connection */
  const open = (afterGap: boolean) => {
    disconnect();
    const opened = new EventSource(`/api/v1/events${lab === undefined ? "" : `?lab=${encodeURIComponent(lab)}&types=${asked}`}`);
    source = opened;
    for (const type of types) {
      opened.addEventListener(type, (message: MessageEvent<string>) => dispatch(JSON.parse(message.data) as EventData));
    }
    if (afterGap) {
      const gap: EventData = { id: "", at: new Date().toISOString(), type: "gap", data: { reason: "away" } };
      opened.addEventListener("open", () => dispatch(gap), { once: true });
    }
    let isAgain = afterGap;
    opened.addEventListener("open", () => {
      reportConnection(listeners, true);
      if (isAgain) void checkSession();
      isAgain = true;
    });
    opened.addEventListener("error", () => {
      if (source === opened) reportConnection(listeners, false);
      if (source !== opened || opened.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(() => {
        // The stream cannot distinguish a service that is away from a session that has ended, such as in another tab.
        void checkSession();
        open(true);
      }, retryMs);
    });
  };
  const onVisibilityChange = () => {
    if (document.hidden) disconnect();
    else if (source === undefined) open(true);
  };
  document.addEventListener("visibilitychange", onVisibilityChange);
  if (!document.hidden) open(false);
  return {
    listeners,
    close: () => {
      document.removeEventListener("visibilitychange", onVisibilityChange);
      disconnect();
      // A closed feed is not a lost connection: its stream may have failed only because the lab does not exist.
      reportConnection(listeners, true);
    },
  };
}
