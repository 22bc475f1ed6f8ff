import { interfaceNaming } from "../../engine/interface-names.ts";

/** How nodes of a template get their interfaces. */
export interface InterfaceShape {
  /** Names of ethernet interfaces by index, as the engine reads them. */
  readonly ethFormat: string;
  /** Ethernet interfaces of a node that asks for none. */
  readonly count: number;
  readonly max: number;
  /** Whether a node can have any number of them. */
  readonly countable: boolean;
  /** Why not. */
  readonly why?: string;
}

/** One interface of a node. */
export interface EveInterface {
  /** The host's number of it. */
  readonly id: number;
  /** Its place among those of its kind, from 0. */
  readonly index: number;
  readonly name: string;
  readonly type: "ethernet" | "serial";
}

/** What decides the interfaces of a node, beside its template. */
export interface InterfaceCounts {
  readonly ethernet?: number;
  readonly serial?: number;
  readonly slots?: readonly { readonly id?: number; readonly module?: string }[];
}

const iolGroups = 16;

/** Of IOL: interfaces come in groups of four, counted together with the serial ones. */
export function iolId(index: number): number {
  return Math.floor(index / 4) + 16 * (index % 4);
}

/** The interfaces of a node as its template makes them, where the host has not been asked. */
export function interfacesOf(type: string, shape: InterfaceShape, counts: InterfaceCounts): readonly EveInterface[] {
  const naming = interfaceNaming(shape.ethFormat);
  if (type !== "iol") {
    const count = shape.countable ? (counts.ethernet ?? shape.count) : shape.count;
    return Array.from({ length: count }, (_, index) => ({ id: index, index, name: naming.name(index), type: "ethernet" as const }));
  }
  const ethernet = counts.ethernet ?? shape.count / 4;
  const serial = counts.serial ?? 0;
  return [
    ...Array.from({ length: ethernet * 4 }, (_, index) => ({
      id: iolId(index),
      index,
      name: naming.name(index),
      type: "ethernet" as const,
    })),
    ...Array.from({ length: serial * 4 }, (_, index) => {
      const slot = ethernet + Math.floor(index / 4);
      return { id: slot + 16 * (index % 4), index, name: `s${slot}/${index % 4}`, type: "serial" as const };
    }),
  ];
}

/** @param told the number in the template's form: of interfaces, of IOL of groups */
export function interfaceShape(template: string, type: string, told: number | undefined): InterfaceShape {
  const ethFormat = ethFormatOf(template, type);
  if (type === "vpcs") return { ethFormat, count: 1, max: 1, countable: false, why: "a VPCS has one interface" };
  if (type === "iol") {
    const why = "interfaces of IOL come in groups of four, as many as its links need";
    return { ethFormat, count: 4 * (told ?? 1), max: 4 * (iolGroups - 1), countable: false, why };
  }
  if (type === "dynamips") {
    const count = fixedCount(template);
    return { ethFormat, count, max: count, countable: false, why: "interfaces of Dynamips come with its slots" };
  }
  return { ethFormat, count: told ?? 1, max: 128, countable: true };
}

/** Whether this many interfaces of the kind can be had by asking for more groups of them. */
export function growsInGroups(type: string): boolean {
  return type === "iol";
}

function fixedCount(template: string): number {
  return template === "c7200" ? 1 : 2;
}

function ethFormatOf(template: string, type: string): string {
  if (type === "vpcs" || type === "docker") return "eth{0}";
  if (type === "iol") return "e{0}/{0-4}";
  if (template === "c3725") return "fa0/{0}";
  return "e{0}";
}
