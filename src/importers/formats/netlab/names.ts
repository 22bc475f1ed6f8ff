import type { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { deep } from "./deep.ts";

/** A node as the topology names it. */
export interface Named {
  readonly name: string;
  readonly part: Part | undefined;
  /** Names it, if the name is a value and not a key. */
  readonly namePart: Part | undefined;
  /** The components that it is in, and the nodes that stand for them: their values are inherited. */
  readonly around: readonly Part[];
}

/** The links of a component, whose nodes have a prefix. */
export interface PartLinks {
  readonly prefix: string;
  readonly links: Part;
}

const maxNodes = 10_000;
const maxDepth = 8;

/** Returns all nodes: of the map or list, of components in the place of the nodes that include them, and of the fabric of its plugin. */
export function namesOf(root: Part): { readonly named: readonly Named[]; readonly inside: readonly PartLinks[] } {
  const named: Named[] = [];
  const inside: PartLinks[] = [];
  const add = (list: readonly Named[], prefix: string, depth: number): void => {
    for (const each of list) {
      if (named.length >= maxNodes || depth > maxDepth)
        refuse(depth > maxDepth ? "components include each other" : `more than ${maxNodes} nodes`);
      const name = `${prefix}${each.name}`;
      const include = each.part?.get("include");
      const component = include?.text === undefined ? undefined : deep(root, "components", include.text);
      if (component === undefined || each.part === undefined) {
        named.push({ ...each, name });
        continue;
      }
      include?.mapped(`the nodes ${name}_…`);
      const around = [each.part, component, ...each.around];
      add(
        listed(component.get("nodes")).map((inner) => ({ ...inner, around })),
        `${name}_`,
        depth + 1,
      );
      const links = component.get("links");
      if (links !== undefined) inside.push({ prefix: `${name}_`, links });
    }
  };
  const own = new Map(listed(root.get("nodes")).map((node) => [node.name, node]));
  const fabric = fabricOf(root);
  const ofFabric = new Set(fabric.map(({ name }) => name));
  // As in netlab, the nodes of the fabric are the first ones; the topology may have more values for them.
  add(
    fabric.map((node) => {
      const more = own.get(node.name);
      return more === undefined ? node : { ...more, around: node.part === undefined ? [] : [node.part] };
    }),
    "",
    0,
  );
  add(
    listed(root.get("nodes")).filter(({ name }) => !ofFabric.has(name)),
    "",
    0,
  );
  return { named, inside };
}

/** Reads the names of a map, or of a list of names or of maps with a name. */
function listed(nodes: Part | undefined): readonly Named[] {
  const around: readonly Part[] = [];
  const named = (nodes?.entries ?? []).map(
    ([name, part]): Named => ({ name, part, namePart: part.node.kind === "scalar" ? part : undefined, around }),
  );
  for (const item of nodes?.items ?? []) {
    const name = item.get("name") ?? item;
    if (name.text !== undefined) named.push({ name: name.text, part: item.node.kind === "map" ? item : undefined, namePart: name, around });
    // - r1: {device: eos}
    else for (const [key, part] of item.entries) named.push({ name: key, part, namePart: undefined, around });
  }
  return named;
}

/** The sides of a fabric in netlab's order, with the names that its plugin gives them. */
export const fabricSides = { leaf: "L{count}", spine: "S{count}" } as const;
type Side = keyof typeof fabricSides;
const maxFabric = 256;

/** Returns the names of one side of the fabric that the plugin fabric makes. */
export function fabricNames(root: Part, side: Side): readonly string[] {
  const count = deep(root, "fabric", `${side}s`);
  const format = deep(root, "fabric", side, "name");
  const number = Math.min(maxFabric, Math.max(0, Math.floor(count?.number ?? 0)));
  count?.mapped(`${number} nodes`);
  format?.mapped("the names of the nodes");
  return Array.from({ length: number }, (_, index) => (format?.text ?? fabricSides[side]).replaceAll("{count}", String(index + 1)));
}

/** Returns the fabric, or one of its values if they are written as "fabric.spines". */
export function fabricPart(root: Part): Part | undefined {
  return root.get("fabric") ?? deep(root, "fabric", "spines") ?? deep(root, "fabric", "leafs");
}

/** Returns the groups that the plugin fabric makes of the sides of the fabric. */
export function fabricGroups(root: Part): readonly { readonly group: string; readonly part: Part; readonly names: readonly string[] }[] {
  const fabric = fabricPart(root);
  if (fabric === undefined) return [];
  return (Object.keys(fabricSides) as Side[]).map((side) => {
    const group = deep(root, "fabric", side, "group");
    group?.mapped("the name of the group");
    return { group: group?.text ?? `${side}s`, part: deep(root, "fabric", side) ?? fabric, names: fabricNames(root, side) };
  });
}

/** Returns a value of the side of the fabric that a node is in, and the number of the node on this side. */
export function fabricValue(
  root: Part,
  name: string,
  ...keys: readonly string[]
): { readonly part: Part; readonly count: number } | undefined {
  if (fabricPart(root) === undefined) return undefined;
  for (const side of Object.keys(fabricSides) as Side[]) {
    const part = deep(root, "fabric", side, ...keys);
    const count = part === undefined ? -1 : fabricNames(root, side).indexOf(name);
    if (part !== undefined && count !== -1) return { part, count: count + 1 };
  }
  return undefined;
}

function fabricOf(root: Part): readonly Named[] {
  return (Object.keys(fabricSides) as Side[]).flatMap((side) => {
    const part = deep(root, "fabric", side);
    return fabricNames(root, side).map((name) => ({
      name,
      part: part?.node.kind === "map" ? part : undefined,
      namePart: undefined,
      around: [],
    }));
  });
}
