import { isMap, LineCounter, parseDocument } from "yaml";
import type { LocalTemplate, ReadyCheck } from "../template.ts";
import { templateFields } from "../template.ts";
import { maxVmInterfaces, supervisor } from "../vm-template.ts";
import { readAttributes } from "./read-attributes.ts";
import { readConsole, readSave } from "./read-console.ts";
import { readContainer, readNeeds } from "./read-container.ts";
import { fieldRules } from "./read-fields.ts";
import { readFormats } from "./read-interfaces.ts";
import { readVm } from "./read-vm.ts";
import { given, type MapReader, Reader } from "./reader.ts";

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
    (consoleMap?.get("type") ?? top).fail("a virtual machine has a console of type serial, and other nodes have another type");
  const vm = backend === "vm" ? readVm(map.get("vm"), map.get("ready"), base?.vm) : undefined;
  if (backend !== "vm") map.get("vm").optional()?.fail("vm is only for backend vm");
  if (backend !== "container") map.get("container").optional()?.fail("container is only for backend container");
  const containerReader = backend === "container" ? map.get("container").optional() : undefined;
  const container = containerReader === undefined ? base?.container : readContainer(containerReader);
  const usual = readImages(map, { backend, images, base });
  const ready =
    vm === undefined ? (readReady(map.get("ready")) ?? base?.ready) : vm.ready === undefined ? undefined : { argv: [supervisor, "ready"] };
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
  if (backend === "bridge") map.get("system-calls").optional()?.fail("a bridge has no process: remove system-calls");
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
    ...(ready === undefined ? {} : { ready }),
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
  for (const id of also) if (!idShape.test(id)) reader.fail(`${id} is not an id: ${idText}`);
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
  if (names !== undefined && backend !== "container") map.get("image-names").fail("image-names is only for backend container");
  const imageSource = map.get("image-source").optional()?.text() ?? base?.imageSource;
  return {
    ...(usualImage === undefined ? {} : { usualImage }),
    imageNames: names?.map((part) => part.toLowerCase()) ?? base?.imageNames ?? [],
    ...(imageSource === undefined ? {} : { imageSource }),
  };
}

function readSoftware(reader: Reader, backend: LocalTemplate["backend"]): LocalTemplate["software"] {
  const map = reader.optional()?.map(["name", "files", "source"], ["license"]);
  if (map === undefined) return undefined;
  if (backend === "namespace" || backend === "bridge")
    return reader.fail("software is only for backend vm or container, whose images users add");
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
    if (boot.length > 0) top.fail("a container's image defines what it runs: remove boot");
  } else if (backend === "vm") {
    if (boot.length > 0) map.get("boot").fail("a virtual machine boots by itself: remove boot");
    if (type !== "serial") (at.console?.get("type") ?? top).fail("the console of a virtual machine is serial");
    at.interfaces?.get("max").optional()?.integer(1, maxVmInterfaces);
  } else if (images.length + boot.length > 0 || type !== "none") {
    top.fail("a bridge has no process: remove images, boot and console");
  }
  if (backend !== "container" && (type === "telnet") !== argv.length > 0)
    (at.console?.get("argv") ?? top).fail("a console of type telnet needs argv, and another type has none");
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

function readReady(reader: Reader): ReadyCheck | undefined {
  const map = reader.optional()?.map(["argv"], ["daemons", "restart"]);
  if (map === undefined) return undefined;
  const daemons = map.get("daemons").optional()?.texts();
  const restart = map.get("restart").optional()?.text();
  return { argv: map.get("argv").texts(), ...(daemons !== undefined && { daemons }), ...(restart !== undefined && { restart }) };
}
