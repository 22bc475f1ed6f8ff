import { useState } from "preact/hooks";
import { useEvents } from "../service/events.ts";

/** Returns all users who look at the lab now. Used where the event stream of the lab is opened: its first events contain the list. */
export function usePresence(lab: string, enabled: boolean): readonly string[] {
  const [users, setUsers] = useState<readonly string[]>([]);
  useEvents(
    lab,
    ({ type, data }) => {
      if (type === "presence") setUsers((data as { readonly users: readonly string[] }).users);
    },
    { enabled },
  );
  return users;
}
