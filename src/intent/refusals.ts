import type { Diagnostic } from "./diagnostic.ts";
import { type Location, locator } from "./locate.ts";

/** What a host cannot make of an intent, as a plan's `blocked` tells it. */
export interface Refusal {
  /** lab, node, network, link, text or config. */
  readonly kind: string;
  readonly key: string;
  readonly reason: { readonly code: string; readonly text: string };
}

const hints: Readonly<Record<string, string>> = {
  unknown_template: "labwright templates lists them",
  unknown_image: "labwright templates NAME lists a template's images; container images (labwright image add) are for template container",
  no_image: "labwright templates NAME lists a template's images",
  unknown_attribute: "labwright templates NAME lists a template's attributes, and what they may be",
  bad_value: "labwright templates NAME lists a template's attributes, and what they may be",
};

const sections: Readonly<Record<string, (key: string) => string>> = {
  network: (key) => `/networks/${key}`,
  link: () => "/links",
  lab: () => "",
  text: () => "/texts",
};

const fields: Readonly<Record<string, string>> = {
  unknown_template: "/template",
  no_image: "/template",
  unknown_image: "/image",
  bad_name: "/name",
  unknown_network_type: "/type",
};

/** What only a host knows to be wrong, at the places of the text that it is about, in the order of `refusals`. */
export function refusalDiagnostics(refusals: readonly Refusal[], yaml: string): readonly Diagnostic[] {
  const locate = locator(yaml);
  return refusals.map((refusal) => diagnosticOf(refusal, locate));
}

function diagnosticOf({ kind, key, reason }: Refusal, locate: (path: string) => Location): Diagnostic {
  const pointer = key.replaceAll("~", "~0").replaceAll("/", "~1");
  const path = (sections[kind]?.(pointer) ?? `/nodes/${pointer}`) + (fields[reason.code] ?? "");
  const hint = hints[reason.code];
  const place = { path, ...locate(path), ...(hint === undefined ? {} : { hint }) };
  return { severity: "error", code: reason.code, message: `${kind} ${key}: ${reason.text}`, ...place };
}
