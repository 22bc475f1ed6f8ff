import { othersHere } from "./others-here.ts";

interface PresenceProps {
  /** All users who look at the lab, see use-presence.ts. */
  readonly users: readonly string[];
  /** The user of this page. */
  readonly user: string | undefined;
}

/** Names the other users who look at the lab now. */
export function Presence({ users, user }: PresenceProps) {
  const others = othersHere(users, user);
  return (
    <span role="status" class="presence">
      {others !== "" && (
        <span class="mark" title="Other users who look at this lab now">
          {others}
        </span>
      )}
    </span>
  );
}
