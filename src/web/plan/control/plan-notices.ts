import type { LabwrightError } from "../../../client/browser.ts";
import type { Notice } from "./plan-state.ts";

/** The notices after a change of the lab. */

export function refusedNotice(what: "Not saved" | "Not applied"): Notice {
  return { text: `${what}: the text was changed elsewhere meanwhile. Choose one of the texts first.`, isWarning: true };
}

interface AppliedResult {
  readonly status?: string;
  readonly applied?: number;
  readonly unsupported?: readonly unknown[];
}

export function appliedText({ status, applied = 0, unsupported = [] }: AppliedResult): string {
  if (status === "unchanged") return "Nothing to do.";
  const steps = `Applied, ${stepText(applied)}`;
  return unsupported.length > 0 ? `${steps}, without the unsupported parts.` : `${steps}. The host matches the text.`;
}

function stepText(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

/** Returns the notice for a refusal after which the lab is planned again; undefined for any other error. */
export function refusalText({ code, data }: LabwrightError): string | undefined {
  if (code === "plan_stale") return "The lab changed after this plan was computed. Nothing was applied. This is the new plan.";
  if (code !== "cancelled") return undefined;
  const [done, left] = [data?.["applied"], data?.["remaining"]].map((list) => (Array.isArray(list) ? list.length : 0));
  return `Cancelled after ${stepText(done ?? 0)}; ${stepText(left ?? 0)} were not applied. This is the remaining plan.`;
}
