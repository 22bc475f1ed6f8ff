import { didYouMean } from "../diagnostics/nearest.ts";
import { type Problems, pointer } from "../diagnostics/problems.ts";
import {
  checkKeys,
  type Field,
  field,
  fieldOf,
  invalid,
  isNull,
  readLine,
  readList,
  readMap,
  readNumber,
  readText,
  spot,
} from "../fields/fields.ts";
import { sortedRecord } from "../lab/canonical.ts";
import {
  carriesVlan,
  type Lag,
  lacpModes,
  type Mirror,
  maxMembers,
  maxPriority,
  maxVlan,
  portModes,
  priorityStep,
  type SpanningTree,
  type Switching,
  type SwitchPort,
  spanningTreeModes,
  vlanList,
  vlanSpans,
} from "../lab/switching.ts";
import {
  lagVocabulary,
  mirrorVocabulary,
  portVocabulary,
  spanningTreeVocabulary,
  switchingVocabulary,
} from "../lab/switching-vocabulary.ts";
import type { MapValue } from "../parse/parse.ts";

const INTERFACE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$/;

/** Reads `switching` of a node: the VLANs of its interfaces, link aggregation groups, spanning tree and mirror. */
export function readSwitching(problems: Problems, at: Field): Switching | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, switchingVocabulary);
  const [interfacesField, lagField, treeField, mirrorField] = ["interfaces", "lag", "spanning-tree", "mirror"].map((key) =>
    fieldOf(map, key, at.path),
  );
  const uses = new Uses(problems);
  const interfaces = interfacesField && readPorts(problems, interfacesField, uses);
  const lag = lagField && readLags(problems, lagField, uses);
  const spanningTree = treeField && readSpanningTree(problems, treeField);
  const mirror = mirrorField && readMirror(problems, mirrorField, uses);
  if (lagField !== undefined && spanningTree !== undefined && spanningTree.mode !== "off") warnOfLags(problems, lagField);
  return {
    ...(interfaces !== undefined && { interfaces: sortedRecord(interfaces) }),
    ...(lag !== undefined && { lag: sortedRecord(lag) }),
    ...(spanningTree !== undefined && { spanningTree }),
    ...(mirror !== undefined && { mirror }),
  };
}

/** The use of each interface of one switch: it has only one. */
class Uses {
  readonly #problems: Problems;
  readonly #uses = new Map<string, string>();
  readonly lags = new Set<string>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** Records the use, or reports the other one. */
  claim(name: string, use: string, at: Field): boolean {
    const other = this.#uses.get(name);
    if (other === undefined) {
      this.#uses.set(name, use);
      return true;
    }
    const message = `the interface ${name} ${other} already and cannot be used here`;
    this.#problems.error("interface_in_use", spot(at), at.path, message, "remove one of the two");
    return false;
  }
}

function readPorts(problems: Problems, at: Field, uses: Uses): Record<string, SwitchPort> | undefined {
  const ports: Record<string, SwitchPort> = {};
  for (const { name, item, map } of namedMaps(problems, at, "interface")) {
    uses.claim(name, "has settings of its own", item);
    checkKeys(problems, map, item.path, portVocabulary);
    ports[name] = readPort(problems, item, map);
  }
  return ports;
}

function readLags(problems: Problems, at: Field, uses: Uses): Record<string, Lag> {
  const lags: Record<string, Lag> = {};
  for (const { name, item, map } of namedMaps(problems, at, "link aggregation group")) {
    checkKeys(problems, map, item.path, lagVocabulary);
    uses.claim(name, "is a link aggregation group", item);
    uses.lags.add(name);
    const lacpField = fieldOf(map, "lacp", item.path);
    const lacp = lacpField && readWord(problems, lacpField, lacpModes);
    const members = readMembers(problems, item, map, name, uses);
    lags[name] = { ...readPort(problems, item, map), members, ...(lacp !== undefined && { lacp }) };
  }
  return lags;
}

function readMembers(problems: Problems, item: Field, map: MapValue, name: string, uses: Uses): readonly string[] {
  const at = fieldOf(map, "members", item.path);
  if (at === undefined) {
    problems.error("missing_key", item.place, item.path, `the group ${name} has no members`, "write members: [eth1, eth2]");
    return [];
  }
  const members = readInterfaces(problems, at).filter(({ name: member, at: place }) => uses.claim(member, `is a member of ${name}`, place));
  if (members.length === 0 && at.value.kind === "list" && at.value.items.length === 0)
    invalid(problems, at, "a group has at least one member");
  if (members.length > maxMembers) invalid(problems, at, `a group has at most ${maxMembers} members, not ${members.length}`);
  return members.map(({ name: member }) => member);
}

function readPort(problems: Problems, item: Field, map: MapValue): SwitchPort {
  const [modeField, vlanField, vlansField, nativeField] = ["mode", "vlan", "vlans", "native-vlan"].map((key) =>
    fieldOf(map, key, item.path),
  );
  const declared = modeField && readWord(problems, modeField, portModes);
  const mode = declared ?? (vlansField === undefined && nativeField === undefined ? "access" : "trunk");
  if (mode === "access") {
    for (const one of [vlansField, nativeField]) {
      if (one !== undefined)
        invalid(
          problems,
          one,
          "only a trunk has it",
          vlanField === undefined ? "write mode: trunk, or vlan: NUMBER for an access port" : "remove it",
        );
    }
    const vlan = vlanField && readVlan(problems, vlanField);
    return { mode, ...(vlan !== undefined && { vlan }) };
  }
  if (vlanField !== undefined)
    invalid(problems, vlanField, "only an access port has it", "a trunk has vlans: [10, 20-29], and native-vlan for untagged frames");
  const vlans = vlansField && readVlans(problems, vlansField);
  const nativeVlan = nativeField && readVlan(problems, nativeField);
  if (nativeVlan !== undefined && !carriesVlan(vlans === undefined ? {} : { vlans }, nativeVlan)) {
    invalid(problems, nativeField as Field, `the trunk does not carry VLAN ${nativeVlan}`, `add ${nativeVlan} to vlans`);
  }
  return { mode, ...(vlans !== undefined && { vlans }), ...(nativeVlan !== undefined && { nativeVlan }) };
}

function readVlan(problems: Problems, at: Field): number | undefined {
  return readNumber(problems, at, { min: 1, max: maxVlan, integer: true });
}

/** A list of numbers and ranges, or one text with commas between them. */
function readVlans(problems: Problems, at: Field): readonly (number | string)[] | undefined {
  const items = at.value.kind === "list" ? (readList(problems, at) ?? []) : [at];
  const found = items.flatMap((item) => {
    const text = readText(problems, item, { loose: true, max: 4096 });
    if (text === undefined || (items.length === 1 && text === "all")) return [];
    return text.split(",").flatMap((word) => readRange(problems, item, word.trim()));
  });
  if (items.length === 0) return invalid(problems, at, "a trunk carries at least one VLAN", "without vlans it carries all");
  return found.length === 0 ? undefined : vlanList(vlanSpans(found));
}

function readRange(problems: Problems, at: Field, word: string): readonly string[] {
  const [, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(word) ?? [];
  if (first === undefined) {
    invalid(problems, at, `${JSON.stringify(word.slice(0, 40))} is not a VLAN`, "write a number or a range such as 20-29");
    return [];
  }
  const [low, high] = [Number(first), Number(last)];
  if (low < 1 || high > maxVlan) {
    problems.error("out_of_range", spot(at), at.path, `${word} is out of range: VLANs are 1 to ${maxVlan}`);
    return [];
  }
  if (low <= high) return [`${low}-${high}`];
  invalid(problems, at, `the range ${word} ends before it begins`, `write ${high}-${low}`);
  return [];
}

function readSpanningTree(problems: Problems, at: Field): SpanningTree | undefined {
  if (at.value.kind !== "map") {
    // Tools that follow YAML 1.1 read and write `off` as false.
    if (at.value.kind === "scalar" && at.value.value === false) return { mode: "off" };
    const mode = readWord(problems, at, spanningTreeModes);
    return mode === undefined ? undefined : { mode };
  }
  const map = at.value;
  checkKeys(problems, map, at.path, spanningTreeVocabulary);
  const [modeField, priorityField] = ["mode", "priority"].map((key) => fieldOf(map, key, at.path));
  const mode = modeField === undefined ? "rstp" : readWord(problems, modeField, spanningTreeModes);
  const priority = priorityField && readNumber(problems, priorityField, { min: 0, max: maxPriority, integer: true });
  if (priority !== undefined && priority % priorityStep !== 0) {
    const near = Math.round(priority / priorityStep) * priorityStep;
    invalid(problems, priorityField as Field, `a priority is a multiple of ${priorityStep}`, `write ${Math.min(near, maxPriority)}`);
  }
  return mode === undefined ? undefined : { mode, ...(priority !== undefined && { priority }) };
}

function readMirror(problems: Problems, at: Field, uses: Uses): Mirror | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, mirrorVocabulary);
  const [fromField, toField] = ["from", "to"].map((key) => fieldOf(map, key, at.path));
  if (fromField === undefined || toField === undefined) {
    const key = fromField === undefined ? "from" : "to";
    problems.error("missing_key", at.place, at.path, `the mirror has no ${key}`, "write mirror: {from: [eth1], to: eth5}");
    return undefined;
  }
  const from = readInterfaces(problems, fromField);
  const to = readLine(problems, toField, { loose: true, max: 64 });
  if (to === undefined) return undefined;
  if (uses.lags.has(to)) return invalid(problems, toField, `${to} is a link aggregation group`, "mirrored frames leave at one interface");
  if (from.some(({ name }) => name === to))
    return invalid(problems, toField, `${to} cannot be mirrored to itself`, "choose another interface");
  if (!uses.claim(to, "gets the mirrored frames", toField)) return undefined;
  if (from.length === 0) return invalid(problems, fromField, "a mirror has at least one port", "write from: [eth1]");
  return { from: [...new Set(from.map(({ name }) => name))], to };
}

/** Spanning tree of Open vSwitch leaves out groups, so that a loop of groups is not cut. */
function warnOfLags(problems: Problems, at: Field): void {
  const message = "spanning tree does not run on link aggregation groups: they always forward";
  problems.warn("invalid_value", at.place, at.path, message, "make sure that no loop consists of groups only");
}

function* namedMaps(problems: Problems, at: Field, what: string): Generator<{ name: string; item: Field; map: MapValue }> {
  for (const entry of readMap(problems, at)?.entries.values() ?? []) {
    const item = field(entry, at.path);
    if (!INTERFACE.test(entry.key)) {
      problems.error("invalid_name", entry.place, item.path, `${JSON.stringify(entry.key.slice(0, 80))} is not the name of a ${what}`);
      continue;
    }
    if (isNull(item.value)) continue;
    const map = readMap(problems, item);
    if (map !== undefined) yield { name: entry.key, item, map };
  }
}

function readInterfaces(problems: Problems, at: Field): readonly { readonly name: string; readonly at: Field }[] {
  const items = at.value.kind === "list" ? (readList(problems, at) ?? []) : [at];
  return items.flatMap((item) => {
    const name = readLine(problems, item, { loose: true, max: 64 });
    if (name === undefined || INTERFACE.test(name)) return name === undefined ? [] : [{ name, at: item }];
    invalid(problems, item, `${JSON.stringify(name)} is not an interface name`);
    return [];
  });
}

function readWord<const Word extends string>(problems: Problems, at: Field, words: readonly Word[]): Word | undefined {
  const text = at.value.kind === "scalar" && at.value.value === false ? "off" : readLine(problems, at, { loose: true });
  const found = words.find((word) => word === text);
  if (text === undefined || found !== undefined) return found;
  return invalid(problems, at, `it must be ${words.join(", ")}`, didYouMean(text, words, problems.effort));
}

/** Warns of interfaces in `switching` that no link uses: most likely a name is misspelled. */
export function checkSwitching(problems: Problems, at: Field, switching: Switching, linked: ReadonlySet<string>): void {
  const { interfaces = {}, lag = {}, mirror } = switching;
  const named = [...Object.keys(interfaces), ...Object.values(lag).flatMap(({ members }) => members)];
  const ports = new Set([...linked, ...Object.keys(lag)]);
  for (const name of [...named, ...(mirror === undefined ? [] : [...mirror.from, mirror.to])]) {
    if (ports.has(name)) continue;
    ports.add(name);
    const message = `no link uses the interface ${name} of this switch`;
    problems.warn("unknown_interface", at.place, pointer(at.path, "switching"), message, didYouMean(name, linked, problems.effort));
  }
}
