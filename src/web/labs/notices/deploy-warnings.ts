import type { ChangeWarning } from "../../../contract/schemas/project.ts";
import { isFields, storedJson } from "../../service/stored-json.ts";

/** The beginning of the keys in session storage: the warnings last until the tab is closed or the user signs out. */
const prefix = "labwright-deploy-warnings:";

/** Keeps the warnings of a deploy for the page of the lab, until the user closes them. */
export function keepWarnings(lab: string, warnings: readonly ChangeWarning[] = []): void {
  if (warnings.length === 0) sessionStorage.removeItem(prefix + lab);
  else sessionStorage.setItem(prefix + lab, JSON.stringify(warnings));
}

export function keptWarnings(lab: string): readonly ChangeWarning[] {
  return storedJson(prefix + lab, isWarnings) ?? [];
}

function isWarnings(value: unknown): value is readonly ChangeWarning[] {
  return Array.isArray(value) && value.every((one) => isFields(one) && typeof one["message"] === "string");
}
