import { Part } from "../tree/part.ts";
import { refuse } from "../tree/refuse.ts";
import { yamlTree } from "../tree/yaml-tree.ts";
import { configLanguages, type Mapping, roles, type TypeRule } from "./mapping.ts";

/**
 * Reads tables of node types: for each tool a list of rules. Earlier texts win: their rules are tried first, so that users can extend what ships.
 * Throws invalid_source with the line of an unknown key or wrong value.
 */
export function readMapping(tables: readonly { readonly file: string; readonly text: string }[]): Mapping {
  const mapping: Record<string, readonly TypeRule[]> = {};
  for (const { file, text } of tables) {
    const root = Part.of(yamlTree(text, file), file);
    if (root.node.kind !== "map") refuse("a table of node types is a map: TOOL, and the list of its rules", { file, line: root.line });
    for (const [tool, list] of root.entries) {
      if (list.node.kind !== "list") refuse(`${tool} has a list of rules`, { file, line: list.line });
      mapping[tool] = [...(Object.hasOwn(mapping, tool) ? (mapping[tool] ?? []) : []), ...list.items.map(readRule)];
    }
  }
  return mapping;
}

const keys = ["types", "images", "vendor", "role", "template", "network", "image", "file", "config", "config-path", "attributes"];

function readRule(rule: Part): TypeRule {
  const { file } = rule.source;
  const unknown = rule.entries.find(([key]) => !keys.includes(key));
  if (unknown !== undefined)
    refuse(`unknown key ${JSON.stringify(unknown[0])}; known: ${keys.join(", ")}`, { file, line: unknown[1].line });
  const words = (key: string) => rule.get(key)?.all.map(({ text = "" }) => text);
  const optional = (key: string) => rule.get(key)?.text;
  const one = <W extends string>(key: string, allowed: readonly W[]): W | undefined => {
    const text = optional(key);
    const found = allowed.find((word) => word === text);
    if (text !== undefined && found === undefined)
      refuse(`${key} is one of ${allowed.join(", ")}`, { file, line: rule.get(key)?.line ?? 1 });
    return found;
  };
  const types = words("types");
  if (types === undefined || types.length === 0) return refuse("a rule has types", { file, line: rule.line });
  const [template, network] = [optional("template"), one("network", ["bridge", "nat"])];
  if ((template === undefined) === (network === undefined)) refuse("a rule has either a template or a network", { file, line: rule.line });
  const attributes = (rule.get("attributes")?.entries ?? []).flatMap(([key, { node }]) =>
    node.kind === "scalar" && node.value !== null ? [[key, node.value] as const] : [],
  );
  const fields = {
    images: words("images"),
    vendor: optional("vendor"),
    template,
    network,
    image: optional("image"),
    file: optional("file"),
    config: one("config", configLanguages),
    configPath: optional("config-path"),
  };
  return {
    types,
    role: one("role", roles) ?? "host",
    ...(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<TypeRule>),
    ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }),
  };
}
