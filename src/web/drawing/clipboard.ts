import type { CopiedParts } from "./lab-edits.ts";

const storageKey = "labwright-copied";

/** Keeps copied parts for all labs of this tab. The session storage ends with the tab: configurations may contain secrets. */
export function storeCopied(copied: CopiedParts): void {
  sessionStorage.setItem(storageKey, JSON.stringify(copied));
}

export function readCopied(): CopiedParts | undefined {
  const text = sessionStorage.getItem(storageKey);
  return text === null ? undefined : (JSON.parse(text) as CopiedParts);
}
