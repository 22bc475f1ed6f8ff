import { formatSeparator, interfaceNaming } from "../../base/names/interface-names.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { nearest } from "../diagnostics/nearest.ts";
import { onceEach } from "../diagnostics/once-each.ts";
import { Problems } from "../diagnostics/problems.ts";
import { type KnownAttribute, wantedValue } from "../lab/known-value.ts";
import type { Lab, LabNode } from "../lab/lab.ts";
import { parseYaml, type Value } from "../parse/parse.ts";
import { fieldPlaces } from "./field-places.ts";

/** The facts of a template that a check without a host needs. */
export interface KnownTemplate {
  readonly id: string;
  /** Its other ids. */
  readonly also: readonly string[];
  /** Format of its interface names: "eth{0}" (base/names/interface-names.ts). */
  readonly format: string;
  readonly maxInterfaces: number;
  readonly attributes: readonly KnownAttribute[];
  /** It is a template of virtual machines. */
  readonly machine: boolean;
  /** It is a template of containers. */
  readonly isContainer: boolean;
  readonly startupConfig: boolean;
  /** The images that a node may name; empty: only a host has the list. */
  readonly images: readonly string[];
}

/** Template files, of which only those are parsed that are asked for. */
export interface KnownTemplates {
  /** Their ids, without the other ids of a template. */
  readonly ids: readonly string[];
  /** Finds a template by one of its ids. */
  find(id: string): KnownTemplate | undefined;
}

/**
 * Finds the ids of template files, and parses the parts of a file that checks and imports need when it is asked for. A file that extends the template of another one has what it
 * omits from there. Texts that are not templates are omitted.
 */
export function knownTemplates(texts: readonly string[]): KnownTemplates {
  const ids: string[] = [];
  const byId = new Map<string, string>();
  for (const text of texts) {
    const id = idPattern.exec(text)?.[1];
    if (id === undefined) continue;
    ids.push(id);
    for (const one of [id, ...otherIds(text)]) if (!byId.has(one) || one === id) byId.set(one, text);
  }
  const parsed = new Map<string, KnownTemplate | undefined>();
  const read = (text: string, mayExtend: boolean): KnownTemplate | undefined => {
    if (parsed.has(text)) return parsed.get(text);
    const root = parseYaml(text, new Problems(text))?.root;
    const extended = textOf(entryOf(root, "extends"));
    const baseText = extended === undefined || !mayExtend ? undefined : byId.get(extended);
    const base = baseText === undefined ? undefined : read(baseText, false);
    const found = extended !== undefined && base === undefined ? undefined : readKnownTemplate(root, base);
    parsed.set(text, found);
    return found;
  };
  return {
    ids,
    find: (id) => {
      const text = byId.get(id);
      return text === undefined ? undefined : read(text, true);
    },
  };
}

/** Parses all template files. */
export function readKnownTemplates(texts: readonly string[]): readonly KnownTemplate[] {
  const { ids, find } = knownTemplates(texts);
  return ids.flatMap((id) => find(id) ?? []);
}

const idPattern = /^id:[ \t]*["']?([a-z0-9][a-z0-9._-]*)/m;

/** Returns the other ids, of a list in brackets or of one line each. */
function otherIds(text: string): readonly string[] {
  const [, inline, block] = /^also:[ \t]*(?:\[([^\]\n]*)\]|\n((?:[ \t]+- [^\n]*\n)+))/m.exec(text) ?? [];
  return [...(inline ?? block ?? "").matchAll(/[a-z0-9][a-z0-9._-]*/g)].map(([id]) => id);
}

function readKnownTemplate(root: Value | undefined, base: KnownTemplate | undefined): KnownTemplate | undefined {
  const id = textOf(entryOf(root, "id"));
  const interfaces = entryOf(root, "interfaces");
  const [inherited, ...inheritedAliases] = base?.format.split(formatSeparator) ?? [];
  const own = textOf(entryOf(interfaces, "format")) ?? inherited;
  const given = itemsOf(interfaces, "aliases").flatMap((item) => textOf(item) ?? []);
  const aliases = given.length > 0 ? given : inheritedAliases;
  const format = own === undefined ? undefined : [own, ...aliases].join(formatSeparator);
  const maxInterfaces = Number(textOf(entryOf(interfaces, "max")) ?? base?.maxInterfaces);
  if (id === undefined || format === undefined || !Number.isInteger(maxInterfaces)) return undefined;
  const attributes = itemsOf(root, "attributes").flatMap((item) => readAttribute(item) ?? []);
  const inheritedAttributes = (base?.attributes ?? []).filter(({ name }) => !attributes.some((attribute) => attribute.name === name));
  // Virtual machines and containers run images of the user's own.
  const images = textOf(entryOf(root, "backend")) === "namespace" ? itemsOf(root, "images").flatMap((item) => textOf(item) ?? []) : [];
  const also = itemsOf(root, "also").flatMap((item) => textOf(item) ?? []);
  const startupConfig = textOf(entryOf(root, "startup-config"));
  return {
    id,
    also,
    format,
    maxInterfaces,
    attributes: [...inheritedAttributes, ...attributes],
    machine: base?.machine ?? textOf(entryOf(root, "backend")) === "vm",
    isContainer: base?.isContainer ?? textOf(entryOf(root, "backend")) === "container",
    startupConfig: startupConfig === undefined ? (base?.startupConfig ?? false) : startupConfig === "true",
    images: images.length > 0 ? images : (base?.images ?? []),
  };
}

function readAttribute(item: Value): KnownAttribute | undefined {
  const name = textOf(entryOf(item, "name"));
  if (name === undefined) return undefined;
  const usual = textOf(entryOf(item, "default"));
  return {
    name,
    type: textOf(entryOf(item, "type")) ?? "string",
    ...(usual !== undefined && { default: usual }),
    options: itemsOf(item, "options").flatMap((option) => textOf(entryOf(option, "value")) ?? []),
    words: itemsOf(item, "words").flatMap((word) => textOf(word) ?? []),
  };
}

interface Finding extends Pick<Diagnostic, "code" | "hint"> {
  readonly kind: "node" | "link";
  readonly key: string;
  /** The resource as a message names it. */
  readonly subject: string;
  readonly problem: string;
  readonly field?: string;
}

/**
 * Returns warnings for templates and values that Labwright's own templates do not have. They are not errors, because a host may have other templates,
 * also with the same names.
 */
export function templateWarnings(
  lab: Lab,
  { yaml, files }: { readonly yaml: string; readonly files: Readonly<Record<string, string>> },
  templates: KnownTemplates,
): readonly Diagnostic[] {
  const nodes = new Map(lab.nodes.map((node) => [node.key, node]));
  const findings: Finding[] = [];
  for (const node of lab.nodes) {
    const template = templates.find(node.template);
    findings.push(
      ...(template === undefined
        ? [unknownTemplate(node, templates.ids)]
        : [...unknownImage(node, template), ...wrongAttributes(node, template)]),
    );
  }
  for (const { key, endpoints } of lab.links) {
    for (const end of endpoints) {
      const template = "node" in end ? templates.find(nodes.get(end.node)?.template ?? "") : undefined;
      if (!("node" in end) || template === undefined || hasInterface(template, end.interface)) continue;
      const problem = `has no interface ${end.interface}; template ${template.id} has ${interfacesOf(template)}`;
      findings.push({ kind: "link", key, subject: `node ${end.node}`, problem, code: "unknown_interface" });
    }
  }
  findings.push(...sharedInterfaces(lab, (node) => templates.find(nodes.get(node)?.template ?? "")));
  const places = fieldPlaces(yaml, files, findings);
  const warnings = findings.map(({ code, subject, problem, hint }, i): Diagnostic => {
    const message = `${subject} ${problem}`;
    return { severity: "warning", code, message, ...places[i]!, ...(hint !== undefined && { hint }) };
  });
  return onceEach(warnings, (i) => ({ of: findings[i]!.subject, problem: findings[i]!.problem }));
}

function unknownTemplate({ key, template }: LabNode, ids: readonly string[]): Finding {
  const meant = nearest(template, [...ids].sort());
  const problem = `${template} is not one of Labwright's own templates (docs/templates.md); its host may have it, but only a service can check that`;
  const hint = meant === undefined ? "labwright validate --online asks the service" : `did you mean ${JSON.stringify(meant)}?`;
  return { kind: "node", key, subject: `node ${key}:`, problem, field: "template", code: "unknown_template", hint };
}

function unknownImage({ key, image }: LabNode, { id, images }: KnownTemplate): readonly Finding[] {
  if (image === undefined || image === "default" || images.length === 0 || images.includes(image)) return [];
  const problem = `template ${id} has no image ${image}; it has ${images.join(", ")}`;
  return [{ kind: "node", key, subject: `node ${key}:`, problem, field: "image", code: "unknown_image" }];
}

function wrongAttributes({ key, attributes }: LabNode, { id, attributes: known }: KnownTemplate): readonly Finding[] {
  const names = known.map(({ name }) => name);
  return Object.entries(attributes).flatMap(([name, value]): readonly Finding[] => {
    const finding = { kind: "node", key, subject: `node ${key}:`, field: `attributes.${name}` } as const;
    const attribute = known.find((one) => one.name === name);
    if (attribute !== undefined) {
      const wanted = wantedValue(value, attribute);
      return wanted === undefined ? [] : [{ ...finding, problem: `${name} is ${JSON.stringify(value)}, not ${wanted}`, code: "bad_value" }];
    }
    const meant = nearest(name, names);
    const problem = `template ${id} has no attribute ${name}; it has ${[...names].sort().join(", ") || "none"}`;
    const hint = meant === undefined ? undefined : `did you mean ${JSON.stringify(meant)}?`;
    return [{ ...finding, problem, code: "unknown_attribute", ...(hint !== undefined && { hint }) }];
  });
}

/** Finds links that use an interface of another link by another of its names. */
function sharedInterfaces({ links }: Lab, templateOf: (node: string) => KnownTemplate | undefined): readonly Finding[] {
  const first = new Map<string, string>();
  return links.flatMap(({ key, endpoints }) =>
    endpoints.flatMap((end): readonly Finding[] => {
      const format = "node" in end ? (templateOf(end.node)?.format ?? "") : "";
      if (!("node" in end) || !format.includes(formatSeparator)) return [];
      const index = interfaceNaming(format).index(end.interface);
      if (index === undefined) return [];
      const place = `${end.node} ${index}`;
      const other = first.get(place);
      if (other === undefined) first.set(place, end.interface);
      // The same name twice is an error of the intent already.
      if (other === undefined || other === end.interface) return [];
      const problem = `calls one interface ${other} and ${end.interface}, and an interface has one link`;
      return [{ kind: "link", key, subject: `node ${end.node}`, problem, code: "interface_in_use" }];
    }),
  );
}

function hasInterface({ format, maxInterfaces }: KnownTemplate, name: string): boolean {
  const index = interfaceNaming(format).index(name);
  return index !== undefined && index < maxInterfaces;
}

function interfacesOf({ format, maxInterfaces }: KnownTemplate): string {
  const naming = interfaceNaming(format);
  return `${naming.name(0)} to ${naming.name(maxInterfaces - 1)}`;
}

function itemsOf(value: Value | undefined, key: string): readonly Value[] {
  const list = entryOf(value, key);
  return list?.kind === "list" ? list.items : [];
}

function entryOf(value: Value | undefined, key: string): Value | undefined {
  return value?.kind === "map" ? value.entries.get(key)?.value : undefined;
}

function textOf(value: Value | undefined): string | undefined {
  return value?.kind === "scalar" ? value.text : undefined;
}
