import { isMap, LineCounter, type Node, type Pair, parseDocument } from "yaml";
import { formatSeparator } from "../../../base/names/interface-names.ts";
import type { FieldRule } from "../../../engine/model/plan.ts";
import { nearest } from "../../../intent/diagnostics/nearest.ts";
import type { TemplateAttribute } from "../../host.ts";
import { readContainer, readNeeds } from "./read-container.ts";
import { readVm } from "./read-vm.ts";
import { type LocalAttribute, type LocalTemplate, type TemplateField, templateFields } from "./template.ts";
import { maxVmInterfaces, supervisor } from "./vm-template.ts";

/** Lines and columns count from 1. */
export interface TemplateProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** "file:line:column: message", the format of compilers. */
export function problemText(problem: TemplateProblem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`;
}

/** Returns the template that another one extends. */
export type FindTemplate = (id: string) => LocalTemplate | undefined;

/**
 * Checks one template file strictly: an unknown key or a wrong type is a problem. A file with a problem gives no template.
 * @param find finds the template that the file extends
 */
export function readTemplate(
  file: string,
  text: string,
  find: FindTemplate = () => undefined,
): { readonly template: LocalTemplate | undefined; readonly problems: readonly TemplateProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, stringKeys: true });
  const problems: TemplateProblem[] = [];
  const at = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset);
    problems.push({ file, line, column: col, message });
  };
  for (const error of [...document.errors, ...document.warnings]) at(error.pos[0], error.message.split("\n")[0] ?? error.message);
  if (problems.length > 0) return { template: undefined, problems };
  const top = new Reader(document.contents, document.toJS({ maxAliasCount: 100 }), "the file", 0, at);
  const template = templateOf(top, file, find);
  return { template: problems.length === 0 ? template : undefined, problems };
}

/** The readers of a map's values. */
interface MapReader {
  get(key: string): Reader;
}

/** Keys that a template needs unless it extends another one. */
const ownKeys = ["type", "backend", "interfaces", "console", "startup-config", "fields", "links"];
const optionalKeys = [
  "extends",
  "icon",
  "images",
  "boot",
  "ready",
  "config-language",
  "saved-config",
  "save",
  "attributes",
  "vm",
  "limits",
  "need",
  "system-calls",
  "software",
  "image",
  "image-names",
  "image-source",
  "also",
  "container",
  "needs",
];

function templateOf(top: Reader, file: string, find: FindTemplate): LocalTemplate | undefined {
  const isExtending = isMap(top.node) && top.node.has("extends");
  const map = isExtending
    ? top.map(["id", "description"], [...ownKeys, ...optionalKeys])
    : top.map(["id", "description", ...ownKeys], optionalKeys);
  const extended = map.get("extends").optional();
  const base = extended === undefined ? undefined : find(String(extended.value));
  if (extended !== undefined && base === undefined)
    return extended.fail(`extends names a template that extends no other one; there is no such template ${JSON.stringify(extended.value)}`);
  if (base !== undefined) map.get("backend").optional()?.fail(`backend is the one of ${base.id}, which this template extends`);
  const backend = base?.backend ?? map.get("backend").oneOf(["namespace", "container", "bridge", "vm"]) ?? "namespace";
  const interfaces = given(map, "interfaces", base)?.map(base === undefined ? ["format", "max"] : [], [
    "format",
    "max",
    "count",
    "aliases",
  ]);
  const ethFormat = readFormats(interfaces, backend, base);
  const maxInterfaces = (interfaces && given(interfaces, "max", base))?.integer(1, 1024) ?? base?.maxInterfaces ?? 1;
  const count = interfaces?.get("count").optional()?.integer(0, maxInterfaces) ?? base?.ethernet;
  const consoleMap = given(map, "console", base)?.map(base === undefined ? ["type"] : [], ["type", "argv", "prompt", "login", "pager"]);
  const console = consoleMap === undefined ? base!.console : readConsole(consoleMap, base?.console);
  const images = map.get("images").optional()?.texts() ?? base?.images ?? [];
  const boot = map.get("boot").optional()?.texts() ?? base?.boot ?? [];
  checkBackend({ top, map, interfaces, console: consoleMap }, { backend, images, boot, console });
  const icon = map.get("icon").optional()?.text() ?? base?.icon;
  if ((backend === "vm") !== (console.type === "serial"))
    (consoleMap?.get("type") ?? top).fail("serial is the console of a virtual machine, and only of one");
  const vm = backend === "vm" ? readVm(map.get("vm"), map.get("ready"), base?.vm) : undefined;
  if (backend !== "vm") map.get("vm").optional()?.fail("vm goes with backend vm, and only with it");
  if (backend !== "container") map.get("container").optional()?.fail("container goes with backend container, and only with it");
  const containerReader = backend === "container" ? map.get("container").optional() : undefined;
  const container = containerReader === undefined ? base?.container : readContainer(containerReader);
  const usual = readImages(map, { backend, images, base });
  const readyArgv =
    vm === undefined
      ? (map.get("ready").optional()?.map(["argv"]).get("argv").texts() ?? base?.ready?.argv)
      : vm.ready === undefined
        ? undefined
        : [supervisor, "ready"];
  const savedConfig =
    map
      .get("saved-config")
      .optional()
      ?.text(/^(\/[A-Za-z0-9._-]+)+$/, "an absolute path inside the node") ?? base?.savedConfig;
  const save = readSave(map.get("save"), { savedConfig, argv: console.argv }) ?? base?.save;
  const limits = readLimits(map.get("limits")) ?? base?.limits;
  const need =
    map
      .get("need")
      .optional()
      ?.integer(0, 1 << 30) ?? base?.need;
  const configLanguage = map.get("config-language").optional()?.oneOf(["frr"]) ?? base?.configLanguage;
  const systemCalls = map.get("system-calls").optional()?.oneOf(["usual", "wide"]) ?? base?.systemCalls;
  if (backend === "bridge") map.get("system-calls").optional()?.fail("a bridge has no process: system-calls makes no sense");
  const fieldsReader = given(map, "fields", base);
  const { fields, reasons } = fieldsReader === undefined ? base! : fieldRules(fieldsReader, base);
  const attributes = readAttributes(map, base);
  const software = readSoftware(map.get("software"), backend);
  const mayBeQ35 = vm?.machine === "q35" || attributes.some(({ name }) => name === "machine");
  if (vm !== undefined && mayBeQ35 && fields.ethernet === "live")
    (fieldsReader?.map([], templateFields).get("ethernet") ?? top).fail("only machine pc takes interfaces while it runs: say restart");
  return {
    id: map.get("id").text(idShape, idText) ?? "",
    also: readAlso(map.get("also")),
    description: map.get("description").text() ?? "",
    type: given(map, "type", base)?.text(/^[a-z][a-z0-9-]*$/, "one lower-case word") ?? base?.type ?? "",
    backend,
    ...(icon === undefined ? {} : { icon }),
    images,
    ...usual,
    ethFormat,
    maxInterfaces,
    ...(count === undefined ? {} : { ethernet: count }),
    boot,
    console,
    ...(readyArgv === undefined ? {} : { ready: { argv: readyArgv } }),
    ...(vm === undefined ? {} : { vm }),
    ...(container === undefined ? {} : { container }),
    needs: map.get("needs").optional() === undefined ? (base?.needs ?? []) : readNeeds(map.get("needs")),
    ...(limits === undefined ? {} : { limits }),
    ...(need === undefined ? {} : { need }),
    ...(systemCalls === undefined ? {} : { systemCalls }),
    startupConfig: given(map, "startup-config", base)?.boolean() ?? base?.startupConfig ?? false,
    ...(configLanguage === undefined ? {} : { configLanguage }),
    ...(savedConfig === undefined ? {} : { savedConfig }),
    ...(save === undefined ? {} : { save }),
    attributes,
    fields,
    reasons,
    links: given(map, "links", base)?.oneOf(["live", "restart", "recreate"]) ?? base?.links ?? "recreate",
    ...(software === undefined ? {} : { software }),
    ...(base === undefined ? {} : { extends: base.id }),
    file,
  };
}

const idShape = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const idText = "lower-case letters, digits, '.', '_' and '-'";

function readAlso(reader: Reader): readonly string[] {
  const also = reader.optional()?.texts() ?? [];
  for (const id of also) if (!idShape.test(id)) reader.fail(`${id} is no id: ${idText}`);
  return also;
}

/** Reads the default image of a container template, and how its images are found. */
function readImages(
  map: MapReader,
  { backend, images, base }: Pick<LocalTemplate, "backend" | "images"> & { readonly base: LocalTemplate | undefined },
): Pick<LocalTemplate, "usualImage" | "imageNames" | "imageSource"> {
  const usualImage = map.get("image").optional()?.text() ?? base?.usualImage;
  if (usualImage !== undefined && (backend !== "container" || images.length > 0))
    map.get("image").fail("image is the default of a container template without images");
  const names = map.get("image-names").optional()?.texts();
  if (names !== undefined && backend !== "container") map.get("image-names").fail("image-names goes with backend container");
  const imageSource = map.get("image-source").optional()?.text() ?? base?.imageSource;
  return {
    ...(usualImage === undefined ? {} : { usualImage }),
    imageNames: names?.map((part) => part.toLowerCase()) ?? base?.imageNames ?? [],
    ...(imageSource === undefined ? {} : { imageSource }),
  };
}

/** Fixed names of the first interfaces, and a name with one or two numbers: "Mgmt1,Ethernet{1}", "Gi{0}/{0-4}", "Ethernet{0+4}". */
const interfaceFormat =
  /^(?:[A-Za-z0-9][A-Za-z0-9./_-]*, ?)*(?:[A-Za-z0-9][A-Za-z0-9./_-]*)?\{\d{1,4}(?:\+\d{1,2})?\}(?:[./_-][A-Za-z0-9./_-]*\{\d{1,4}(?:-\d{1,4})?\})?(?:[./_-][A-Za-z0-9./_-]*)?$/;
/** The longest name of an interface that the kernel takes. */
const maxKernelName = 15;

/** Returns the formats of an interface's names (interface-names.ts), that of the names inside the node first. */
function readFormats(interfaces: MapReader | undefined, backend: LocalTemplate["backend"], base: LocalTemplate | undefined): string {
  const [inherited, ...inheritedAliases] = base?.ethFormat.split(formatSeparator) ?? [];
  const reader = interfaces && given(interfaces, "format", base);
  const own = reader?.text(interfaceFormat, 'a name with {0} or {1} at its end, such as "eth{0}"') ?? inherited ?? "";
  const names = own.split(",").map((name) => name.trim().replaceAll(/\{.*?\}/g, "10"));
  if ((backend === "namespace" || backend === "container") && names.some((name) => name.includes("/") || name.length > maxKernelName))
    reader?.fail(`format has names of the Linux kernel here: no slash, at most ${maxKernelName} characters; aliases has other names`);
  const aliases = interfaces
    ?.get("aliases")
    .optional()
    ?.list()
    .flatMap((alias) => alias.text(interfaceFormat, 'a name with {0} or {1} at its end, such as "ethernet-1/{1}"') ?? []);
  return [own, ...(aliases ?? inheritedAliases)].join(formatSeparator);
}

/** Returns the value of a key that a template must have; `undefined` if it is inherited. */
function given(map: MapReader, key: string, base: LocalTemplate | undefined): Reader | undefined {
  return base === undefined ? map.get(key) : map.get(key).optional();
}

/** Returns the attributes of the file, and the inherited ones. A property of the file's own `vm` is the default of the attribute of this name. */
function readAttributes(map: MapReader, base: LocalTemplate | undefined): readonly LocalAttribute[] {
  const own = map.get("attributes").optional()?.list().map(attributeOf) ?? [];
  if (base === undefined) return own;
  const settings = map.get("vm").value;
  const values = new Map(Object.entries(typeof settings === "object" && settings !== null ? settings : {}));
  const inherited = base.attributes
    .filter(({ name }) => !own.some((attribute) => attribute.name === name))
    .map((attribute) => (values.has(attribute.name) ? { ...attribute, default: values.get(attribute.name) } : attribute));
  return [...inherited, ...own];
}

function readSoftware(reader: Reader, backend: LocalTemplate["backend"]): LocalTemplate["software"] {
  const map = reader.optional()?.map(["name", "files", "source"], ["license"]);
  if (map === undefined) return undefined;
  if (backend === "namespace" || backend === "bridge")
    return reader.fail("software goes with backend vm or container: its images are the user's");
  const files = map
    .get("files")
    .list()
    .flatMap((item) => item.text(filePattern, "a file name, in which * is any text") ?? []);
  if (files.length === 0) map.get("files").fail("files names at least one file");
  const license = map.get("license").optional()?.text();
  return {
    name: map.get("name").text() ?? "",
    files,
    source: map.get("source").text() ?? "",
    ...(license === undefined ? {} : { license }),
  };
}

const filePattern = /^[A-Za-z0-9*][A-Za-z0-9._+*() -]*$/;

function readConsole(console: MapReader, base?: LocalTemplate["console"]): LocalTemplate["console"] {
  const type =
    (base === undefined ? console.get("type") : console.get("type").optional())?.oneOf(["telnet", "serial", "none"]) ??
    base?.type ??
    "none";
  const prompt = console.get("prompt").optional()?.pattern() ?? base?.prompt;
  const login = console.get("login").optional()?.map(["username"], ["password"]);
  const username = login?.get("username").text() ?? "";
  const password = login?.get("password").optional()?.text();
  const account = login === undefined ? base?.login : { username, ...(password === undefined ? {} : { password }) };
  const pager = console.get("pager").optional()?.map(["pattern", "key"]);
  const named = pager?.get("key").text(/^(?:space|enter|\S)$/, "space, enter, or one character") ?? "";
  const key = named === "space" ? " " : named === "enter" ? "\r" : named;
  const pattern = pager?.get("pattern").pattern();
  return {
    type,
    argv: console.get("argv").optional()?.texts() ?? base?.argv ?? [],
    ...(prompt === undefined ? {} : { prompt }),
    ...(account === undefined ? {} : { login: account }),
    ...(pattern === undefined ? base?.pager !== undefined && { pager: base.pager } : { pager: { pattern, key } }),
  };
}

/** Reports fields that a backend needs and does not have, or has and cannot use. */
function checkBackend(
  at: {
    readonly top: Reader;
    readonly map: MapReader;
    readonly interfaces: MapReader | undefined;
    readonly console: MapReader | undefined;
  },
  { backend, images, boot, console: { type, argv } }: Pick<LocalTemplate, "backend" | "images" | "boot" | "console">,
): void {
  const { top, map } = at;
  if (backend === "namespace") {
    if (images.length === 0) map.get("images").fail("a namespace template needs at least one image");
    if (boot.length === 0) map.get("boot").fail("a namespace template needs the command that boots a node");
  } else if (backend === "container") {
    if (boot.length > 0) top.fail("a container's image defines what it runs: boot makes no sense");
  } else if (backend === "vm") {
    if (boot.length > 0) map.get("boot").fail("a virtual machine boots by itself: boot makes no sense");
    if (type !== "serial") (at.console?.get("type") ?? top).fail("the console of a virtual machine is serial");
    at.interfaces?.get("max").optional()?.integer(1, maxVmInterfaces);
  } else if (images.length + boot.length > 0 || type !== "none") {
    top.fail("a bridge has no process: images, boot and a console make no sense");
  }
  if (backend !== "container" && (type === "telnet") !== argv.length > 0)
    (at.console?.get("argv") ?? top).fail("argv goes with type telnet, and only with it");
}

function readLimits(reader: Reader): LocalTemplate["limits"] {
  const limits = reader.optional()?.map([], ["ram", "processes", "disk"]);
  if (limits === undefined) return undefined;
  const [ram, processes, disk] = ["ram", "processes", "disk"].map((name) =>
    limits
      .get(name)
      .optional()
      ?.integer(1, 1 << 30),
  );
  return {
    ...(ram === undefined ? {} : { ram }),
    ...(processes === undefined ? {} : { processes }),
    ...(disk === undefined ? {} : { disk }),
  };
}

function readSave(
  reader: Reader,
  { savedConfig, argv }: { readonly savedConfig: string | undefined; readonly argv: readonly string[] },
): LocalTemplate["save"] {
  const save = reader.optional()?.map([], ["argv", "console", "print"]);
  if (save === undefined) return undefined;
  const program = save.get("argv").optional()?.texts();
  const command = save.get("console").optional()?.text();
  const print = save.get("print").optional()?.texts();
  if ([program, command, print].filter((one) => one !== undefined).length !== 1)
    reader.fail("save needs argv, console or print, one of them");
  if (print !== undefined && savedConfig !== undefined)
    reader.fail("save by print goes without saved-config: the output is the configuration");
  if (print !== undefined) return { print };
  if (savedConfig === undefined) reader.fail("save goes with saved-config, which names the file that the node writes");
  if (command !== undefined && argv.length === 0) reader.fail("save by a console command goes with argv of the console");
  if (command !== undefined) return { console: command };
  return program === undefined ? undefined : { argv: program };
}

function fieldRules(reader: Reader, base: LocalTemplate | undefined): Pick<LocalTemplate, "fields" | "reasons"> {
  const map = base === undefined ? reader.map(templateFields) : reader.map([], templateFields);
  const fields: Partial<Record<TemplateField, FieldRule>> = { ...base?.fields };
  const reasons: Partial<Record<TemplateField, string>> = { ...base?.reasons };
  for (const field of templateFields) {
    const rule = map.get(field);
    if (base !== undefined && rule.optional() === undefined) continue;
    delete reasons[field];
    if (typeof rule.value === "object" && rule.value !== null) {
      fields[field] = "unsupported";
      reasons[field] = rule.map(["unsupported"]).get("unsupported").text() ?? "";
    } else {
      fields[field] = rule.oneOf(["live", "restart", "recreate"], "live, restart, recreate or {unsupported: why}") ?? "recreate";
    }
  }
  return { fields, reasons };
}

function attributeOf(reader: Reader): LocalAttribute {
  const map = reader.map(["name", "label", "type"], ["default", "required", "options", "words", "min", "max", "unit", "description"]);
  const type = map.get("type").oneOf(["string", "integer", "number", "boolean", "enum", "text"]) ?? "string";
  const options = map
    .get("options")
    .optional()
    ?.list()
    .map((option) => {
      const pair = option.map(["value", "label"]);
      return { value: pair.get("value").text() ?? "", label: pair.get("label").text() ?? "" };
    });
  if ((type === "enum") !== (options !== undefined)) map.get("options").fail("options go with type enum, and only with it");
  const words = map
    .get("words")
    .optional()
    ?.list()
    .flatMap((word) => word.text() ?? []);
  if (words !== undefined && type !== "string") map.get("words").fail("words go with type string");
  const numeric = type === "integer" || type === "number";
  const min = map.get("min").optional()?.number();
  const max = map.get("max").optional()?.number();
  if (!numeric && (min !== undefined || max !== undefined)) reader.fail(`min and max make no sense for type ${type}`);
  const fallback = map.get("default").optional();
  const unit = map.get("unit").optional()?.text();
  const description = map.get("description").optional()?.text();
  const attribute: LocalAttribute = {
    name: map.get("name").text(/^[a-z][a-z0-9-]*$/, "lower-case letters, digits and '-'") ?? "",
    label: map.get("label").text() ?? "",
    type,
    required: map.get("required").optional()?.boolean() ?? false,
    ...(options === undefined ? {} : { options }),
    ...(words === undefined ? {} : { words }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(unit === undefined ? {} : { unit }),
    ...(description === undefined ? {} : { description }),
  };
  if (fallback === undefined) return attribute;
  const value = defaultOf(fallback, attribute);
  return value === undefined ? attribute : { ...attribute, default: value };
}

function defaultOf(reader: Reader, attribute: TemplateAttribute): string | number | boolean | undefined {
  switch (attribute.type) {
    case "boolean":
      return reader.boolean();
    case "integer":
      return reader.integer(attribute.min, attribute.max);
    case "number":
      return reader.number(attribute.min, attribute.max);
    case "enum":
      return reader.oneOf((attribute.options ?? []).map((option) => option.value));
    default:
      return reader.string();
  }
}

/** Returns a suggestion for a misspelled name, or the list of valid names. */
function hint(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? ` (known: ${known.join(", ")})` : `; did you mean "${meant}"?`;
}

type Report = (offset: number, message: string) => void;

/** A value of the file with its position. Each reading method returns the value, or reports a problem and returns `undefined`. */
export class Reader {
  readonly node: Node | null | undefined;
  readonly value: unknown;
  readonly name: string;
  readonly offset: number;
  readonly report: Report;

  constructor(node: Node | null | undefined, value: unknown, name: string, offset: number, report: Report) {
    this.node = node;
    this.value = value;
    this.name = name;
    this.offset = node?.range?.[0] ?? offset;
    this.report = report;
  }

  fail(message: string): undefined {
    this.report(this.offset, message);
    return undefined;
  }

  wrong(expected: string): undefined {
    return this.fail(this.value === undefined ? `${this.name} is missing` : `${this.name} must be ${expected}`);
  }

  /** Returns the field, `undefined` if the file does not have it. */
  optional(): Reader | undefined {
    return this.value === undefined ? undefined : this;
  }

  map(required: readonly string[], optional: readonly string[] = []): MapReader {
    const empty = { get: (key: string) => new Reader(undefined, undefined, key, this.offset, () => {}) };
    if (!isMap(this.node) || typeof this.value !== "object" || this.value === null) {
      this.wrong("a map");
      return empty;
    }
    const known = [...required, ...optional];
    const pairs = new Map<string, Pair>();
    for (const pair of this.node.items) {
      const key = String((pair.key as { value?: unknown } | null)?.value ?? pair.key);
      if (known.includes(key)) pairs.set(key, pair);
      else this.report((pair.key as Node | null)?.range?.[0] ?? this.offset, `unknown key "${key}"${hint(key, known)}`);
    }
    for (const key of required) if (!pairs.has(key)) this.fail(`key "${key}" is missing in ${this.name}`);
    const values = this.value as Readonly<Record<string, unknown>>;
    // A missing required key was already reported, so its reader reports nothing.
    return {
      get: (key) => {
        const report = pairs.has(key) || !required.includes(key) ? this.report : () => {};
        return new Reader(pairs.get(key)?.value as Node | undefined, values[key], key, this.offset, report);
      },
    };
  }

  /** Returns the entries of a map with any keys. */
  entries(): readonly (readonly [string, Reader])[] {
    if (!isMap(this.node) || typeof this.value !== "object" || this.value === null) {
      this.wrong("a map");
      return [];
    }
    const values = this.value as Readonly<Record<string, unknown>>;
    return this.node.items.map((pair) => {
      const key = String((pair.key as { value?: unknown } | null)?.value ?? pair.key);
      return [key, new Reader(pair.value as Node | null | undefined, values[key], key, this.offset, this.report)] as const;
    });
  }

  list(): readonly Reader[] {
    if (!Array.isArray(this.value)) {
      this.wrong("a list");
      return [];
    }
    const items = (this.node as { items?: readonly Node[] } | undefined)?.items ?? [];
    return this.value.map((value, index) => new Reader(items[index], value, `${this.name}[${index}]`, this.offset, this.report));
  }

  texts(): readonly string[] {
    return this.list().flatMap((item) => item.text() ?? []);
  }

  string(): string | undefined {
    return typeof this.value === "string" ? this.value : this.wrong("a text");
  }

  text(shape = /\S/, expected = "a text that is not empty"): string | undefined {
    return typeof this.value === "string" && shape.test(this.value) ? this.value : this.wrong(expected);
  }

  pattern(): string | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    try {
      new RegExp(text);
      return text;
    } catch (error) {
      return this.fail((error as Error).message);
    }
  }

  oneOf<const Word extends string>(words: readonly Word[], expected = words.join(", ")): Word | undefined {
    const found = words.find((word) => word === this.value);
    if (found !== undefined || typeof this.value !== "string") return found ?? this.wrong(`one of ${expected}`);
    const meant = nearest(this.value, words);
    return this.wrong(`one of ${expected}${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  }

  boolean(): boolean | undefined {
    return typeof this.value === "boolean" ? this.value : this.wrong("true or false");
  }

  number(min = -Infinity, max = Infinity): number | undefined {
    const fits = typeof this.value === "number" && this.value >= min && this.value <= max;
    return fits ? (this.value as number) : this.wrong(Number.isFinite(min + max) ? `a number from ${min} to ${max}` : "a number");
  }

  integer(min = -Infinity, max = Infinity): number | undefined {
    const value = this.number(min, max);
    return value === undefined || Number.isInteger(value) ? value : this.wrong("a whole number");
  }
}
