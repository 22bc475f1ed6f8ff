import { useEffect, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { DataOf } from "../../contract/operations.ts";
import { dropDrafts, dropDraftsOfOthers } from "../intent/drafts.ts";
import { call, showsUser, signedOut } from "../service/api.ts";
import { forgetSession, maybeSignedIn, rememberSession } from "./session-expiry.ts";

export type Session = DataOf<"getSession">;

/** A sign-in link of one user, opened in a browser that is signed in as another user. */
export interface Replacement {
  readonly username: string;
  readonly ticketUsername: string;
  /** Signs in as the link's user if `replace` is true; otherwise keeps the current session. */
  readonly decide: (replace: boolean) => void;
}

export type SignIn =
  | { readonly state: "checking" }
  | { readonly state: "out"; readonly reason?: unknown }
  | ({ readonly state: "replacing" } & Replacement)
  | { readonly state: "in"; readonly session: Session; readonly note?: string };

/** Signs in with the ticket of the address if it has one, otherwise with the existing cookie. Returns the state, and a function that signs in by token. */
export function useSession(): readonly [SignIn, (token: string) => Promise<void>] {
  const [signIn, setSignIn] = useState<SignIn>({ state: "checking" });
  const readSession = async (note?: string) => {
    const session = await call("getSession", {});
    const user = session.username ?? "";
    dropDraftsOfOthers(user);
    showsUser(user);
    setSignIn({ state: "in", session, ...(note !== undefined && { note }) });
  };
  const showFormOnFailure = (attempt: Promise<void>) => {
    attempt.catch((reason: unknown) =>
      setSignIn(reason instanceof LabwrightError && reason.status === 401 ? { state: "out" } : { state: "out", reason }),
    );
  };
  const redeem = async (ticket: string, replace = false) => {
    rememberSession((await call("createBrowserSession", { ticket, replace })).expires_at);
    await readSession();
  };

  /** Handles a used or expired link: an existing session shows the page with a note. Without a session the form explains how to get a new link. */
  const afterUsedTicket = async (reason: unknown) => {
    if (!(reason instanceof LabwrightError) || reason.code !== "browser_token_invalid") throw reason;
    const isSignedIn = maybeSignedIn() && (await readSession(`${usedLink} You were signed in already.`).then(() => true, noSession));
    if (!isSignedIn) throw new LabwrightError(`${usedLink} Run labwright open again for a new one, or sign in.`, { status: reason.status });
  };

  useEffect(() => {
    const out = () => {
      forgetSession();
      setSignIn((now) =>
        now.state === "in" ? { state: "out", reason: new LabwrightError("Your session has ended.", { status: 401 }) } : now,
      );
    };
    signedOut.addEventListener("signedout", out);
    const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
    if (ticket !== null) {
      // Removed from the address at once, so that the ticket is not kept in the browser's history.
      history.replaceState(null, "", location.pathname + location.search);
      const askToReplace = (reason: unknown) => {
        const users = replacedUsers(reason);
        if (users === undefined) throw reason;
        const decide = (replace: boolean) => {
          setSignIn({ state: "checking" });
          // One user must not see the drafts of another.
          if (replace) dropDrafts();
          showFormOnFailure(replace ? redeem(ticket, true) : readSession());
        };
        setSignIn({ state: "replacing", ...users, decide });
      };
      showFormOnFailure(redeem(ticket).catch(askToReplace).catch(afterUsedTicket));
    } else if (maybeSignedIn()) showFormOnFailure(readSession());
    else setSignIn({ state: "out" });
    return () => signedOut.removeEventListener("signedout", out);
  }, []);

  const signInWith = async (token: string) => {
    rememberSession((await call("createBrowserSession", {}, { token })).expires_at);
    await readSession();
  };
  return [signIn, signInWith];
}

const usedLink = "The link was used before or is too old.";

/** Returns false for the error of an ended session; throws any other error. */
function noSession(error: unknown): false {
  if (error instanceof LabwrightError && error.status === 401) return false;
  throw error;
}

/** Returns the two users that a session_exists error names; undefined for any other error. */
function replacedUsers(error: unknown): Pick<Replacement, "username" | "ticketUsername"> | undefined {
  if (!(error instanceof LabwrightError) || error.code !== "session_exists") return undefined;
  const { username, ticket_username: ticketUsername } = error.data ?? {};
  return { username: String(username), ticketUsername: String(ticketUsername) };
}
