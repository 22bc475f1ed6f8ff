import { useEffect, useState } from "preact/hooks";
import { useConnection } from "./connection.ts";

/** A stream that is only renewed, as after a restart of the service, is no reason for a banner, ms. */
const graceMs = 1_500;

/** Shows that the service does not answer, and since when. */
export function ConnectionBanner() {
  const { lostAt } = useConnection();
  const [shown, setShown] = useState<number>();
  useEffect(() => {
    if (lostAt === undefined) return setShown(undefined);
    const timer = setTimeout(() => setShown(lostAt), graceMs);
    return () => clearTimeout(timer);
  }, [lostAt]);
  useEffect(() => {
    document.body.classList.toggle("stale", shown !== undefined);
  }, [shown]);
  if (shown === undefined) return null;
  return (
    <p class="notice lost" role="alert">
      No connection to the service since {new Date(shown).toLocaleTimeString()}. This page shows the last known state, and continues by
      itself when the service answers.
    </p>
  );
}
