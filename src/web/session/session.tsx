import { useEffect, useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { DataOf } from "../../contract/operations.ts";
import { call, signedOut } from "../service/api.ts";
import { forgetSession, maybeSignedIn, rememberSession } from "./session-expiry.ts";
import { dropDrafts } from "../intent/drafts.ts";

export type Session = DataOf<"getSession">;

/** A link of one user in a browser that another one is signed in to. */
export interface Replacement {
  readonly username: string;
  readonly ticketUsername: string;
  /** Whether to sign in as the link's user. */
  readonly decide: (replace: boolean) => void;
}

export type SignIn =
  | { readonly state: "asking" }
  | { readonly state: "out"; readonly why?: unknown }
  | ({ readonly state: "replacing" } & Replacement)
  | { readonly state: "in"; readonly session: Session; readonly note?: string };

/** Who looks at the page: by the ticket in the address, where there is one, else by the cookie of before. */
export function useSession(): readonly [SignIn, (token: string) => Promise<void>] {
  const [signIn, setSignIn] = useState<SignIn>({ state: "asking" });
  const look = async (note?: string) =>
    setSignIn({ state: "in", session: await call("getSession", {}), ...(note !== undefined && { note }) });
  const lookOrAsk = (asked: Promise<void>) => {
    asked.catch((why: unknown) =>
      setSignIn(why instanceof LabwrightError && why.status === 401 ? { state: "out" } : { state: "out", why }),
    );
  };
  const redeem = async (ticket: string, replace = false) => {
    rememberSession((await call("createBrowserSession", { ticket, replace })).expires_at);
    await look();
  };

  /** A link that is good no more: the session of before shows its page; without one the form says how to get another one. */
  const afterUsedTicket = async (why: unknown) => {
    if (!(why instanceof LabwrightError) || why.code !== "browser_token_invalid") throw why;
    const isSignedIn = maybeSignedIn(Date.now()) && (await look(`${usedLink} You were signed in already.`).then(() => true, noSession));
    if (!isSignedIn) throw new LabwrightError(`${usedLink} Run labwright open again for a new one, or sign in.`, { status: why.status });
  };

  useEffect(() => {
    const out = () => {
      forgetSession();
      setSignIn((now) =>
        now.state === "in" ? { state: "out", why: new LabwrightError("Your session has ended.", { status: 401 }) } : now,
      );
    };
    signedOut.addEventListener("signedout", out);
    const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
    if (ticket !== null) {
      // Out of the address at once: it must not be found in a history.
      history.replaceState(null, "", location.pathname + location.search);
      const ask = (why: unknown) => {
        const users = replacedUsers(why);
        if (users === undefined) throw why;
        const decide = (replace: boolean) => {
          setSignIn({ state: "asking" });
          // Text of the one user is not for the other.
          if (replace) dropDrafts();
          lookOrAsk(replace ? redeem(ticket, true) : look());
        };
        setSignIn({ state: "replacing", ...users, decide });
      };
      lookOrAsk(redeem(ticket).catch(ask).catch(afterUsedTicket));
    } else if (maybeSignedIn(Date.now())) lookOrAsk(look());
    else setSignIn({ state: "out" });
    return () => signedOut.removeEventListener("signedout", out);
  }, []);

  const enter = async (token: string) => {
    rememberSession((await call("createBrowserSession", {}, { token })).expires_at);
    await look();
  };
  return [signIn, enter];
}

const usedLink = "The link was used before or is too old.";

/** False for the error of a session that has ended; throws any other. */
function noSession(error: unknown): false {
  if (error instanceof LabwrightError && error.status === 401) return false;
  throw error;
}

/** The two users of a session_exists; undefined for any other error. */
function replacedUsers(error: unknown): Pick<Replacement, "username" | "ticketUsername"> | undefined {
  if (!(error instanceof LabwrightError) || error.code !== "session_exists") return undefined;
  const { username, ticket_username: ticketUsername } = error.data ?? {};
  return { username: String(username), ticketUsername: String(ticketUsername) };
}
