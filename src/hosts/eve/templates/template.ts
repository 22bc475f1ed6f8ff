import type { FieldRule, ModuleRule, TemplateRules, ValueRule } from "../../../engine/model/plan.ts";
import { defined } from "../../../engine/shared/defined.ts";
import type { HostTemplate, TemplateAttribute } from "../../host.ts";
import { entriesOf, listOf, numberOf, recordOf, textOf } from "../api/answer.ts";
import { modules } from "./interface-names.ts";
import { type InterfaceShape, interfaceShape } from "./interface-shape.ts";
import { takesStartupConfig } from "./startup-configs.ts";

/** A template of the host, read from EVE-NG's form for it. */
export interface EveTemplate {
  readonly id: string;
  /** qemu, iol, dynamips, vpcs, docker. */
  readonly type: string;
  readonly description: string;
  readonly provisioned: boolean;
  /** Absent: the template takes no image. */
  readonly images?: readonly string[];
  readonly image?: string;
  readonly icon?: string;
  readonly cpu?: number;
  readonly ram?: number;
  readonly attributes: readonly TemplateAttribute[];
  readonly console: string;
  readonly startupConfig: boolean;
  readonly shape: InterfaceShape;
}

/** Fields of the form that the intent has under another name, or that the host generates. */
const notAttributes = new Set(["image", "name", "icon", "uuid", "cpu", "ram", "ethernet", "config", "left", "top", "count"]);

/** Reads the template's form, as EVE-NG returns it from GET /api/list/templates/<id>. Throws host_error for anything else. */
export function readTemplate(
  id: string,
  listed: { readonly description: string; readonly provisioned: boolean },
  data: unknown,
): EveTemplate {
  const { type: kind, options, startup_config: flag } = recordOf(data);
  const type = textOf(kind) ?? "qemu";
  const form = Object.fromEntries(listOf(options, `read template ${id}`));
  const value = (name: string) => recordOf(form[name]).value;
  const images = "image" in form ? entriesOf(recordOf(form.image).list).map(([name]) => name) : undefined;
  const image = textOf(value("image"));
  const known = image !== undefined && images?.includes(image) ? image : images?.at(-1);
  return defined<EveTemplate>({
    id,
    type,
    description: listed.description,
    provisioned: listed.provisioned && (images === undefined || images.length > 0),
    images,
    image: known,
    icon: textOf(value("icon")),
    cpu: numberOf(value("cpu")),
    ram: numberOf(value("ram")),
    attributes: Object.entries(form).flatMap(([name, field]) => (notAttributes.has(name) ? [] : attribute(name, recordOf(field)))),
    console: textOf(value("console")) ?? "telnet",
    startupConfig: "config" in form && (typeof flag === "boolean" ? flag : takesStartupConfig(id, type)),
    shape: interfaceShape(id, type, numberOf(value("ethernet"))),
  });
}

function attribute(name: string, field: Readonly<Record<string, unknown>>): readonly TemplateAttribute[] {
  const label = textOf(field.name) ?? name;
  const base = { name, label, required: false };
  const value = field.value;
  if (field.type === "checkbox") return [{ ...base, type: "boolean", default: numberOf(value) === 1 || value === true }];
  if (field.type === "list") {
    const options = entriesOf(field.list).map(([key, shown]) => ({ value: key, label: textOf(shown) ?? key }));
    // "" means the template's own value, which the form shows in brackets.
    const own = /^tpl\((.*)\)$/.exec(options.find((option) => option.value === "")?.label ?? "")?.[1];
    const given = textOf(value) || own;
    const offered = options.filter((option) => option.value !== "");
    return [{ ...base, type: "enum", options: offered, ...(given !== undefined && given !== "" && { default: given }) }];
  }
  if (typeof value === "number" || field.type === "number") {
    const number = numberOf(value);
    return [{ ...base, type: "integer", min: 0, ...(number !== undefined && { default: number }) }];
  }
  // A generated address is not a default: the node has another address than the form.
  const text = textOf(value) ?? "";
  return [{ ...base, type: "string", ...(text !== "" && { default: text }) }];
}

export function hostTemplate(template: EveTemplate): HostTemplate {
  const { images = [], icon } = template;
  return {
    id: template.id,
    description: template.description,
    type: template.type,
    provisioned: template.provisioned,
    ...(icon !== undefined && { icon }),
    configSupported: template.startupConfig,
    images: images.map((name) => ({ name, default: name === template.image })),
    attributes: template.attributes,
    ethFormat: template.shape.ethFormat,
    consoleType: consoleType(template.console),
    // For a VPCS the host reads the file that this command writes. For a router the host types its commands itself.
    ...(template.type === "vpcs" && { saveCommand: "save" }),
  };
}

export function consoleType(word: string): HostTemplate["consoleType"] {
  return word === "telnet" ? "telnet" : word === "vnc" || word === "rdp" || word === "rdp-tls" ? "vnc" : word === "" ? "telnet" : "none";
}

/** Returns the modules that the template's form offers for its slots. */
function moduleRule({ attributes }: EveTemplate): ModuleRule | undefined {
  const slots = attributes.filter(({ name }) => isSlot(name));
  const offered = new Set(slots.flatMap(({ options = [] }) => options.map(({ value }) => value)));
  if (offered.size === 0) return undefined;
  return { attribute: "slot", kinds: Object.fromEntries(Object.entries(modules).filter(([name]) => offered.has(name))) };
}

/** Returns whether the attribute is the module in a numbered slot. */
export function isSlot(attribute: string): boolean {
  return /^slot\d+$/.test(attribute);
}

export function templateRules(template: EveTemplate, hotPlug: boolean): TemplateRules {
  const { id, type, shape } = template;
  const unless = (has: boolean, rule: FieldRule): FieldRule => (has ? rule : "unsupported");
  const defaults = template.attributes.flatMap((one) => (one.default === undefined ? [] : [[one.name, one.default] as const]));
  return defined<TemplateRules>({
    id,
    type,
    image: template.image,
    images: template.images,
    icon: template.icon,
    cpu: template.cpu,
    ram: template.ram,
    ethernet: shape.count,
    attributes: Object.fromEntries(defaults),
    values: Object.fromEntries(template.attributes.map((one) => [`attributes.${one.name}`, valueRule(one)])),
    startupConfig: template.startupConfig,
    configTaken: template.startupConfig ? configTaken : undefined,
    fields: {
      // The node's disk is a layer over its image.
      image: unless(template.images !== undefined, "recreate"),
      cpu: unless(template.cpu !== undefined, "restart"),
      ram: unless(template.ram !== undefined, "restart"),
      attributes: "restart",
      ethernet: unless(shape.countable, "restart"),
    },
    why: defined({
      ethernet: shape.countable ? undefined : shape.why,
      startupConfig: template.startupConfig ? undefined : `EVE-NG has no script that gives ${id} a startup config`,
    }),
    links: hotPlug ? "live" : "restart",
    ethFormat: shape.ethFormat,
    maxInterfaces: shape.max,
    ethernetGroup: shape.group,
    serial: type === "iol" ? { prefix: "s", ports: 4, attribute: "serial" } : undefined,
    modules: moduleRule(template),
  });
}

/** The host copies the text to a node's directory only at the first start after a wipe. */
export const configTaken = "a node that has run gets it at its first start after a wipe";

/** The template's own default is valid, even if the form does not list it. */
function valueRule({ type, options, min, max, default: own }: TemplateAttribute): ValueRule {
  const listed = options?.map(({ value }) => value);
  return defined<ValueRule>({
    type,
    options: listed === undefined || own === undefined || listed.includes(String(own)) ? listed : [...listed, String(own)],
    min,
    max,
  });
}
