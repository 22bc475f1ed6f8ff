import { draftedLabs } from "../intent/drafts.ts";
import type { Replacement } from "./session.tsx";

/** Asks before a link signs this browser in as another user: anyone can send such a link. */
export function ReplaceSession({ username, ticketUsername, decide }: Replacement) {
  const drafts = draftedLabs();
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          decide(false);
        }}
      >
        <h1>Sign in as {ticketUsername}?</h1>
        <p>
          You are signed in as <strong>{username}</strong>. The link that you opened signs this browser in as{" "}
          <strong>{ticketUsername}</strong>. Stay signed in as {username} if you did not expect that.
        </p>
        {drafts.length > 0 && (
          <p>
            Signing in as {ticketUsername} discards your unapplied text of {drafts.join(", ")}.
          </p>
        )}
        <button type="submit" class="primary">
          Stay signed in as {username}
        </button>
        <button type="button" onClick={() => decide(true)}>
          Sign in as {ticketUsername}
        </button>
      </form>
    </main>
  );
}
