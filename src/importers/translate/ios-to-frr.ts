import { networkOf, prefixOf } from "./addresses.ts";
import { bgpLines } from "./bgp.ts";
import { interfaceFinder } from "./interfaces.ts";
import { type IosLine, iosBlocks } from "./ios-blocks.ts";
import { areaOf, type OspfProcess, ospfProcess } from "./ospf.ts";

export interface Translation {
  /** A configuration of FRR. */
  readonly text: string;
  /** The commands that are not in it, with their lines. */
  readonly left: readonly { readonly line: number; readonly text: string }[];
}

/** Commands without a meaning for forwarding and routing, which are left out without a word. */
const silent =
  /^(version|service|no service|boot|end|exit|enable|username|line|no ip (http|domain|cef)|no aaa|aaa|ip (cef|forward-protocol|http|domain|ssh|scp|name-server|tcp|routing)|ipv6 unicast-routing|no ipv6 cef|ipv6 cef|control-plane|mmi|no mmi|multilink|redundancy|platform|license|clock|ntp|logging|no logging|snmp-server|transceiver|spanning-tree|transport|management|daemon|hardware|feature|cdp|no cdp|lldp|crypto|alias|archive|subscriber|diagnostic|memory|login|vtp|memory-size|terminal|no feature|nv overlay|username|role|rmon|copp|switchname)\b/i;
const silentInInterface =
  /^(no )?(duplex|speed|media-type|negotiation|mop|cdp|lldp|keepalive|load-interval|no switchport|switchport$|ip redirects|ip unreachables|ip proxy-arp|ip route-cache|ipv6 enable|shutdown$|ip address$|mtu|bandwidth|delay|arp)/i;
const ospfOption =
  /^ip ospf ((cost|priority|hello-interval|dead-interval|retransmit-interval|transmit-delay) \d+|network (broadcast|non-broadcast|point-to-point|point-to-multipoint)|authentication( message-digest| null)?|authentication-key .+|message-digest-key \d+ md5 .+|mtu-ignore|bfd)$/i;

interface Face {
  readonly name: string;
  readonly addresses: string[];
  readonly lines: string[];
  area: string | undefined;
}

/**
 * Translates interfaces, static routes, OSPF and BGP of a configuration in the language of IOS, EOS or NX-OS. Everything else is in `left`. @param names interfaces of the
 * source and their names here
 */
export function iosToFrr(text: string, names: ReadonlyMap<string, string>): Translation {
  const left: { line: number; text: string }[] = [];
  const leave = ({ line, text: command }: IosLine) => left.push({ line, text: command });
  const faceOf = interfaceFinder(names);
  const faces = new Map<string, Face>();
  const [head, tail]: [string[], string[]] = [[], []];
  let ospf: OspfProcess | undefined;
  for (const block of iosBlocks(text)) {
    const { text: command } = block;
    const [, hostname] = /^(?:hostname|switchname) (\S+)$/i.exec(command) ?? [];
    const route = routeLine(command, faceOf);
    if (hostname !== undefined) head.push(`hostname ${hostname}`);
    else if (/^interface /i.test(command)) readInterface(block, faceOf, faces, leave);
    else if (/^router ospf\b/i.test(command) && ospf === undefined && !/ vrf /i.test(command)) ospf = ospfProcess(block, leave);
    else if (/^router bgp \d+/i.test(command)) tail.push(...bgpLines(block, faceOf, leave));
    else if (route !== undefined) head.push(route);
    else if (!silent.test(command)) for (const line of [block, ...block.children]) leave(line);
  }
  const lines = [...head, ...[...faces.values()].flatMap((face) => interfaceLines(face, ospf, faceOf)), ...ospfLines(ospf), ...tail];
  return { text: `${lines.join("\n")}\n`, left };
}

/** Returns the static route in FRR's notation; undefined: the line is none, or one that is not understood. */
function routeLine(command: string, faceOf: (name: string) => string | undefined): string | undefined {
  const [, family = "", first = "", ...rest] = /^(ip|ipv6) route (\S+) (.+)$/i.exec(command)?.slice(0, 3) ?? [];
  const words = [...rest, /^(?:ip|ipv6) route \S+ (.+)$/i.exec(command)?.[1] ?? ""].join(" ").trim().split(" ");
  if (first === "") return undefined;
  const isV6 = family.toLowerCase() === "ipv6";
  const hasMask = !isV6 && !first.includes("/");
  const prefix = isV6 ? (first.includes("/") ? first : undefined) : prefixOf(first, words[0]);
  const hops = hasMask ? words.slice(1) : words;
  if (prefix === undefined || hops.length === 0) return undefined;
  const target: string[] = [];
  let [distance, isBad] = ["", false];
  for (const word of hops) {
    if (/^(name|tag|permanent|track)$/i.test(word)) break;
    if (/^null\s?0$/i.test(word)) target.push("Null0");
    else if (/^\d+\.\d+\.\d+\.\d+$/.test(word) || (isV6 && word.includes(":"))) target.unshift(word);
    else if (/^\d{1,3}$/.test(word) && target.length > 0) distance = ` ${word}`;
    else {
      const face = faceOf(word);
      if (face === undefined) isBad = true;
      else target.push(face);
    }
  }
  if (isBad || target.length === 0) return undefined;
  return `${family.toLowerCase()} route ${isV6 ? prefix : networkOf(prefix)} ${target.join(" ")}${distance}`;
}

function readInterface(
  block: IosLine,
  faceOf: (name: string) => string | undefined,
  faces: Map<string, Face>,
  leave: (line: IosLine) => void,
): void {
  const name = faceOf(block.text.replace(/^interface /i, ""));
  if (name === undefined) {
    // An interface without settings and without a link is not a loss.
    const settings = block.children.filter(({ text }) => !silentInInterface.test(text));
    if (settings.length > 0) for (const line of [block, ...settings]) leave(line);
    return;
  }
  const face = faces.get(name) ?? { name, addresses: [], lines: [], area: undefined };
  faces.set(name, face);
  for (const line of block.children) {
    const { text } = line;
    const [, address, mask] = /^ip(?:v4)? address (\d\S*)(?: (\d\S*))?(?: secondary)?$/i.exec(text) ?? [];
    const prefix = address === undefined ? undefined : prefixOf(address, mask);
    const [, area] = /^ip(?: router)? ospf (?:\S+ )?area (\S+)$/i.exec(text) ?? [];
    if (prefix !== undefined) {
      face.addresses.push(prefix);
      face.lines.push(`ip address ${prefix}`);
    } else if (area !== undefined) face.area = area;
    else if (/^ipv6 address [0-9a-f:]+\/\d+$/i.test(text) || /^description ./i.test(text) || ospfOption.test(text)) face.lines.push(text);
    else if (/^shutdown$/i.test(text)) face.lines.push("shutdown");
    else if (!silentInInterface.test(text)) leave(line);
  }
}

function interfaceLines(
  { name, addresses, lines, area }: Face,
  ospf: OspfProcess | undefined,
  faceOf: (name: string) => string | undefined,
): readonly string[] {
  const found = ospf === undefined ? undefined : (area ?? areaOf(ospf, addresses));
  const isNamed = (list: ReadonlySet<string>) => [...list].some((each) => faceOf(each) === name);
  const isPassive = ospf !== undefined && found !== undefined && (isNamed(ospf.passive) || (ospf.allPassive && !isNamed(ospf.active)));
  const all = [...lines, ...(found === undefined ? [] : [`ip ospf area ${found}`]), ...(isPassive ? ["ip ospf passive"] : [])];
  return all.length === 0 ? [] : [`interface ${name}`, ...all.map((line) => ` ${line}`), "exit"];
}

function ospfLines(ospf: OspfProcess | undefined): readonly string[] {
  return ospf === undefined ? [] : ["router ospf", ...ospf.lines.map((line) => ` ${line}`), "exit"];
}
