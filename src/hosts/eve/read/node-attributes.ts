import type { LabNode, Scalar } from "../../../intent/lab/lab.ts";
import type { TemplateAttribute } from "../../host.ts";
import { numberOf, textOf } from "../api/answer.ts";
import type { UnlNode } from "../lab-file/unl.ts";
import { nodeAttributes } from "../lab-file/unl-attributes.ts";
import type { EveTemplate } from "../templates/template.ts";

/** Returns the intent's attributes for a node of the lab file, by the fields of the template's form. A missing value is the template's default. */
export function readAttributes(node: UnlNode, template: EveTemplate | undefined): Readonly<Record<string, Scalar>> {
  const found: Record<string, Scalar> = {};
  for (const attribute of template?.attributes ?? []) {
    const value = scalar(attribute, rawAttribute(node, attribute.name));
    if (value === undefined || (attribute.name === "firstmac" && isMadeUp(node, value))) continue;
    found[attribute.name] = value;
  }
  return found;
}

/** Returns the attributes in the file's format. A value that equals the template's default is omitted only if the default is empty. */
export function writeAttributes(node: UnlNode, wanted: LabNode["attributes"], template: EveTemplate): UnlNode {
  const slots = new Map((node.slots ?? []).map((slot) => [slot.id, slot]));
  const known: Record<string, unknown> = {};
  let others = node.otherAttributes ?? [];
  for (const attribute of template.attributes) {
    const { name } = attribute;
    const value = wanted[name];
    const text = value === undefined ? undefined : typeof value === "boolean" ? (value ? "1" : "0") : String(value);
    const slot = /^slot(\d+)$/.exec(name)?.[1];
    if (slot !== undefined) {
      if (text === undefined || text === "") slots.delete(Number(slot));
      else slots.set(Number(slot), { ...slots.get(Number(slot)), id: Number(slot), module: text });
    } else if (Object.hasOwn(nodeAttributes, name)) {
      const kind = nodeAttributes[name as keyof typeof nodeAttributes];
      if (text === undefined && name === "firstmac") continue;
      known[name] = text === undefined || text === "" ? undefined : kind === "integer" ? Number(text) : text;
      others = others.filter(([other]) => other !== name);
    } else {
      others = [...others.filter(([other]) => other !== name), ...(text === undefined ? [] : [[name, text] as const])];
    }
  }
  const merged = Object.fromEntries(Object.entries({ ...node, ...known }).filter(([, value]) => value !== undefined));
  const { slots: _slots, otherAttributes: _others, ...rest } = merged as unknown as UnlNode;
  return {
    ...rest,
    ...(slots.size > 0 && { slots: [...slots.values()].sort((a, b) => (a.id ?? 0) - (b.id ?? 0)) }),
    ...(others.length > 0 && { otherAttributes: others }),
  };
}

export function rawAttribute(node: UnlNode, name: string): string | undefined {
  const slot = /^slot(\d+)$/.exec(name)?.[1];
  if (slot !== undefined) return node.slots?.find(({ id }) => id === Number(slot))?.module;
  const known = textOf((node as unknown as Readonly<Record<string, unknown>>)[name]);
  return known ?? node.otherAttributes?.find(([other]) => other === name)?.[1];
}

function scalar({ type }: TemplateAttribute, raw: string | undefined): Scalar | undefined {
  if (raw === undefined || raw === "") return undefined;
  if (type === "boolean") return raw === "1" || raw === "true";
  return type === "integer" || type === "number" ? numberOf(raw) : raw;
}

/** Returns whether the host generated the address: 00:50:<pod>:<id / 512>:<id>:00, also without the first byte. The pod may be that of another user. */
export function isMadeUp({ id }: UnlNode, value: Scalar): boolean {
  const hex = id.toString(16).padStart(2, "0");
  return new RegExp(`^(00:)?50:[0-9a-f]{2}:[0-9a-f]{2}:${hex}:00$`, "i").test(String(value));
}
