import { isFields, storedJson } from "../service/stored-json.ts";
import type { IntentText } from "./intent-text.ts";

/** Text of a lab that is not applied, and the service's text that it started from. */
export interface Draft {
  readonly mine: IntentText;
  readonly base: IntentText;
}

const prefix = "labwright-draft:";

/** Reads a lab's draft from session storage: drafts last until the tab is closed or the user signs out. */
export function readDraft(lab: string): Draft | undefined {
  return storedJson(prefix + lab, isDraft);
}

function isDraft(value: unknown): value is Draft {
  return (
    isFields(value) &&
    [value["mine"], value["base"]].every((text) => isFields(text) && typeof text["yaml"] === "string" && isFields(text["files"]))
  );
}

/** @param draft undefined removes the draft */
export function saveDraft(lab: string, draft: Draft | undefined): void {
  if (draft === undefined) sessionStorage.removeItem(prefix + lab);
  else sessionStorage.setItem(prefix + lab, JSON.stringify(draft));
}

/** Returns the labs that have a draft. */
export function draftedLabs(): readonly string[] {
  return Object.keys(sessionStorage)
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
    .sort();
}

const userKey = "labwright-user";

/** Removes what another user left in this tab: one user must not see the drafts of another. A user whose session ended finds the drafts again. */
export function dropDraftsOfOthers(user: string): void {
  const before = sessionStorage.getItem(userKey);
  if (before !== null && before !== user) dropDrafts();
  sessionStorage.setItem(userKey, user);
}

/** Removes what belongs to the user in session storage: drafts, copied parts, and warnings of deploys. */
export function dropDrafts(): void {
  const owned = [prefix, userKey, "labwright-copied", "labwright-deploy-warnings:"];
  for (const key of Object.keys(sessionStorage)) if (owned.some((one) => key.startsWith(one))) sessionStorage.removeItem(key);
}
