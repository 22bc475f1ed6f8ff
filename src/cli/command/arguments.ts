import { parseArgs } from "node:util";
import { nearest } from "../../intent/diagnostics/nearest.ts";
import { wordList } from "../show/table.ts";
import { type Command, type Flag, fileOperand, flagsOf, nodeOperands } from "./command.ts";
import { UsageError } from "./usage-error.ts";

/** The arguments of a command, checked against its row. */
export class Arguments {
  readonly operands: readonly string[];
  /** The operands after "--". Absent if there is no "--". They are also the last ones of `operands`. */
  readonly rest: readonly string[] | undefined;
  readonly #values: ReadonlyMap<string, readonly (string | true)[]>;

  constructor(operands: readonly string[], values: ReadonlyMap<string, readonly (string | true)[]>, rest?: readonly string[]) {
    this.operands = operands;
    this.rest = rest;
    this.#values = values;
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  /** Returns the last value of a flag. */
  text(flag: string): string | undefined {
    const value = this.#values.get(flag)?.at(-1);
    return typeof value === "string" ? value : undefined;
  }

  /**
   * Returns all values of a flag, with comma lists split. Throws UsageError for a flag without any value: an empty variable of a script must not stand for all.
   */
  list(flag: string): readonly string[] {
    const values = this.#values.get(flag) ?? [];
    const list = values.flatMap((value) => (typeof value === "string" ? value.split(",") : [])).filter((value) => value.trim() !== "");
    if (values.length > 0 && list.length === 0) throw new UsageError(`--${flag} has no value`, "leave the flag out, or give it a value");
    return list;
  }

  /** Returns all values of a flag as they are, with their commas. */
  texts(flag: string): readonly string[] {
    return (this.#values.get(flag) ?? []).filter((value) => typeof value === "string");
  }

  /** Returns a copy with one more flag. */
  with(flag: string, value: string): Arguments {
    return new Arguments(this.operands, new Map([...this.#values, [flag, [value]]]), this.rest);
  }

  /** Returns the value of a flag in ms; the flag is given in seconds, or with a unit, such as 500ms, 30s, 5m or 1h. */
  milliseconds(flag: string): number | undefined {
    const value = this.text(flag);
    if (value === undefined) return undefined;
    const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(value) ?? [];
    const ms = Number(number) * units[unit as keyof typeof units];
    if (!Number.isFinite(ms) || ms <= 0) throw new UsageError(`--${flag} takes a number of seconds or a time such as 5m, not "${value}"`);
    return Math.round(ms);
  }
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Parses the arguments of a command. Throws UsageError. */
export function parseArguments(command: Command, argv: readonly string[]): Arguments {
  if (command.raw === true) return new Arguments(argv, new Map());
  const flags = flagsOf(command);
  const options = Object.fromEntries(
    flags.map((flag) => [flag.long, { type: flag.value === undefined ? ("boolean" as const) : ("string" as const), multiple: true }]),
  );
  const shorts = new Map(flags.flatMap((flag) => (flag.short === undefined ? [] : [[flag.short, flag] as const])));
  const { tokens } = parseArgs({
    args: expandShorts(argv, shorts),
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const operands: string[] = [];
  let rest: string[] | undefined;
  const values = new Map<string, (string | true)[]>();
  for (const token of tokens) {
    if (token.kind === "option-terminator") rest = [];
    if (token.kind === "positional") {
      operands.push(token.value);
      rest?.push(token.value);
    }
    if (token.kind !== "option") continue;
    const flag = flags.find(({ long }) => long === token.name);
    if (flag === undefined) throw unknownFlag(command, token.rawName, flags);
    values.set(flag.long, [...(values.get(flag.long) ?? []), checked(flag, token, token.rawName)]);
  }
  const limit = command.operands === undefined ? 0 : (command.maxOperands ?? Number.POSITIVE_INFINITY);
  const surplus = operands[limit] ?? operands.find(command.operands === nodeOperands.operands ? isNoNode : isEmptyFile(command));
  if (surplus !== undefined && !values.has("help")) {
    throw new UsageError(`${command.name}: "${surplus}" is not expected here`, surplusHint(command, surplus, flags));
  }
  const [file] = operands;
  if (command.operands !== fileOperand.operands || file === undefined) return new Arguments(operands, values, rest);
  if (values.has("topo"))
    throw new UsageError(`${command.name}: the lab's file is given twice`, `${file}, and with --topo: give one of the two`);
  return new Arguments([], values.set("topo", [file]), rest);
}

/**
 * Replaces short flags before "--" by their long forms: -t FILE → --topo FILE, -tFILE, and combined flags such as -yq. parseArgs itself does not distinguish
 * short flags from unknown ones.
 */
function expandShorts(argv: readonly string[], shorts: ReadonlyMap<string, Flag>): string[] {
  const end = argv.indexOf("--");
  return argv.flatMap((word, index) => ((end >= 0 && index > end) || !/^-[A-Za-z]/.test(word) ? [word] : longForms(word, shorts)));
}

function longForms(word: string, shorts: ReadonlyMap<string, Flag>): string[] {
  const flag = shorts.get(word.slice(1, 2));
  const rest = word.slice(2);
  if (flag === undefined) return [word];
  if (rest === "") return [`--${flag.long}`];
  return flag.value === undefined ? [`--${flag.long}`, ...longForms(`-${rest}`, shorts)] : [`--${flag.long}=${rest.replace(/^=/, "")}`];
}

function checked(
  flag: Flag,
  token: { readonly value?: string | undefined; readonly inlineValue?: boolean | undefined },
  rawName: string,
): string | true {
  // A flag is not taken as a value: in `--url --pin X` the URL is missing. `--command=-x` passes such a value.
  const value = token.value?.startsWith("--") === true && token.inlineValue !== true ? undefined : token.value;
  if (flag.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return true;
  }
  if (value === undefined) throw new UsageError(`${rawName} needs a value: ${rawName} ${flag.value}`);
  const wrong = (flag.multiple === true ? value.split(",") : [value]).find((each) => flag.choices?.includes(each) === false);
  if (flag.choices !== undefined && wrong !== undefined) {
    throw new UsageError(`${rawName} takes ${wordList(flag.choices)}, not "${wrong}"`);
  }
  return value;
}

/** Suggests the flag for a surplus argument that looks like a file, a lab's path or a node's name. */
/** Returns whether an operand is the lab's file, its path, or an empty variable of a script, which must not stand for all nodes. */
function isNoNode(operand: string): boolean {
  return /\.ya?ml$/i.test(operand) || operand.startsWith("/") || isEmpty(operand);
}

/** Returns a test for an empty variable of a script, which must not stand for the only file of the folder. */
function isEmptyFile({ operands }: Command): (operand: string) => boolean {
  return operands === fileOperand.operands ? isEmpty : () => false;
}

function isEmpty(operand: string): boolean {
  return /^[\s,]*$/.test(operand);
}

function surplusHint(command: Command, surplus: string, flags: readonly Flag[]): string {
  const flag = /\.ya?ml$/i.test(surplus) ? "topo" : surplus.startsWith("/") ? "lab" : "node";
  const found = isEmpty(surplus) ? undefined : flags.find(({ long }) => long === flag);
  if (found === undefined) return `see labwright ${command.name} --help`;
  const spelt = found.short === undefined ? `--${found.long}` : `-${found.short}`;
  return `did you mean labwright ${command.name} ${spelt} ${surplus}?`;
}

function unknownFlag(command: Command, name: string, flags: readonly Flag[]): UsageError {
  const meant = nearest(
    name.replace(/^-+/, ""),
    flags.map(({ long }) => long),
  );
  const forNode = command.operands?.includes(" -- ") === true;
  const otherwise = forNode
    ? `arguments for the node are given after --: labwright ${command.name} NODE -- COMMAND`
    : `see labwright ${command.name} --help`;
  if (/^--(output|json)$/.test(name)) return new UsageError(`${command.name}: unknown flag ${name}`, "did you mean --format json?");
  const hint = meant === undefined ? otherwise : `did you mean --${meant}?`;
  return new UsageError(`${command.name}: unknown flag ${name}`, hint);
}
