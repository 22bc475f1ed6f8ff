import { contains, prefixOf } from "./addresses.ts";
import type { IosLine } from "./ios-blocks.ts";

/** The settings of a process of OSPF, with those for interfaces. */
export interface OspfProcess {
  readonly lines: readonly string[];
  readonly networks: readonly { readonly prefix: string; readonly area: string }[];
  readonly passive: ReadonlySet<string>;
  readonly active: ReadonlySet<string>;
  readonly allPassive: boolean;
}

const same =
  /^(no )?(router-id \S+|default-information originate( always)?( metric \d+)?|area \S+ (stub( no-summary)?|nssa( no-summary)?|authentication( message-digest)?|virtual-link \S+)|auto-cost reference-bandwidth \d+|log-adjacency-changes( detail)?|default-metric \d+|distance \d+)$/i;

/** Reads `router ospf`. Networks and passive interfaces become lines of interfaces. `leave` takes what is not understood. */
export function ospfProcess(block: IosLine, leave: (line: IosLine) => void): OspfProcess {
  const lines: string[] = [];
  const networks: { prefix: string; area: string }[] = [];
  const [passive, active] = [new Set<string>(), new Set<string>()];
  let allPassive = false;
  for (const line of block.children) {
    const { text } = line;
    const [, address, wildcard, area] = /^network (\S+?)(?: (\d\S*))? area (\S+)$/i.exec(text) ?? [];
    const prefix = address === undefined ? undefined : prefixOf(address, wildcard, true);
    const [, no, face] = /^(no )?passive-interface (.+)$/i.exec(text) ?? [];
    const [, protocol, options = ""] = /^redistribute (connected|static|bgp|rip|isis|kernel)\b(?: \d+)?(.*)$/i.exec(text) ?? [];
    const [, of, base, mask] = /^area (\S+) range (\S+)(?: (\d\S*))?$/i.exec(text) ?? [];
    const range = base === undefined ? undefined : prefixOf(base, mask);
    if (prefix !== undefined && area !== undefined) networks.push({ prefix, area });
    else if (face?.toLowerCase() === "default") allPassive = no === undefined;
    else if (face !== undefined) (no === undefined ? passive : active).add(face);
    else if (protocol !== undefined && /^( subnets| metric \d+| metric-type [12])*$/i.test(options))
      lines.push(`redistribute ${protocol.toLowerCase()}${options.replace(/ subnets/i, "")}`);
    else if (range !== undefined) lines.push(`area ${of} range ${range}`);
    else if (same.test(text)) lines.push(text);
    else leave(line);
  }
  return { lines, networks, passive, active, allPassive };
}

/** Returns the area of the first network that contains one of the addresses. */
export function areaOf({ networks }: OspfProcess, addresses: readonly string[]): string | undefined {
  return addresses.map((address) => networks.find(({ prefix }) => contains(prefix, address))?.area).find((area) => area !== undefined);
}
