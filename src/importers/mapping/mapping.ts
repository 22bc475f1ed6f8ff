import { matches } from "../../base/names/wildcard.ts";

/** The counterpart here of a type of node of another tool. */
export interface TypeRule {
  /** Types of the other tool: kinds, templates or definitions. `*` stands for any text. */
  readonly types: readonly string[];
  /** Only nodes with such an image. Absent: any. */
  readonly images?: readonly string[];
  /** The software, for people. */
  readonly vendor?: string;
  readonly role: Role;
  /** The template here. `network`: the node is a network of this type instead. */
  readonly template?: string;
  readonly network?: "bridge" | "nat";
  /** The image here; `{image}` is the one of the source. Absent: the node's own for containers and virtual machines, otherwise the template's default. */
  readonly image?: string;
  /** The file from which the image is made, for people. */
  readonly file?: string;
  /** The language of the configurations. */
  readonly config?: ConfigLanguage;
  /** Where a container reads its configuration. */
  readonly configPath?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
}

/** The task of a node, which a stand-in takes over. */
export type Role = "router" | "switch" | "host";

export const roles = ["router", "switch", "host"] as const;
export const configLanguages = ["frr", "ios", "shell", "pc", "cloud-init", "other"] as const;
export type ConfigLanguage = (typeof configLanguages)[number];

/** The rules of each tool. The first rule that matches counts. */
export type Mapping = Readonly<Record<string, readonly TypeRule[]>>;

/** Returns the rule for a type of a tool, and an image if the node has one. */
export function ruleFor(mapping: Mapping, tool: string, type: string, image: string | undefined): TypeRule | undefined {
  const rules = Object.hasOwn(mapping, tool) ? (mapping[tool] ?? []) : [];
  return rules.find(
    ({ types, images }) =>
      types.some((pattern) => matches(pattern, type)) &&
      (images === undefined || (image !== undefined && images.some((pattern) => matches(pattern, image)))),
  );
}
