import { useEffect, useState } from "preact/hooks";
import { LabwrightError } from "../client/browser.ts";
import type { DataOf } from "../contract/operations.ts";
import { call, signedOut } from "./api.ts";
import { forgetSession, maybeSignedIn, rememberSession } from "./known-until.ts";

export type Session = DataOf<"getSession">;

export type SignIn =
  | { readonly state: "asking" }
  | { readonly state: "out"; readonly why?: unknown }
  | { readonly state: "in"; readonly session: Session };

/** Who looks at the page: by the ticket in the address, where there is one, else by the cookie of before. */
export function useSession(): readonly [SignIn, (token: string) => Promise<void>] {
  const [signIn, setSignIn] = useState<SignIn>({ state: "asking" });
  const look = async () => setSignIn({ state: "in", session: await call("getSession", {}) });

  useEffect(() => {
    const out = () => {
      forgetSession();
      setSignIn((now) =>
        now.state === "in" ? { state: "out", why: new LabwrightError("Your session has ended.", { status: 401 }) } : now,
      );
    };
    signedOut.addEventListener("signedout", out);
    const begin = async () => {
      const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
      // Out of the address at once: it must not be found in a history.
      if (ticket !== null) {
        history.replaceState(null, "", location.pathname + location.search);
        rememberSession((await call("createBrowserSession", { ticket })).expires_at);
      } else if (!maybeSignedIn(Date.now())) {
        setSignIn({ state: "out" });
        return;
      }
      await look();
    };
    begin().catch((why: unknown) =>
      setSignIn(why instanceof LabwrightError && why.status === 401 ? { state: "out" } : { state: "out", why }),
    );
    return () => signedOut.removeEventListener("signedout", out);
  }, []);

  const enter = async (token: string) => {
    rememberSession((await call("createBrowserSession", {}, { token })).expires_at);
    await look();
  };
  return [signIn, enter];
}
