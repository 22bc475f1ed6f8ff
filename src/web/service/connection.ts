import { useEffect, useState } from "preact/hooks";

/** Whether the service answers, as the event streams see it. */
export interface Connection {
  /** When the connection was lost, ms since the epoch; undefined: connected. */
  readonly lostAt: number | undefined;
  /** When the connection came back after the last loss, ms since the epoch. */
  readonly restoredAt: number | undefined;
}

let current: Connection = { lostAt: undefined, restoredAt: undefined };
const changed = new EventTarget();
/** The streams that are not connected now. */
const lost = new Set<object>();

/** Records whether a stream is connected. A stream that is closed for good counts as connected: it is no longer needed. */
export function reportConnection(stream: object, isConnected: boolean, now: number = Date.now()): void {
  if (isConnected) lost.delete(stream);
  else lost.add(stream);
  if ((lost.size === 0) === (current.lostAt === undefined)) return;
  current = lost.size === 0 ? { lostAt: undefined, restoredAt: now } : { ...current, lostAt: now };
  changed.dispatchEvent(new Event("change"));
}

export function useConnection(): Connection {
  const [connection, setConnection] = useState(current);
  useEffect(() => {
    const onChange = () => setConnection(current);
    onChange();
    changed.addEventListener("change", onChange);
    return () => changed.removeEventListener("change", onChange);
  }, []);
  return connection;
}
