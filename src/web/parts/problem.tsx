import { useMemo } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import { useConnection } from "../service/connection.ts";

/** Shows an error and what to do about it. An error of the connection disappears when the connection is back. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const { restoredAt = 0 } = useConnection();
  const since = useMemo(() => Date.now(), [error]);
  if (error instanceof LabwrightError && error.code === "host_unreachable" && error.status === 0 && restoredAt > since) return null;
  const { title, text, details } = wordsOf(error);
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      {text !== "" && <p>{text}</p>}
      {details !== undefined && <pre>{details}</pre>}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function wordsOf(error: unknown): { readonly title: string; readonly text: string; readonly details?: string } {
  if (!(error instanceof LabwrightError)) return { title: "This page failed.", text: String(error) };
  const { code, message, data } = error;
  const next = nextSteps[code ?? ""] ?? "";
  const shown = data?.["text"];
  if (code === "invalid_intent" && Array.isArray(data?.["diagnostics"]))
    return { title: countText(data["diagnostics"].length), text: next };
  // The place in the request is for programs.
  return { title: message.replace(/^\/[\w/-]+: (?=\S)/, ""), text: next, ...(typeof shown === "string" && { details: shown }) };
}

/** The message of a text with errors is the list that the page shows, too. */
function countText(count: number): string {
  return `The text has ${count === 1 ? "an error" : `${count} errors`}.`;
}

/** Advice to the user, by error code. */
const nextSteps: Readonly<Record<string, string>> = {
  host_unreachable: "Check that the service is running, then try again.",
  lab_busy: "Another change of this lab is running. Wait for its end, or cancel it.",
  lab_locked: "The lab is locked on its host. Unlock it, then try again.",
  plan_stale: "The lab or the text changed after this plan was computed. Plan again, check the new plan, then apply it.",
  operation_not_allowed: "Your role or the lab's mode does not allow this. Ask the lab's owner for a grant.",
  lab_not_found: "It was destroyed, renamed, or belongs to a user who has not shared it with you.",
  rate_limited: "Too many requests in a short time. Wait a moment, then try again.",
  invalid_intent: "The messages below show each place, and usually the fix.",
};
