import { qemuTemplates } from "./interface-name-table.ts";

export interface PlannedInterface {
  /** EVE-NG's index of the interface, which networks and links refer to. */
  readonly id: number;
  readonly name: string;
  readonly type: "ethernet" | "serial";
}

export interface InterfacePlan {
  readonly template: string;
  /** qemu, iol, dynamips, vpcs or docker. Absent: the known type of the template. */
  readonly type?: string;
  /** Interfaces; of iol groups of four. Absent: the template's default. */
  readonly ethernet?: number;
  /** Groups of four, of iol. */
  readonly serial?: number;
  /** Modules of dynamips. */
  readonly slots?: readonly { readonly id?: number; readonly module?: string }[];
  /** From the template's own file. They override the table. */
  readonly ethFormat?: string;
  readonly ethName?: readonly string[];
}

/**
 * Returns the expected interfaces of a node in EVE-NG's order, `undefined` for an unknown template. Only for plans before the node exists: afterwards
 * the host's own list counts. Names after the tenth interface continue the pattern of the first ten.
 */
export function plannedInterfaces(plan: InterfacePlan): readonly PlannedInterface[] | undefined {
  switch (plan.type ?? typeOf(plan.template)) {
    case "qemu":
      return qemu(plan)?.map(ethernet);
    case "iol":
      return iol(plan.ethernet ?? 1, plan.serial ?? 0);
    case "dynamips":
      return dynamips(plan.template, plan.slots ?? []);
    case "vpcs":
      return [ethernet("eth0", 0)];
    case "docker":
      return Array.from({ length: plan.ethernet ?? 1 }, (_, index) => ethernet(`eth${index}`, index));
    default:
      return undefined;
  }
}

function typeOf(template: string): string | undefined {
  if (Object.hasOwn(qemuTemplates, template)) return "qemu";
  if (Object.hasOwn(builtIn, template)) return "dynamips";
  return ["iol", "vpcs", "docker"].includes(template) ? template : undefined;
}

function ethernet(name: string, id: number): PlannedInterface {
  return { id, name, type: "ethernet" };
}

function qemu({ template, ethernet: wanted, ethFormat, ethName }: InterfacePlan): readonly string[] | undefined {
  const known = Object.hasOwn(qemuTemplates, template) ? qemuTemplates[template] : undefined;
  if (ethFormat !== undefined || ethName !== undefined) return ethFormatNames(wanted ?? known?.[0] ?? 4, ethFormat, ethName);
  if (known === undefined) return undefined;
  const first = known[2].split("|");
  const pattern = first.pop() ?? "";
  return Array.from({ length: wanted ?? known[0] }, (_, index) => first[index] ?? inPattern(pattern, index - first.length));
}

function inPattern(pattern: string, index: number): string {
  const range = /\{(\d+)-(\d+)\}/.exec(pattern);
  const every = range === null ? undefined : Number(range[2]);
  return pattern.replaceAll(/\{([^}]+)\}/g, (_, start: string) => {
    if (/[A-Z]/.test(start)) return String.fromCharCode(start.charCodeAt(0) + index);
    if (every === undefined) return String(Number(start) + index);
    return start.includes("-") ? String(Number(range?.[1]) + (index % every)) : String(Number(start) + Math.floor(index / every));
  });
}

/**
 * Returns the names that EVE-NG makes from `eth_format` and `eth_name` of a template's file. One brace, "Gi{1}" or "Ge0/0/{0-5}", counts from its
 * first number. Two braces, "Gi{0}/{0-4}", are a slot and its ports, four per slot. Like EVE-NG, it drops text after the last brace, and gives
 * meaningless names for two braces without a range.
 */
export function ethFormatNames(count: number, format?: string, names: readonly string[] = []): readonly string[] {
  const { prefix, slot, separator, first, ports } = format === undefined ? plain : readFormat(format);
  let named = 0;
  return Array.from({ length: count }, (_, index) => {
    const name = names[index];
    if (name !== undefined && name !== "") {
      named++;
      return name;
    }
    const at = index - named;
    const inSlot = slot === undefined ? "" : `${Math.floor(at / (ports ?? noPorts)) + slot}${separator}`;
    return `${prefix}${inSlot}${ports === undefined ? at + first : (at % ports) + first}`;
  });
}

interface EthFormat {
  readonly prefix: string;
  readonly slot?: number;
  readonly separator?: string;
  readonly first: number;
  /** In each slot. */
  readonly ports?: number;
}

/** The text that EVE-NG writes instead of a missing number. */
const noPorts = 9999;
const plain: EthFormat = { prefix: "e", first: 0 };

function readFormat(format: string): EthFormat {
  const two = /(.*)\{(.*)\}(.*)\{(.*)\}/.exec(format);
  if (two !== null) {
    const [, prefix = "", slot = "", separator, ports = ""] = two;
    const range = /(\d+)-(\d+)/.exec(ports);
    const start = Number.parseInt(slot, 10) || 0;
    if (range === null) return { prefix, slot: start, separator: String(noPorts), first: 0 };
    return { prefix, slot: start, separator: separator ?? "", first: Number(range[1]), ports: Number(range[2]) };
  }
  const one = /(.*)\{(.*)\}/.exec(format);
  return one === null ? plain : { prefix: one[1] ?? "", first: Number(/\d+/.exec(one[2] ?? "")?.[0] ?? 0) };
}

/** Groups of four: interface x/y has the id x + 16 y; serial groups come after those of ethernet. */
function iol(ethernets: number, serials: number): readonly PlannedInterface[] {
  const group = (x: number, letter: string, type: "ethernet" | "serial") =>
    [0, 1, 2, 3].map((y): PlannedInterface => ({ id: x + 16 * y, name: `${letter}${x}/${y}`, type }));
  const of = (type: "ethernet" | "serial", letter: string, count: number, start: number) =>
    Array.from({ length: count }, (_, x) => group(start + x, letter, type))
      .flat()
      .sort((one, other) => one.id - other.id);
  return [...of("ethernet", "e", ethernets, 0), ...of("serial", "s", serials, ethernets)];
}

const builtIn: Readonly<Record<string, readonly string[]>> = { c1710: ["e0", "fa0"], c3725: ["fa0/0", "fa0/1"], c7200: ["fa0/0"] };

/** Modules of Dynamips: interface p in slot s has the id 16 s + p. */
export const modules: Readonly<Record<string, { readonly prefix: string; readonly ports: number }>> = {
  "NM-1FE-TX": { prefix: "fa", ports: 1 },
  "NM-16ESW": { prefix: "fa", ports: 16 },
  "PA-FE-TX": { prefix: "fa", ports: 1 },
  "PA-4E": { prefix: "e", ports: 4 },
  "PA-8E": { prefix: "e", ports: 8 },
};

function dynamips(template: string, slots: InterfacePlan["slots"] & object): readonly PlannedInterface[] | undefined {
  if (!Object.hasOwn(builtIn, template)) return undefined;
  const inSlots = slots.flatMap(({ id = 0, module = "" }) => {
    const { prefix, ports } = (Object.hasOwn(modules, module) ? modules[module] : undefined) ?? { prefix: "", ports: 0 };
    return Array.from({ length: ports }, (_, port) => ethernet(`${prefix}${id}/${port}`, 16 * id + port));
  });
  return [...(builtIn[template] ?? []).map(ethernet), ...inSlots];
}
