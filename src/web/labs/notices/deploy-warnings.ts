import type { ChangeWarning } from "../../../contract/schemas/project.ts";

/** Warnings of the deploys of this page that nobody has closed, by lab. */
const kept = new Map<string, readonly ChangeWarning[]>();

/** Keeps the warnings of a deploy for the page of the lab. */
export function keepWarnings(lab: string, warnings: readonly ChangeWarning[] = []): void {
  if (warnings.length === 0) kept.delete(lab);
  else kept.set(lab, warnings);
}

export function keptWarnings(lab: string): readonly ChangeWarning[] {
  return kept.get(lab) ?? [];
}
