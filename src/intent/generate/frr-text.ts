import { type FrrLine, frrChange, keyOf, opener, type PlacedFrrLine, readFrr } from "../../base/frr-config.ts";
import { addressText, type InterfaceAddress, interfaceAddress } from "../addresses/interface-address.ts";
import type { LabNode } from "../lab/lab.ts";
import { loopback } from "./assign-addresses.ts";
import { addTo } from "./multimap.ts";

/** Returns the addresses that a configuration of FRR gives to interfaces. */
export function writtenInFrr(config: string): ReadonlyMap<string, readonly InterfaceAddress[]> {
  const found = new Map<string, InterfaceAddress[]>();
  if (!/\bip(?:v6)? address\b/.test(config)) return found;
  for (const { sections, text } of readFrr(config).lines) {
    const name = /^interface (\S+)$/.exec(sections[0] ?? "")?.[1];
    const address = interfaceAddress(/^ip(?:v6)? address (\S+)/.exec(text)?.[1] ?? "");
    if (name !== undefined && address !== undefined) addTo(found, name, address);
  }
  return found;
}

/** Returns the sections of interfaces, the loopback first, with their addresses and further lines. */
export function interfacesText(
  addresses: ReadonlyMap<string, readonly InterfaceAddress[]>,
  more: ReadonlyMap<string, readonly string[]>,
): string {
  const names = [...new Set([...addresses.keys(), ...more.keys()])];
  const ordered = [...names.filter((name) => name === loopback), ...names.filter((name) => name !== loopback)];
  return ordered
    .map((name) => {
      const lines = (addresses.get(name) ?? []).map((address) => `${address.family === 4 ? "ip" : "ipv6"} address ${addressText(address)}`);
      return section(`interface ${name}`, [...lines, ...(more.get(name) ?? [])]);
    })
    .join("");
}

export function section(head: string, lines: readonly string[]): string {
  return `${head}\n${lines.map((line) => ` ${line}\n`).join("")}exit\n!\n`;
}

/** Lines that FRR must read before any other. */
const leading = /^(?:frr |hostname |service |log |!|#|\s*$)/;

/**
 * Returns the node with the text in front of its own configuration, so that FRR reads its own lines later, and they win. Without the reference to a file, whose text it is not
 * any more.
 */
export function withGenerated({ startupConfigFile: _file, ...node }: LabNode, text: string): LabNode {
  const { head, rest } = divided(node.startupConfig ?? "");
  return { ...node, startupConfig: `${head}${text}${rest}` };
}

/** Returns a node's own part of the changed configuration `now`, where `was` is the result of withGenerated(); undefined if another part is changed. */
export function withoutGenerated(own: string, was: string, now: string): string | undefined {
  const { head, rest } = divided(own);
  const text = was.slice(head.length, was.length - rest.length);
  const at = now.indexOf(text);
  const left = at < 0 ? undefined : now.slice(0, at) + now.slice(at + text.length);
  if (left === undefined) return undefined;
  const again = divided(left);
  return `${again.head}${text}${again.rest}` === now ? left : undefined;
}

/**
 * Returns a node's own configuration with the lines that `now` has and `was` does not, each in a section of its own, and without its own lines that are gone; undefined
 * if other lines of `was` are gone. `was` is the result of withGenerated().
 */
export function withAddedLines(own: string, was: string, now: string): string | undefined {
  const { removed, added } = frrChange(was, now);
  const kept = removed.length === 0 ? own : withoutLines(own, was, removed);
  if (kept === undefined || removed.length + added.length === 0) return undefined;
  let text = kept === "" || kept.endsWith("\n") ? kept : `${kept}\n`;
  let open: readonly string[] = [];
  const close = (until: number) => {
    for (let depth = open.length - 1; depth >= until; depth--) {
      text += `${" ".repeat(depth)}${open[depth]?.startsWith("address-family ") ? "exit-address-family" : "exit"}\n`;
    }
  };
  for (const { sections, text: line } of added) {
    let same = 0;
    while (same < sections.length && open[same] === sections[same]) same++;
    close(same);
    for (const [depth, head] of sections.entries()) if (depth >= same) text += `${" ".repeat(depth)}${head}\n`;
    text += `${" ".repeat(sections.length)}${line}\n`;
    open = opensSection(line, sections.length) ? [...sections, line] : sections;
  }
  close(0);
  return text;
}

/**
 * Returns a node's own configuration with the generated addresses of `was` that its own new addresses would replace: an interface with an own address gets none of a pool.
 * @param own the configuration before, without the generated part
 */
export function withReplacedAddresses(own: string, was: string, left: string): string {
  const [before, all, now] = [own, was, left].map(writtenInFrr) as [Written, Written, Written];
  const lost = new Map<string, InterfaceAddress[]>();
  for (const [name, addresses] of all) {
    const text = (one: InterfaceAddress) => addressText(one);
    const mine = new Set(before.get(name)?.map(text));
    const kept = new Set(now.get(name)?.map(text));
    for (const one of addresses) {
      const isReplaced = now.get(name)?.some(({ family }) => family === one.family) === true;
      if (isReplaced && !mine.has(text(one)) && !kept.has(text(one))) addTo(lost, name, one);
    }
  }
  const { head, rest } = divided(left);
  return `${head}${interfacesText(lost, new Map())}${rest}`;
}

type Written = ReadonlyMap<string, readonly InterfaceAddress[]>;

/** Returns the text without these lines; undefined if one of them is a section, or not only the node's own. */
function withoutLines(own: string, was: string, removed: readonly FrrLine[]): string | undefined {
  const [mine, all] = [own, was].map((text) => readFrr(text).lines) as [readonly PlacedFrrLine[], readonly PlacedFrrLine[]];
  const gone = new Set(removed.map(keyOf));
  const dropped = mine.filter((line) => gone.has(keyOf(line)));
  const isOnlyOwn = all.filter((line) => gone.has(keyOf(line))).length === dropped.length;
  if (!isOnlyOwn || removed.some(({ sections, text }) => opensSection(text, sections.length))) return undefined;
  const places = new Set(dropped.map(({ at }) => at));
  return own
    .split("\n")
    .filter((_, at) => !places.has(at))
    .join("\n");
}

function opensSection(line: string, depth: number): boolean {
  return depth === 0 ? opener.test(line) : line.startsWith("address-family ");
}

function divided(config: string): { readonly head: string; readonly rest: string } {
  const lines = config.split("\n");
  const first = lines.findIndex((line) => !leading.test(line));
  if (first < 0) return { head: config === "" || config.endsWith("\n") ? config : `${config}\n`, rest: "" };
  return {
    head: lines
      .slice(0, first)
      .map((line) => `${line}\n`)
      .join(""),
    rest: lines.slice(first).join("\n"),
  };
}

/**
 * Timers of the router alone, in ms. With FRR's defaults (5 s between two LSAs of a router, a second between two that it accepts) a lab of
 * three routers has its routes 20 s later. The hello timers stay FRR's, because all routers of a link need the same.
 */
export const quickOspf = ["timers throttle lsa all 50", "timers lsa min-arrival 0"];
