import type { NodeField } from "./node-fields.ts";
import type { HostRules, TemplateRules } from "./plan.ts";

export type ResourceKind = "lab" | "node" | "network" | "link";

/** Why the host has no home for a field of this kind of thing; undefined where it has one. */
export function unsupportedOnHost(rules: HostRules, kind: ResourceKind, field: string): string | undefined {
  return rules.unsupportedFields.includes(field) || rules.unsupportedFields.includes(`${kind}.${field}`)
    ? "this host has no place for it"
    : undefined;
}

/** Why a node of this template cannot have the field; undefined where it can. */
export function unsupportedOnNode(rules: HostRules, template: TemplateRules | undefined, field: NodeField | "start"): string | undefined {
  if (template !== undefined) {
    if (field === "startupConfig" && !template.startupConfig) {
      return template.why?.[field] ?? `template ${template.id} takes no startup-config`;
    }
    if (template.fields[field] === "unsupported") return template.why?.[field] ?? `template ${template.id} does not support it`;
  }
  return unsupportedOnHost(rules, "node", field);
}

/** Why the host cannot do this of a link; `word` is quality, suspended or mtu, or quality.delay and so on. */
export function unsupportedOnLink(rules: HostRules, word: string): string | undefined {
  if (word.startsWith("quality")) {
    if (rules.features.linkQuality !== true) return "this host has no link quality";
    return unsupportedOnHost(rules, "link", "quality") ?? unsupportedOnHost(rules, "link", word);
  }
  if (word === "suspended" && rules.features.linkSuspend !== true) return "this host cannot suspend links";
  return unsupportedOnHost(rules, "link", word);
}
