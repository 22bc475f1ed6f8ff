import type { LabLink } from "../../intent/lab/lab.ts";
import type { NodeField } from "./node-fields.ts";
import type { Change, HostRules, TemplateRules } from "./plan.ts";

export type ResourceKind = "lab" | "node" | "network" | "link";

/** A field that is left out because the host cannot store it. */
export interface UnsupportedField {
  readonly kind: ResourceKind;
  readonly key: string;
  /** With the intent's words, dotted: startup-config, quality.a.delay. */
  readonly field: string;
  readonly why: string;
}

/** Returns "<key>.<field>: why". */
export function unsupportedText({ key, field, why }: UnsupportedField): string {
  return `${key}.${field}: ${why}`;
}

/** Returns why the host cannot store a field of this kind of resource, or undefined if it can. */
export function unsupportedOnHost(rules: HostRules, kind: ResourceKind, field: string): string | undefined {
  const found = [field, `${kind}.${field}`].find((one) => rules.unsupportedFields.includes(one));
  return found === undefined ? undefined : (rules.why?.[found] ?? "this host has no place for it");
}

/** Returns why a node of this template cannot have the field, or undefined if it can. */
export function unsupportedOnNode(rules: HostRules, template: TemplateRules | undefined, field: NodeField | "start"): string | undefined {
  if (template !== undefined) {
    if (field === "startupConfig" && !template.startupConfig) {
      return template.why?.[field] ?? `template ${template.id} takes no startup-config`;
    }
    if (template.fields[field] === "unsupported") return template.why?.[field] ?? `template ${template.id} does not support it`;
  }
  return unsupportedOnHost(rules, "node", field);
}

/** Returns why the host does not support a field of links. `word` is quality, suspended or mtu, or quality.delay and so on. */
export function unsupportedOnLink(rules: HostRules, word: string): string | undefined {
  if (word.startsWith("quality")) {
    if (rules.features.linkQuality !== true) return "this host has no link quality";
    return unsupportedOnHost(rules, "link", "quality") ?? unsupportedOnHost(rules, "link", word);
  }
  if (word === "suspended" && rules.features.linkSuspend !== true) return "this host cannot suspend links";
  return unsupportedOnHost(rules, "link", word);
}

/**
 * Returns why the host cannot store a value of this link's quality, or undefined if it can.
 * @param serial whether the link is between serial interfaces
 */
export function unsupportedQuality(rules: HostRules, { endpoints: [a, b] }: LabLink, change: Change, serial: boolean): string | undefined {
  const [word, side] = change.field.split(".");
  if (rules.plainQuality !== true || word !== "quality" || typeof change.after !== "number" || change.after === 0) return undefined;
  if (serial) return "this host has no quality for serial links";
  if ("network" in (side === "a" ? a : b)) return "this host has link quality at nodes only, not where a network is";
  if ("node" in a && "node" in b && a.node === b.node) return "this host has no quality for a link from a node to itself";
  return Number.isInteger(change.after) ? undefined : "this host keeps link quality in whole numbers";
}
