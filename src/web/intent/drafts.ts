import type { IntentText } from "./intent-diff.tsx";

/** Text of a lab that was written and not applied, and what the service had when it was begun. */
export interface Draft {
  readonly mine: IntentText;
  readonly base: IntentText;
}

const prefix = "labwright-draft:";

/** Of this tab of the browser, until it is closed or signed out. */
export function readDraft(lab: string): Draft | undefined {
  const text = sessionStorage.getItem(prefix + lab);
  return text === null ? undefined : (JSON.parse(text) as Draft);
}

/** @param draft undefined: there is none any more */
export function keepDraft(lab: string, draft: Draft | undefined): void {
  if (draft === undefined) sessionStorage.removeItem(prefix + lab);
  else sessionStorage.setItem(prefix + lab, JSON.stringify(draft));
}

/** The labs that have one. */
export function draftedLabs(): readonly string[] {
  return Object.keys(sessionStorage)
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
    .sort();
}

export function dropDrafts(): void {
  for (const lab of draftedLabs()) keepDraft(lab, undefined);
}
