import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { onceEach } from "../diagnostics/once-each.ts";
import type { FieldName } from "./field-places.ts";
import type { ValuePlace } from "./value-place.ts";

/** A part of an intent that a host refuses, from a plan's `blocked`. */
export interface Refusal {
  /** lab, node, network, link, text or config. */
  readonly kind: string;
  readonly key: string;
  readonly reason: { readonly code: string; readonly text: string; readonly field?: string };
}

/** A part of an intent that a host cannot store and leaves out. */
export interface LeftOut extends Required<FieldName> {
  readonly why: string;
}

/** How a host gets new images, by the kind of host. */
const newImages: Readonly<Record<string, string>> = {
  embedded: ", and labwright image add adds some",
  eve: "; new ones belong below /opt/unetlab/addons on the host",
};

const hints: Readonly<Record<string, string>> = {
  unknown_template: "labwright templates lists them",
  unknown_image: "labwright templates NAME lists the images of a template",
  no_image: "labwright templates --provisioned lists the templates with an image",
  unknown_attribute: "labwright templates NAME lists a template's attributes, and what they may be",
  bad_value: "labwright templates NAME lists a template's attributes, and what they may be",
};

/** Returns the resource and field of a refusal, as fieldPlaces() expects them. */
export function refusedField({ kind, key, reason: { field } }: Refusal): FieldName {
  return { kind, key, ...(field !== undefined && { field }) };
}

/**
 * Returns diagnostics for refusals of the host, in the order of `refusals`. A refusal that several nodes inherit from one place is reported once.
 * @param places the place of refusedField() for each refusal
 * @param hostKind embedded, memory or eve
 */
export function refusalDiagnostics(refusals: readonly Refusal[], places: readonly ValuePlace[], hostKind: string): readonly Diagnostic[] {
  const errors = refusals.map(({ kind, key, reason: { code, text } }, i): Diagnostic => {
    const hint = code === "unknown_image" || code === "no_image" ? `${hints[code]}${newImages[hostKind] ?? ""}` : hints[code];
    return { severity: "error", code, message: `${kind} ${key}: ${text}`, ...places[i]!, ...(hint !== undefined && { hint }) };
  });
  return onceEach(errors, (i) => ({ of: refusals[i]!.key, problem: refusals[i]!.reason.text }));
}

/** Returns a warning for each field that the host leaves out. @param places the place of each field */
export function leftOutDiagnostics(fields: readonly LeftOut[], places: readonly ValuePlace[]): readonly Diagnostic[] {
  const warnings = fields.map(({ key, field, why }, i): Diagnostic => {
    const message = `${key}.${field} is not supported and would be left out: ${why}`;
    return { severity: "warning", code: "unsupported_field", message, ...places[i]! };
  });
  return onceEach(warnings, (i) => ({ of: fields[i]!.key, problem: fields[i]!.why }));
}
