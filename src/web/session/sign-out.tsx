import { useEffect, useState } from "preact/hooks";
import { call } from "../service/api.ts";
import { forgetSession } from "./session-expiry.ts";
import { dropDrafts } from "../intent/drafts.ts";
import { Problem } from "../parts/problem.tsx";

/** Signs out. Shown in place of all else, so that nothing of the page still asks for something, and is refused it. */
export function Leave() {
  const [error, setError] = useState<unknown>();
  const leave = () => {
    setError(undefined);
    call("logout", {}).then(() => {
      forgetSession();
      dropDrafts();
      location.assign("/ui/");
    }, setError);
  };
  useEffect(leave, []);
  return error === undefined ? <p class="waiting">Signing out…</p> : <Problem error={error} retry={leave} />;
}
