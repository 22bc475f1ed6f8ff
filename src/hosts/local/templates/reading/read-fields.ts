import type { FieldRule } from "../../../../engine/model/plan.ts";
import { type LocalTemplate, type TemplateField, templateFields } from "../template.ts";
import type { Reader } from "./reader.ts";

/** Reads `fields`: how a change of each field of a node is applied, and why a field is unsupported. */
export function fieldRules(reader: Reader, base: LocalTemplate | undefined): Pick<LocalTemplate, "fields" | "reasons"> {
  const map = base === undefined ? reader.map(templateFields) : reader.map([], templateFields);
  const fields: Partial<Record<TemplateField, FieldRule>> = { ...base?.fields };
  const reasons: Partial<Record<TemplateField, string>> = { ...base?.reasons };
  for (const field of templateFields) {
    const rule = map.get(field);
    if (base !== undefined && rule.optional() === undefined) continue;
    delete reasons[field];
    if (typeof rule.value === "object" && rule.value !== null) {
      fields[field] = "unsupported";
      reasons[field] = rule.map(["unsupported"]).get("unsupported").text() ?? "";
    } else {
      fields[field] = rule.oneOf(["live", "restart", "recreate"], "live, restart, recreate or {unsupported: why}") ?? "recreate";
    }
  }
  return { fields, reasons };
}
