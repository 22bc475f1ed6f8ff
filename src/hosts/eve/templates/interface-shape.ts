import { interfaceNaming } from "../../../base/names/interface-names.ts";
import { ethFormatNames, plannedInterfaces } from "./interface-names.ts";

/** The rules for the interfaces of a template's nodes. */
export interface InterfaceShape {
  /** Names of ethernet interfaces by index, in the engine's format. */
  readonly ethFormat: string;
  /** Default number of ethernet interfaces of a node. */
  readonly count: number;
  readonly max: number;
  /** Whether a node can have any number of them. */
  readonly countable: boolean;
  /** Why not. */
  readonly why?: string;
  /** Number of interfaces in one unit of the host's count. Default 1. */
  readonly group?: number;
}

/** The count in the host's units: for IOL the number of groups of four. */
export function hostCount(interfaces: number, { group = 1 }: InterfaceShape): number {
  return Math.ceil(interfaces / group);
}

/** One interface of a node. */
export interface EveInterface {
  /** The host's number of it. */
  readonly id: number;
  /** Its index among the interfaces of its kind, from 0. */
  readonly index: number;
  readonly name: string;
  readonly type: "ethernet" | "serial";
}

/** The fields that determine the interfaces of a node, together with its template. */
export interface InterfaceCounts {
  readonly template?: string;
  readonly type?: string;
  /** Number of ethernet interfaces. For iol: number of groups of four. */
  readonly ethernet?: number;
  readonly serial?: number;
  readonly slots?: readonly { readonly id?: number; readonly module?: string }[];
}

/**
 * Returns the expected interfaces of a node by its template, if the host's list was not read. Sorted: ethernet by index, then serial.
 * guess new-templates: one that was not among the 167 of Community 5.0.1 is taken to have e0, e1 …, until a node of it is there to be asked.
 */
export function interfacesOf(node: InterfaceCounts): readonly EveInterface[] {
  const { template = "", type = "qemu" } = node;
  const plan = { ...node, template, type };
  const planned =
    plannedInterfaces(plan) ?? ethFormatNames(node.ethernet ?? 1).map((name, id) => ({ id, name, type: "ethernet" as const }));
  return indexed(type, planned);
}

/** Gives each interface its index among those of its kind. For IOL, x/y has the number x + 16 y, and is sorted by x first. */
export function indexed(type: string, interfaces: readonly Omit<EveInterface, "index">[]): readonly EveInterface[] {
  const order = (id: number) => (type === "iol" ? (id % 16) * 16 + Math.floor(id / 16) : id);
  return (["ethernet", "serial"] as const).flatMap((kind) =>
    interfaces
      .filter((one) => one.type === kind)
      .sort((a, b) => order(a.id) - order(b.id))
      .map((one, index) => ({ id: one.id, index, name: one.name, type: kind })),
  );
}

const iolGroups = 16;
const iolGroup = 4;
const seen = 24;

/** @param count the number in the template's form: of interfaces, of IOL of groups */
export function interfaceShape(template: string, type: string, count: number | undefined): InterfaceShape {
  const counted = type === "qemu" || type === "docker";
  const names = interfacesOf({ template, type, ...(counted && { ethernet: seen }) }).flatMap((one) =>
    one.type === "ethernet" ? one.name : [],
  );
  const { format, all } = formatOf(names);
  if (type === "vpcs") return { ethFormat: format, count: 1, max: 1, countable: false, why: "a VPCS has one interface" };
  if (type === "iol") {
    return { ethFormat: "e{0}/{0-4}", count: iolGroup * (count ?? 1), max: iolGroup * (iolGroups - 1), countable: true, group: iolGroup };
  }
  if (!counted)
    return {
      ethFormat: format,
      count: names.length,
      max: names.length,
      countable: false,
      why: "interfaces of Dynamips come with its slots",
    };
  return { ethFormat: format, count: count ?? 1, max: all ? 128 : seen - 1, countable: true };
}

/** Returns the names as one format: fixed names, then a pattern for the rest. `all`: the pattern is known to continue. */
function formatOf(names: readonly string[]): { readonly format: string; readonly all: boolean } {
  for (let fixed = 0; fixed < names.length; fixed++) {
    for (const pattern of patternsOf(names.slice(fixed))) {
      const format = [...names.slice(0, fixed), pattern].join(",");
      const naming = interfaceNaming(format);
      if (names.every((name, index) => naming.name(index) === name)) return { format, all: names.length - fixed > 2 };
    }
  }
  // No pattern: the number at the last name is never used.
  return { format: names.join(","), all: false };
}

/** Returns the possible patterns of the names, from the first name. */
function patternsOf(names: readonly string[]): readonly string[] {
  const [first = ""] = names;
  const one = [...first.matchAll(/\d+/g)].map(
    (found) => `${first.slice(0, found.index)}{${found[0]}}${first.slice(found.index + found[0].length)}`,
  );
  const [, before, slot, between, port] = /^(.*?)(\d+)(\D+)(\d+)$/.exec(first) ?? [];
  const back = names.findIndex((name, index) => index > 0 && between !== undefined && !name.startsWith(`${before}${slot}${between}`));
  return back > 0 ? [...one.reverse(), `${before}{${slot}}${between}{${port}-${back}}`] : one.reverse();
}
