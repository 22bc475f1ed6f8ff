import { useEffect, useState } from "preact/hooks";
import { dropDrafts } from "../intent/drafts.ts";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";
import { forgetSession } from "./session-expiry.ts";

/** Signs out. Replaces the whole page, so that no part of it sends further requests, which would be refused. */
export function SignOut() {
  const [error, setError] = useState<unknown>();
  const signOut = () => {
    setError(undefined);
    call("logout", {}).then(() => {
      forgetSession();
      dropDrafts();
      location.assign("/ui/");
    }, setError);
  };
  useEffect(signOut, []);
  return error === undefined ? <p class="waiting">Signing out…</p> : <Problem error={error} retry={signOut} />;
}
