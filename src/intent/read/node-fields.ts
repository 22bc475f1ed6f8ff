import type { Problems } from "../diagnostics/problems.ts";
import {
  checkKeys,
  type Field,
  field,
  invalid,
  isNull,
  readBoolean,
  readLine,
  readList,
  readMap,
  readNumber,
  readText,
  spot,
  wrongType,
} from "../fields/fields.ts";
import { readAddresses } from "../fields/read-addressing.ts";
import { readMgmtIpv4, readMgmtIpv6, readPorts, readSshKeys } from "../fields/read-reach.ts";
import { readRouting } from "../fields/read-routing.ts";
import { readStartupConfig, type StartupConfig } from "../fields/read-startup-config.ts";
import type { NodeAddresses } from "../generate/pools.ts";
import type { Routing } from "../generate/routing.ts";
import { type Position, type PullPolicy, pullPolicies, type Scalar } from "../lab/lab.ts";
import type { TestCheck } from "../lab/lab-test.ts";
import type { Switching } from "../lab/switching.ts";
import { positionVocabulary, type Vocabulary } from "../lab/vocabulary.ts";
import type { MapValue } from "../parse/parse.ts";
import type { NameCount } from "../parse/ranges.ts";
import { type MachineBinds, readMachineBinds } from "./machine-binds.ts";
import { type ReadFile, readBinds, readNodeFiles } from "./node-files.ts";
import { readConditions } from "./read-boot.ts";
import { readSwitching } from "./read-switching.ts";

/**
 * The fields of one map of node fields (defaults, one of kinds or groups, or a node). Absent: not set. null: the inherited value is reset; for maps
 * also single keys.
 */
export interface NodeFields {
  readonly name?: string | null;
  readonly template?: string | null;
  readonly image?: string | null;
  readonly pull?: PullPolicy | null;
  readonly icon?: string | null;
  readonly kernel?: "own" | "shared" | null;
  readonly startupConfig?: StartupConfig | null;
  readonly files?: ReadonlyMap<string, ReadFile | null> | null;
  readonly binds?: ReadonlyMap<string, ReadFile | null> | null;
  /** Of `binds`: paths of the machine, by path in the node. */
  readonly machineBinds?: MachineBinds | null;
  readonly switching?: Switching | null;
  readonly addresses?: NodeAddresses | null;
  readonly routing?: Routing | null;
  readonly ports?: readonly string[] | null;
  readonly mgmtIpv4?: string | null;
  readonly mgmtIpv6?: string | null;
  readonly sshKeys?: readonly string[] | null;
  readonly exec?: readonly string[] | null;
  readonly cpu?: number | null;
  readonly ram?: number | null;
  readonly ethernet?: number | null;
  readonly start?: boolean | null;
  readonly position?: Position | null;
  readonly env?: MapField<string> | null;
  readonly attributes?: MapField<Scalar> | null;
  readonly labels?: MapField<string> | null;
  readonly ready?: readonly TestCheck[] | null;
}

export type MapField<T> = ReadonlyMap<string, T | null>;

/** The fields of one map, and the maps that it inherits from. */
export interface NodeForm {
  readonly fields: NodeFields;
  readonly kind?: string;
  readonly groups?: readonly string[];
  /** The place of the reference; absent if there is none. */
  readonly source?: FormSource;
}

export interface FormSource {
  readonly map: MapValue;
  /** JSON pointer. */
  readonly path: string;
}

export interface ReadContext {
  readonly problems: Problems;
  readonly files: ReadonlyMap<string, string>;
  readonly names: NameCount;
}

/** Allowed names of nodes, networks, templates, kinds, groups and of the lab. */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const NAME_RULE = "1–64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit";

export function readNodeForm(context: ReadContext, map: MapValue, path: string, vocabulary: Vocabulary): NodeForm {
  const { problems } = context;
  checkKeys(problems, map, path, vocabulary);
  const fields: Record<string, unknown> = {};
  let kind: string | undefined;
  let groups: readonly string[] | undefined;
  for (const entry of map.entries.values()) {
    if (!vocabulary.known.includes(entry.key)) continue;
    const at = field(entry, path);
    if (entry.key === "kind") kind = isNull(at.value) ? undefined : readName(problems, at);
    else if (entry.key === "group" || entry.key === "groups") {
      if (groups !== undefined) problems.error("duplicate_key", at.place, at.path, '"group" and "groups" mean the same: write one of them');
      groups = isNull(at.value) ? undefined : readGroups(problems, at);
    } else {
      const name = fieldNames[entry.key];
      if (name === undefined) continue;
      if (fields[name] !== undefined) problems.error("duplicate_key", at.place, at.path, `${twins[name]} mean the same: write one of them`);
      const value = isNull(at.value) ? null : readField(context, name, at);
      if (value !== undefined) fields[name] = value;
      if (name === "binds") fields["machineBinds"] = value === null ? null : readMachineBinds(at);
    }
  }
  return {
    fields: fields as NodeFields,
    ...(kind === undefined ? {} : { kind }),
    ...(groups === undefined ? {} : { groups }),
    source: { map, path },
  };
}

/** Overlays fields on inherited ones. Maps are merged by key, everything else is replaced. */
export function inherit(base: NodeFields, over: NodeFields): NodeFields {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = value instanceof Map && below instanceof Map ? new Map([...below, ...value]) : value;
  }
  return result as NodeFields;
}

/** Fields with two keys. */
const twins: { readonly [Name in keyof NodeFields]?: string } = { ram: '"ram" and "memory"', pull: '"pull" and "image-pull-policy"' };

const fieldNames: Readonly<Record<string, keyof NodeFields>> = {
  // biome-ignore format: one table
  name: "name",
  template: "template",
  image: "image",
  pull: "pull",
  "image-pull-policy": "pull",
  icon: "icon",
  kernel: "kernel",
  "startup-config": "startupConfig",
  files: "files",
  binds: "binds",
  switching: "switching",
  addresses: "addresses",
  routing: "routing",
  ports: "ports",
  "mgmt-ipv4": "mgmtIpv4",
  "mgmt-ipv6": "mgmtIpv6",
  "ssh-keys": "sshKeys",
  exec: "exec",
  cpu: "cpu",
  ram: "ram",
  memory: "ram",
  ethernet: "ethernet",
  start: "start",
  position: "position",
  env: "env",
  attributes: "attributes",
  labels: "labels",
  ready: "ready",
};

function readField(context: ReadContext, name: keyof NodeFields, at: Field): NodeFields[keyof NodeFields] {
  const { problems } = context;
  switch (name) {
    case "name":
      return readLine(problems, at, { loose: true, max: 64 });
    case "template":
      return readName(problems, at);
    case "image":
      return readLine(problems, at, { loose: true });
    case "pull":
      return readPull(problems, at);
    case "icon":
      return readLine(problems, at);
    case "kernel":
      return readKernel(problems, at);
    case "startupConfig":
      return readStartupConfig(context, at);
    case "files":
      return readNodeFiles(problems, context.files, at);
    case "binds":
      return readBinds(problems, context.files, at);
    case "machineBinds":
      return undefined; // read with binds
    case "switching":
      return readSwitching(problems, at);
    case "addresses":
      return readAddresses(problems, at);
    case "routing":
      return readRouting(problems, at);
    case "ports":
      return readPorts(problems, at);
    case "mgmtIpv4":
      return readMgmtIpv4(problems, at);
    case "mgmtIpv6":
      return readMgmtIpv6(problems, at);
    case "sshKeys":
      return readSshKeys(problems, at);
    case "exec":
      return readExec(problems, at);
    case "cpu":
      return readCpu(problems, at);
    case "ram":
      return readRam(problems, at);
    case "ethernet":
      return readNumber(problems, at, { min: 0, max: 64, integer: true });
    case "start":
      return readBoolean(problems, at);
    case "position":
      return readPosition(problems, at);
    case "env":
      return readRecord(problems, at, /^[^=\s]{1,255}$/, (item) => readText(problems, item, { loose: true }));
    case "labels":
      return readRecord(problems, at, /^\S{1,255}$/, (item) => readText(problems, item, { loose: true }));
    case "attributes":
      return readRecord(problems, at, /^\S{1,255}$/, (item) => readScalar(problems, item));
    case "ready":
      return readConditions(context, at);
  }
}

function readPull(problems: Problems, at: Field): PullPolicy | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined) return undefined;
  // containerlab's image-pull-policy has the words of Kubernetes.
  const word = text.toLowerCase().replace(/^if-?not-?present$/, "missing");
  return pullPolicies.find((one) => one === word) ?? invalid(problems, at, "it must be missing (the default), always or never");
}

function readKernel(problems: Problems, at: Field): "own" | "shared" | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined || text === "own" || text === "shared") return text;
  return invalid(problems, at, "it must be own (a Linux kernel of the node's own) or shared (the machine's, the default)");
}

export function readName(problems: Problems, at: Field): string | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined || NAME.test(text)) return text;
  problems.error("invalid_name", spot(at), at.path, `${JSON.stringify(text.slice(0, 80))} is not a name: ${NAME_RULE}`);
  return undefined;
}

export function readPosition(problems: Problems, at: Field): Position | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, positionVocabulary);
  const [x, y] = ["x", "y"].map((key) => {
    const entry = map.entries.get(key);
    if (entry !== undefined) return readNumber(problems, field(entry, at.path), { min: -1_000_000, max: 1_000_000 });
    problems.error("missing_key", at.place, at.path, `the position needs ${key}`);
    return undefined;
  });
  return x === undefined || y === undefined ? undefined : { x, y };
}

function readGroups(problems: Problems, at: Field): readonly string[] | undefined {
  if (at.value.kind === "scalar") {
    const name = readName(problems, at);
    return name === undefined ? undefined : [name];
  }
  const names = readList(problems, at)?.map((item) => readName(problems, item));
  return names?.filter((name) => name !== undefined);
}

function readExec(problems: Problems, at: Field): readonly string[] | undefined {
  if (at.value.kind === "scalar") return wrongType(problems, at, "a list of commands", `write ["${at.value.text.slice(0, 40)}"]`);
  return readList(problems, at)
    ?.map((item) => readText(problems, item))
    .filter((line) => line !== undefined);
}

/** Reads a number of processors, whole or fractional. */
function readCpu(problems: Problems, at: Field): number | undefined {
  const cpu = readNumber(problems, at, { min: 0, max: 1024 });
  return cpu === 0 ? invalid(problems, at, "it must be more than 0") : cpu;
}

const MAX_RAM = 16 * 1024 * 1024;
const UNITS: Readonly<Record<string, number>> = { k: 1 / 1024, m: 1, g: 1024, t: 1024 * 1024 };

/** Reads MiB as a number, or a text with a unit. Units are powers of 1024 in every notation, as in containerlab. */
function readRam(problems: Problems, at: Field): number | undefined {
  const { value } = at;
  if (value.kind === "scalar" && typeof value.value === "string") {
    const match = /^(\d+(?:\.\d+)?) ?([kmgt])i?b?$/i.exec(value.value);
    if (match === null) return wrongType(problems, at, 'a number of MiB or a text such as "512MiB" or "1GiB"');
    const mebibytes = Number(match[1]) * (UNITS[(match[2] as string).toLowerCase()] as number);
    if (!Number.isInteger(mebibytes) || mebibytes < 1) return invalid(problems, at, "it must be a whole number of MiB, at least 1");
    if (mebibytes <= MAX_RAM) return mebibytes;
    problems.error("out_of_range", spot(at), at.path, `${value.text} is out of range: 1 to ${MAX_RAM} MiB`);
    return undefined;
  }
  return readNumber(problems, at, { min: 1, max: MAX_RAM, integer: true, unit: "MiB" });
}

function readScalar(problems: Problems, at: Field): Scalar | undefined {
  const { value } = at;
  if (value.kind !== "scalar" || value.value === null) return wrongType(problems, at, "a text, number or boolean");
  if (typeof value.value === "string") return readText(problems, at);
  if (typeof value.value === "boolean") return value.value;
  if (/^[-+]?\d+$/.test(value.text) && BigInt(value.text.replace("+", "")) !== BigInt(value.value)) {
    return invalid(problems, at, "the number has more digits than can be kept", "write it in quotes");
  }
  return readNumber(problems, at, { min: -Number.MAX_VALUE, max: Number.MAX_VALUE });
}

function readRecord<T>(problems: Problems, at: Field, keys: RegExp, read: (item: Field) => T | undefined): MapField<T> | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  const record = new Map<string, T | null>();
  for (const entry of map.entries.values()) {
    const item = field(entry, at.path);
    if (!keys.test(entry.key) || entry.key.includes("\0")) {
      problems.error("invalid_name", entry.place, item.path, `${JSON.stringify(entry.key.slice(0, 80))} cannot be a key here`);
      continue;
    }
    const value = isNull(entry.value) ? null : read(item);
    if (value !== undefined) record.set(entry.key, value);
  }
  return record;
}
