import { didYouMean } from "../diagnostics/nearest.ts";
import { Problems, pointer } from "../diagnostics/problems.ts";
import { normalFilePath } from "./files.ts";
import { type Entry, MAX_CHARACTERS, type MapValue, parseYaml, type ScalarValue, scalarSize, type Value } from "./parse.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Values that a range of nodes sets. */
const OF_RANGES = /^(?:node|item\d*)$/;
const WHOLE = /^\$\{([^{}]*)\}$/;
/** An escaped reference, a reference, or a "${" that is neither. */
const PARTS = /\$\$\{|\$\{([^{}]*)\}|\$\{/g;

/** The keys that turn references on. Without them, "${…}" is plain text. */
const sources = ["vars", "vars-files"] as const;

/** Returns the entry that turns references on, if there is one. */
export function variablesEntry(root: Value): Entry | undefined {
  if (root.kind !== "map") return undefined;
  return root.entries.get("vars") ?? root.entries.get("vars-files");
}

export function isVariableSource(key: string): boolean {
  return sources.some((source) => source === key);
}

/** Returns the normal paths of `vars-files`. Wrong ones are left out. */
export function variableFiles(root: Value): readonly string[] {
  const list = root.kind === "map" ? root.entries.get("vars-files")?.value : undefined;
  return (list?.kind === "list" ? list.items : []).flatMap((item) => {
    const result = item.kind === "scalar" && item.value !== null ? normalFilePath(item.text) : undefined;
    return result !== undefined && "path" in result ? [result.path] : [];
  });
}

/** `undefined`: the variable has a wrong value, which is already reported. */
type Variables = Map<string, ScalarValue | undefined>;

/** Reads `vars` and the files of `vars-files`. A file wins over `vars`, and a later file over an earlier one, as in Ansible. */
export function readVariables(root: MapValue, files: ReadonlyMap<string, string>, problems: Problems): Variables {
  const variables: Variables = new Map();
  const vars = root.entries.get("vars");
  if (vars !== undefined) addVariables(variables, vars, "/vars", problems);
  const list = root.entries.get("vars-files");
  if (list === undefined || isNothing(list.value)) return variables;
  if (list.value.kind !== "list") {
    problems.error("wrong_type", list.place, "/vars-files", '"vars-files": must be a list of files', "write vars-files: [site.yaml]");
    return variables;
  }
  for (const [index, item] of list.value.items.entries()) readFile(variables, item, pointer("/vars-files", index), files, problems);
  return variables;
}

function readFile(variables: Variables, item: Value, path: string, files: ReadonlyMap<string, string>, problems: Problems): void {
  if (item.kind !== "scalar" || typeof item.value !== "string") {
    problems.error("wrong_type", item, path, "a file of variables must be a path");
    return;
  }
  const normal = normalFilePath(item.value);
  if ("problem" in normal) {
    problems.error("invalid_path", item, path, normal.problem);
    return;
  }
  const text = files.get(normal.path);
  if (text === undefined) {
    problems.error(
      "file_not_found",
      item,
      path,
      `${JSON.stringify(normal.path)} is not in files`,
      "write a path relative to the lab's file",
    );
    return;
  }
  const inside = new Problems(text);
  const parsed = parseYaml(text, inside)?.root;
  if (parsed !== undefined) addVariables(variables, { key: "", value: parsed, place: parsed, merged: false }, "", inside);
  problems.addOfFile(normal.path, inside);
}

function isNothing(value: Value): boolean {
  return value.kind === "scalar" && value.value === null;
}

function addVariables(variables: Variables, { value, place }: Entry, at: string, problems: Problems): void {
  if (isNothing(value)) return;
  if (value.kind !== "map") {
    problems.error("wrong_type", place, at, "variables must be a map", "write one variable in a line: name: value");
    return;
  }
  for (const entry of value.entries.values()) {
    // A wrong value is undefined, so that references to it give no further diagnostics.
    variables.set(entry.key, readVariable(entry, pointer(at, entry.key), problems));
  }
}

function readVariable({ key, value, place }: Entry, path: string, problems: Problems): ScalarValue | undefined {
  const named = JSON.stringify(key);
  if (!NAME.test(key)) {
    const hint = "use letters, digits, _ and -; begin with a letter";
    problems.error("invalid_name", place, path, `${named} is not a name of a variable`, hint);
  } else if (OF_RANGES.test(key)) {
    problems.error("invalid_name", place, path, `${named} is a value that ranges of nodes set`, "choose another name");
  } else if (value.kind !== "scalar" || value.value === null) {
    problems.error("wrong_type", place, path, `${named}: must be a text, a number or a boolean`);
  } else if (value.text.includes("${")) {
    problems.error("invalid_value", value, path, `${named}: a variable cannot contain another variable`);
  } else {
    return value;
  }
  return undefined;
}

class TooLong extends Error {}

/**
 * Puts the values of variables in place of `${name}`. A value that is a single reference has the type of its variable. Keys are not replaced, and values
 * are never evaluated. A value without references stays the same object.
 */
export class Substitution {
  readonly #variables: ReadonlyMap<string, ScalarValue | undefined>;
  readonly #problems: Problems;
  /** Aliases share their anchor's value, and they still do in the result. */
  readonly #done = new Map<Value, Value>();
  /** Shared by all substitutions of a lab. */
  readonly #characters: { used: number; isTooLarge: boolean };

  constructor(
    variables: ReadonlyMap<string, ScalarValue | undefined>,
    problems: Problems,
    characters: { used: number; isTooLarge: boolean },
  ) {
    this.#characters = characters;
    this.#variables = variables;
    this.#problems = problems;
  }

  value(value: Value, path: string): Value {
    const known = this.#done.get(value);
    if (known !== undefined) return known;
    const result = this.#replaced(value, path);
    this.#done.set(value, result);
    return result;
  }

  #replaced(value: Value, path: string): Value {
    if (value.kind === "list") {
      const items = value.items.map((item, index) => this.value(item, pointer(path, index)));
      return items.every((item, index) => item === value.items[index]) ? value : { ...value, items };
    }
    if (value.kind === "map") {
      let isChanged = false;
      const entries = new Map<string, Entry>();
      for (const [key, entry] of value.entries) {
        const now = this.value(entry.value, pointer(path, key));
        if (now !== entry.value) isChanged = true;
        entries.set(key, now === entry.value ? entry : { ...entry, value: now });
      }
      return isChanged ? { ...value, entries } : value;
    }
    return typeof value.value === "string" && value.value.includes("${") ? this.#scalar(value, value.value, path) : value;
  }

  #scalar(scalar: ScalarValue, source: string, path: string): ScalarValue {
    const name = WHOLE.exec(source)?.[1];
    const whole = name === undefined ? undefined : this.#variables.get(name);
    try {
      // One reference has the type and the notation of its variable: 07 and 1.10 stay as they are written.
      if (whole !== undefined) return { ...whole, text: this.#counted(whole.text), start: scalar.start, end: scalar.end };
      const text = this.#text(scalar, source, path);
      // An unset value gives no second diagnostic about a type that the variable might have had.
      if (text === undefined) return { ...scalar, value: null, text: "", size: 1 };
      return { ...scalar, value: text, text, size: scalarSize(text) };
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      if (!this.#characters.isTooLarge)
        this.#problems.error("too_large", scalar, path, `the variables make more than ${MAX_CHARACTERS} characters`);
      this.#characters.isTooLarge = true;
      return scalar;
    }
  }

  /** Returns undefined if a reference is wrong. */
  #text(scalar: ScalarValue, source: string, path: string): string | undefined {
    let isWrong = false;
    let text = "";
    let at = 0;
    for (const found of source.matchAll(PARTS)) {
      const part = this.#part(found[0], found[1], scalar, path);
      if (part === undefined) isWrong = true;
      text += source.slice(at, found.index) + (part ?? "");
      at = found.index + found[0].length;
    }
    return isWrong ? undefined : text + source.slice(at);
  }

  #part(written: string, name: string | undefined, scalar: ScalarValue, path: string): string | undefined {
    if (written === "$${") return "${";
    if (name === undefined || !NAME.test(name)) {
      this.#problems.error(
        "invalid_value",
        scalar,
        path,
        `${written} does not name a variable`,
        "for plain text, write $${ in place of ${",
      );
      return undefined;
    }
    const variable = this.#variables.get(name);
    if (variable === undefined && this.#variables.has(name)) return undefined;
    if (variable !== undefined) return this.#counted(variable.text);
    const names = [...this.#variables.keys()];
    const near = didYouMean(name, names, this.#problems.effort);
    const hint =
      near ?? (names.length === 0 ? "the lab has no variables" : `variables: ${names.join(", ")}; for plain text, write $${written}`);
    this.#problems.error("unknown_variable", scalar, path, `no variable ${JSON.stringify(name)}`, hint);
    return undefined;
  }

  /** @throws TooLong if the text of all references together is longer than a lab can be. */
  #counted(text: string): string {
    this.#characters.used += text.length;
    if (this.#characters.used > MAX_CHARACTERS) throw new TooLong();
    return text;
  }
}
