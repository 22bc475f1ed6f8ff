import { formatSeparator, interfaceAlias, interfaceNaming } from "../../base/names/interface-names.ts";
import type { Quality } from "../../intent/lab/lab.ts";
import { authorShape } from "../../intent/write/author.ts";
import { type Data, writeItem, writePair } from "../../intent/write/write.ts";
import { ethNames, type SourceInterface } from "../mapping/interface-names.ts";
import type { MachineTemplate } from "../mapping/machine-template.ts";
import { iosToFrr } from "../translate/ios-to-frr.ts";
import type { Draft, DraftEnd, DraftLink, DraftNetwork } from "./draft.ts";
import { DraftNode } from "./draft-node.ts";

export interface WrittenLab {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Returns the text of a lab, in the order of the source. Chooses the names of interfaces, and marks the ends of links: interfaces that have another name here have their
 * original one in a label.
 */
export function writeDraft(draft: Draft, heading: readonly string[], options: { readonly translateConfigs: boolean }): WrittenLab {
  const accepted = acceptedLinks(draft);
  const switches = switchesBetweenNetworks(accepted);
  const names = interfacesOf(draft, accepted);
  const links = linksOf(accepted, names, switches);
  for (const { node, interface: face, part } of draft.unlinked) {
    const here = names.get(node)?.get(face) ?? face;
    part.mapped(`an interface without a link${here === face ? "" : `, ${here} here`}`);
  }
  writeConfigs(draft, names, options.translateConfigs);
  const { name, description, management, nodes, networks, texts, shapes } = draft;
  const lines = [...heading.map(comment), writePair("name", name, 0)];
  if (description !== undefined) lines.push(writePair("description", description, 0));
  if (management !== undefined) lines.push(writePair("management", management, 0));
  const bridges = networks.filter((network) => !switches.has(network));
  lines.push(
    ...section("nodes", [
      ...nodes.flatMap((node) => [...node.comments.map((line) => `  ${comment(line)}`), writeNode(node.key, node.fields)]),
      ...[...switches].flatMap((network) => [
        `  ${comment("a network that is linked with another network")}`,
        writeNode(network.key, { template: "switch", ...shown(network) }),
      ]),
    ]),
    ...section(
      "networks",
      bridges.flatMap((network) => [
        ...network.comments.map((line) => `  ${comment(line)}`),
        writeNode(network.key, { ...wayOf(network), ...shown(network) }),
      ]),
    ),
    ...section(
      "links",
      links.map((link) => writeItem(link, 2)),
    ),
    ...section(
      "texts",
      texts.map(({ text, x, y }) => writeItem({ text, x, y }, 2)),
    ),
    ...section(
      "shapes",
      shapes.map((shape) => writeItem(authorShape(shape), 2)),
    ),
  );
  return { yaml: `${lines.join("\n")}\n`, files: Object.fromEntries([...draft.files].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** Translates configurations in the language of IOS, if the user wants it. The original is a file in any case. */
function writeConfigs(draft: Draft, names: Names, isWanted: boolean): void {
  for (const { node, text, part, message } of draft.iosConfigs) {
    const { text: translated, left } = isWanted ? iosToFrr(text, names.get(node) ?? new Map()) : { text: "", left: [] };
    if (translated.trim() === "") {
      part.mapped(message);
      continue;
    }
    const comments = left.slice(0, 500).map(({ line, text: command }) => `! not translated, line ${line}: ${command.slice(0, 200)}`);
    const path = draft.file(
      `configs/${node.key}.frr.conf`,
      ["! Translated from the configuration of another vendor.", ...comments, translated].join("\n"),
    );
    node.set("startup-config", path);
    node.comments.push("its configuration is translated");
    const rest =
      left.length === 0 ? "" : `; ${left.length} lines are not translated, such as line ${left[0]?.line}: ${left[0]?.text.slice(0, 80)}`;
    part.mapped(`translated for FRR into ${path}${rest}. ${message}`);
  }
}

function section(key: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`\n${key}:`, ...lines];
}

function comment(text: string): string {
  return `# ${text.replace(/[^\P{C}]+/gu, " ")}`.trimEnd();
}

function shown({ key, name, position }: DraftNetwork): { readonly [key: string]: Data } {
  return { ...(name !== key && { name }), ...(position !== undefined && { position: { x: position.x, y: position.y } }) };
}

function wayOf({ type, vxlan }: DraftNetwork): { readonly [key: string]: Data } {
  if (vxlan === undefined) return { type };
  const { remote, vni, port } = vxlan;
  return { vxlan: { remote, vni, ...(port !== undefined && { port }) } };
}

function writeNode(key: string, fields: { readonly [key: string]: Data | undefined }): string {
  return writePair(key, fields, 2, { style: Object.keys(fields).length <= 2 ? "auto" : "block" });
}

/** Returns the links that a lab can have, and drops the others: each interface has one link, under all of its names. */
function acceptedLinks({ links }: Draft): readonly DraftLink[] {
  const used = new Map<DraftNode, Map<string, DraftLink>>();
  const refused: { readonly link: DraftLink; readonly problem: string }[] = [];
  const accepted = links.filter((link) => {
    const problem = problemOf(link, used);
    if (problem !== undefined) refused.push({ link, problem });
    else
      for (const { at, interface: name = "" } of link.ends)
        if (at instanceof DraftNode) used.set(at, (used.get(at) ?? new Map<string, DraftLink>()).set(interfaceOf(at, name), link));
    return problem === undefined;
  });
  // Several links may come from one part, such as the interfaces of a segment.
  const parts = new Set(accepted.map(({ part }) => part.node));
  for (const { link, problem } of refused) {
    if (!parts.has(link.part.node)) link.part.refused(problem);
    for (const part of link.ends.flatMap((end) => end.parts ?? [])) part?.dropped(problem);
  }
  return accepted;
}

/** Returns the same text for all names of one interface. */
function interfaceOf({ kind, machine, maxInterfaces }: DraftNode, name: string): string {
  const format = (kind ?? machine)?.format;
  if (format === undefined) return name;
  const naming = interfaceNaming(format);
  const spelled = naming.index(name) === undefined && machine !== undefined ? interfaceAlias(format, name, maxInterfaces) : name;
  const index = naming.index(spelled ?? name);
  return index === undefined ? name : `${index} by number`;
}

function problemOf({ ends: [a, b] }: DraftLink, used: ReadonlyMap<DraftNode, ReadonlyMap<string, DraftLink>>): string | undefined {
  if (a.at === b.at && (!(a.at instanceof DraftNode) || interfaceOf(a.at, a.interface ?? "") === interfaceOf(a.at, b.interface ?? "")))
    return "its ends are the same";
  if (!(a.at instanceof DraftNode || b.at instanceof DraftNode) && a.at.type !== "bridge" && b.at.type !== "bridge")
    return "a link joins no two networks that lead out of the lab";
  for (const { at, interface: name = "" } of [a, b]) {
    const other = at instanceof DraftNode ? used.get(at)?.get(interfaceOf(at, name)) : undefined;
    if (other === undefined || !(at instanceof DraftNode)) continue;
    return `the link in line ${other.part.line} uses the interface ${at.key}:${name.slice(0, 80)} already`;
  }
  return undefined;
}

/** A link joins no two networks: one of them, a bridge, becomes a switch. */
function switchesBetweenNetworks(links: readonly DraftLink[]): ReadonlySet<DraftNetwork> {
  const switches = new Set<DraftNetwork>();
  for (const { ends } of links) {
    const [a, b] = ends.map(({ at }) => at);
    if (a === undefined || b === undefined || a === b || a instanceof DraftNode || b instanceof DraftNode) continue;
    if (switches.has(a) || switches.has(b)) continue;
    const bridge = [a, b].find(({ type }) => type === "bridge");
    if (bridge !== undefined) switches.add(bridge);
  }
  return switches;
}

type Used = Pick<DraftEnd, "at" | "interface" | "index">;

type Names = ReadonlyMap<DraftNode, ReadonlyMap<string, string>>;

/** Chooses the names of all interfaces that links use. */
function interfacesOf({ nodes, unlinked }: Draft, links: readonly DraftLink[]): Names {
  const used = new Map<DraftNode, { readonly name: string; readonly index?: number }[]>();
  const single = unlinked.map(({ node, interface: name }) => ({ at: node, interface: name, index: undefined }));
  for (const { at, interface: name = "", index } of [...links.flatMap(({ ends }): readonly Used[] => ends), ...single]) {
    if (!(at instanceof DraftNode)) continue;
    const list = used.get(at) ?? [];
    used.set(at, list);
    list.push({ name, ...(index !== undefined && { index }) });
  }
  const names = new Map<DraftNode, ReadonlyMap<string, string>>();
  for (const node of nodes) {
    const chosen = interfaceNamesFor(used.get(node) ?? [], node);
    names.set(node, chosen);
    for (const [original, name] of chosen) if (original !== name && original !== "") node.put("labels", `interface-${name}`, original);
    renameInCommands(node, chosen);
    const naming = interfaceNaming((node.machine ?? node.kind)?.format ?? "eth{0}");
    const highest = [...chosen.values()].reduce((most, name) => Math.max(most, naming.index(name) ?? -1), -1);
    const wanted = node.get("ethernet");
    const isReserved = unlinked.some((each) => each.node === node);
    // A lab without a number has as many interfaces as the links need.
    if (typeof wanted === "number" ? wanted <= highest : isReserved) node.set("ethernet", highest + 1);
  }
  return names;
}

/** Commands of the source name interfaces as the source does. */
function renameInCommands(node: DraftNode, chosen: ReadonlyMap<string, string>): void {
  const commands = node.get("exec");
  const renamed = [...chosen].filter(([original, name]) => original !== name && /^[A-Za-z][\w.-]{0,30}$/.test(original));
  if (!Array.isArray(commands) || renamed.length === 0) return;
  const names = new Map(renamed);
  // A VLAN of an interface follows after a dot: et1.100.
  const word = new RegExp(`(?<![\\w./:-])(?:${[...names.keys()].map((name) => name.replaceAll(".", "\\.")).join("|")})(?![\\w:/-])`, "g");
  const written = commands.map((each) => (typeof each === "string" ? each.replace(word, (found) => names.get(found) ?? found) : each));
  if (written.every((each, at) => each === commands[at])) return;
  node.set("exec", written);
  node.comments.push(
    `exec names the interfaces as they are here: ${renamed.map(([original, name]) => `${original} is ${name}`).join(", ")}`,
  );
}

/** Returns the names of a node's interfaces here, by those in the source. A machine has the names of its guest; software in a container keeps names that it has. */
function interfaceNamesFor(
  interfaces: readonly SourceInterface[],
  { machine, kind, maxInterfaces }: DraftNode,
): ReadonlyMap<string, string> {
  if (kind !== undefined) return kindNames(interfaces, kind);
  if (machine === undefined || machine.format.split(formatSeparator)[0] === "eth{0}") return ethNames(interfaces, maxInterfaces);
  const naming = interfaceNaming(machine.format);
  const own = interfaces.map(({ name }) => (naming.index(name) === undefined ? interfaceAlias(machine.format, name, maxInterfaces) : name));
  const indexes = new Set(own.flatMap((name) => (name === undefined ? [] : (naming.index(name) ?? []))));
  if (indexes.size === new Set(interfaces.map(({ name }) => name)).size) return new Map(interfaces.map(({ name }, at) => [name, own[at]!]));
  // Names eth1, eth2 … count the ports after the interfaces with fixed names, the first of which is the management.
  const fixed = (machine.format.split(formatSeparator)[0] ?? "").split(",").length - 1;
  const skipped = fixed > 1 && interfaces.every(({ name }) => /^eth[1-9]\d*$/.test(name)) ? fixed - 1 : 0;
  const numbers = ethNames(interfaces, maxInterfaces - skipped, 0);
  return new Map([...numbers].map(([name, eth]) => [name, naming.name(Number(eth.slice(3)) + skipped)]));
}

function kindNames(interfaces: readonly SourceInterface[], { format, maxInterfaces }: MachineTemplate): ReadonlyMap<string, string> {
  const naming = interfaceNaming(format);
  const indexes = new Set(interfaces.flatMap(({ name }) => naming.index(name) ?? []));
  if (indexes.size === new Set(interfaces.map(({ name }) => name)).size) return new Map(interfaces.map(({ name }) => [name, name]));
  // Names eth1, eth2 … count the ports of the software from its first one.
  const first = interfaces.every(({ name }) => /^eth[1-9]\d*$/.test(name)) ? 1 : 0;
  return new Map([...ethNames(interfaces, maxInterfaces)].map(([name, eth]) => [name, naming.name(Number(eth.slice(3)) - first)]));
}

function linksOf(links: readonly DraftLink[], names: Names, switches: ReadonlySet<DraftNetwork>): readonly Data[] {
  const ports = new Map<DraftNetwork, number>();
  return links.map((link) => {
    const texts = link.ends.map((end) => {
      const { at } = end;
      if (at instanceof DraftNode || !switches.has(at)) return endText(end, names);
      const port = ports.get(at) ?? 0;
      ports.set(at, port + 1);
      return `${at.key}:eth${port}`;
    });
    for (const [side, end] of link.ends.entries()) markEnd(end, texts[side] ?? "");
    return authored(link, texts);
  });
}

function endText({ at, interface: name = "" }: DraftEnd, names: Names): string {
  return at instanceof DraftNode ? `${at.key}:${names.get(at)?.get(name) ?? name}` : at.key;
}

/** An end that the source calls by the same words is kept: as a whole, its node or its interface. */
function markEnd({ parts = [] }: DraftEnd, text: string): void {
  const colon = text.indexOf(":");
  const same = [text, text.slice(0, colon), text.slice(colon + 1)];
  for (const part of parts) {
    if (same.includes(part?.text ?? "")) part?.kept();
    else part?.mapped(`it is ${text} here`);
  }
}

function authored({ quality, suspended, mtu }: DraftLink, endpoints: readonly string[]): Data {
  const fields = { quality: quality && sides(quality), suspended: suspended === true ? true : undefined, mtu };
  return Object.values(fields).every((value) => value === undefined) ? endpoints : { endpoints, ...fields };
}

function sides({ a, b }: { readonly a?: Quality; readonly b?: Quality }): Data | undefined {
  if (a === undefined && b === undefined) return undefined;
  if (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b)) return { ...a };
  return { ...(a !== undefined && { a: { ...a } }), ...(b !== undefined && { b: { ...b } }) };
}
