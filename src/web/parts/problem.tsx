import { LabwrightError } from "../../client/browser.ts";

/** What happened, and what to do about it. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
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
  if (!(error instanceof LabwrightError)) return { title: "This page made a mistake.", text: String(error) };
  const { code, message, data } = error;
  const next = nextSteps[code ?? ""] ?? "";
  const shown = data?.["text"];
  return { title: message, text: next, ...(typeof shown === "string" && { details: shown }) };
}

/** By code: what a person can do. */
const nextSteps: Readonly<Record<string, string>> = {
  host_unreachable: "See whether the service runs, and try again.",
  lab_busy: "Another change of this lab is under way. Wait for it to end, or cancel it.",
  lab_locked: "The lab is locked on its host. Unlock it, then try again.",
  plan_stale: "The lab or the text changed since this plan was made. Make a new plan, look at it, and apply that.",
  operation_not_allowed: "Your role or the lab's mode does not allow this. Ask the lab's owner for a grant.",
  lab_not_found: "It was destroyed, renamed, or belongs to somebody who has not shared it with you.",
  rate_limited: "Too many tries in a short time. Wait a little.",
  invalid_intent: "The text below says where, and mostly how to mend it.",
};
