import { didYouMean } from "../diagnostics/nearest.ts";
import type { Problems } from "../diagnostics/problems.ts";
import { checkKeys, type Field, field, invalid, isNull, readList, readMap, readText, spot } from "../fields/fields.ts";
import type { LabFile } from "../lab/lab.ts";
import { normalFilePath } from "../parse/files.ts";
import { isNodePath, machineBindOf } from "./machine-binds.ts";

/** A file of a node as it is read, with its source in the lab's files. */
export interface ReadFile extends LabFile {
  /** The path in the lab's files, if the text came from there. */
  readonly from?: string;
}

type Files = ReadonlyMap<string, string>;
type NodeFiles = ReadonlyMap<string, ReadFile | null>;

/** Maximum number of files and binds of one node. */
export const maxNodeFiles = 256;
/** Maximum characters of all files of one node together: plans show them, and hosts store them with the node. */
export const maxNodeFilesText = 1_048_576;

/**
 * Maximum files in one map of fields, above the maximum of a node because a node can reset inherited files. A folder with thousands of files in many nodes
 * would fill the memory before filesProblem() counts them.
 */
const maxFormFiles = 4 * maxNodeFiles;

const pathRule = "must be an absolute path in the node, without . and .., and not below /proc, /sys, /dev or /etc/labwright";
const ownerPattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$/;

/** Reads `files`: path in the node → text, {text}, or {from} with a file or folder of the lab; with mode and owner. */
export function readNodeFiles(problems: Problems, files: Files, at: Field): NodeFiles | undefined {
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  const result = new Map<string, ReadFile | null>();
  for (const entry of map.entries.values()) {
    const item = field(entry, at.path);
    if (!isNodePath(entry.key)) {
      problems.error("invalid_path", entry.place, item.path, `the path ${JSON.stringify(entry.key.slice(0, 120))} ${pathRule}`);
      continue;
    }
    if (isNull(entry.value)) result.set(entry.key, null);
    else for (const [path, file] of readFile(problems, files, item, entry.key)) result.set(path, file);
    if (result.size > maxFormFiles) return tooManyFiles(problems, at);
  }
  return result;
}

function tooManyFiles(problems: Problems, at: Field): undefined {
  problems.error("too_large", at.place, at.path, `a node has at most ${maxNodeFiles} files`, "name single files instead of a folder");
}

function readFile(problems: Problems, files: Files, at: Field, path: string): Copies {
  if (at.value.kind !== "map") {
    const text = readText(problems, at, { loose: true });
    return text === undefined ? [] : [[path, { text }]];
  }
  const map = at.value;
  checkKeys(problems, map, at.path, {
    known: ["from", "text", "mode", "owner"],
    ignored: [],
    meant: { content: "text", file: "from", source: "from", user: "owner", permissions: "mode" },
  });
  const [from, text, mode, owner] = ["from", "text", "mode", "owner"].map((key) => {
    const entry = map.entries.get(key);
    return entry === undefined || isNull(entry.value) ? undefined : field(entry, at.path);
  });
  const more = { ...(mode && readMode(problems, mode)), ...(owner && readOwner(problems, owner)) };
  if ((from === undefined) === (text === undefined)) {
    problems.error(
      "missing_key",
      at.place,
      at.path,
      "a file needs either text or from",
      'write {text: "…"}, or {from: PATH} with a file of the lab',
    );
    return [];
  }
  if (from !== undefined) {
    return readCopies(problems, files, from, { path, more });
  }
  const content = readText(problems, text as Field, { loose: true });
  return content === undefined ? [] : [[path, { text: content, ...more }]];
}

function readCopies(
  problems: Problems,
  files: Files,
  at: Field,
  { path, more }: { readonly path: string; readonly more: Pick<LabFile, "mode" | "owner"> },
): Copies {
  const source = readText(problems, at, { loose: true });
  if (source === undefined) return [];
  const normal = normalFilePath(source);
  if ("problem" in normal) {
    problems.error("invalid_path", spot(at), at.path, `${JSON.stringify(source.slice(0, 120))}: ${normal.problem}`);
    return [];
  }
  const found = copies(files, normal.path, path, more);
  if (found.length === 0) {
    const hint = didYouMean(normal.path, files.keys(), problems.effort) ?? "put it beside the lab's file; in a call to the API, into files";
    problems.error("file_not_found", spot(at), at.path, `no file or folder ${JSON.stringify(normal.path)}`, hint);
  }
  return found;
}

/**
 * Reads containerlab's binds: SOURCE:TARGET[:OPTIONS]. The node gets a copy of SOURCE, a file or folder of the lab. Absolute sources are paths of the
 * machine, which readMachineBinds reads. A bind without effect is only a warning, so that labs that were written for containerlab can be deployed.
 */
export function readBinds(problems: Problems, files: Files, at: Field): NodeFiles | undefined {
  const result = new Map<string, ReadFile | null>();
  for (const item of readList(problems, at) ?? []) {
    const text = readText(problems, item, { loose: true });
    if (text === undefined) continue;
    const bind = copiesOfBind(files, text);
    if (Array.isArray(bind)) for (const [path, file] of bind) result.set(path, file);
    else {
      const { why, hint } = bind as Useless;
      problems.warn("ignored_key", spot(item), item.path, `the bind ${JSON.stringify(text.slice(0, 120))} has no effect: ${why}`, hint);
    }
    if (result.size > maxFormFiles) return tooManyFiles(problems, at);
  }
  return result;
}

interface Useless {
  readonly why: string;
  readonly hint?: string;
}

function copiesOfBind(files: Files, text: string): Copies | Useless {
  const [source = "", target = ""] = text.split(":");
  const path = target.replace(/(.)\/+$/, "$1");
  if (machineBindOf(text) !== undefined) return [];
  if (!isNodePath(path)) return { why: `of SOURCE:TARGET, TARGET ${pathRule}` };
  if (/^[/~$\\]/.test(source)) {
    const hint = "write a path of the machine in full, without ~, variables, . and ..; or a file of the lab by its relative path";
    return { why: "SOURCE is not a path of the machine", hint };
  }
  const normal = normalFilePath(source);
  if ("problem" in normal) return { why: normal.problem };
  const found = copies(files, normal.path, path, {});
  return found.length > 0
    ? found
    : { why: `there is no file or folder ${JSON.stringify(normal.path)}`, hint: "put it beside the lab's file" };
}

type Copies = readonly (readonly [string, ReadFile])[];

/** Returns the node's file for a file of the lab, or one for each file of a folder. A script with a line `#!` is executable unless it has a mode. */
function copies(files: Files, source: string, path: string, more: Pick<LabFile, "mode" | "owner">): Copies {
  const copy = (name: string): ReadFile => {
    const text = files.get(name) as string;
    return { text, ...(text.startsWith("#!") && { mode: 0o755 }), ...more, from: name };
  };
  if (files.has(source)) return [[path, copy(source)]];
  return namesIn(files, `${source}/`).map((name) => [`${path}${name.slice(source.length)}`, copy(name)]);
}

const sortedNames = new WeakMap<Files, readonly string[]>();

/** Returns the names in a folder, one more than a map of fields can have at most. Many nodes may name a folder of a lab with thousands of files. */
function namesIn(files: Files, folder: string): readonly string[] {
  const names = sortedNames.get(files) ?? [...files.keys()].sort();
  sortedNames.set(files, names);
  let [first, end] = [0, names.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (names[middle]! < folder) first = middle + 1;
    else end = middle;
  }
  const found: string[] = [];
  for (let at = first; names[at]?.startsWith(folder) && found.length <= maxFormFiles; at++) found.push(names[at]!);
  return found;
}

function readMode(problems: Problems, at: Field): { readonly mode: number } | undefined {
  const text = at.value.kind === "scalar" ? at.value.text : "";
  if (/^(0o?)?[0-7]{3}$/.test(text)) return { mode: Number.parseInt(text.slice(-3), 8) };
  return invalid(problems, at, 'a mode is three octal digits such as "0644" or 755');
}

function readOwner(problems: Problems, at: Field): { readonly owner: string } | undefined {
  const text = readText(problems, at, { loose: true });
  if (text === undefined || ownerPattern.test(text)) return text === undefined ? undefined : { owner: text };
  return invalid(problems, at, "an owner is USER or USER:GROUP of the node, by names or numbers");
}

/** Returns the fields of a node for its files; none without files. */
export function filesOf(
  binds: NodeFiles | null | undefined,
  files: NodeFiles | null | undefined,
): { readonly files?: Readonly<Record<string, LabFile>>; readonly fileSources?: Readonly<Record<string, string>> } {
  const all = [...new Map([...(binds ?? []), ...(files ?? [])])]
    .filter((one): one is [string, ReadFile] => one[1] !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (all.length === 0) return {};
  const sources = all.flatMap(([path, { from }]) => (from === undefined ? [] : [[path, from] as const]));
  return {
    files: Object.fromEntries(all.map(([path, { from: _from, ...file }]) => [path, file])),
    ...(sources.length > 0 && { fileSources: Object.fromEntries(sources) }),
  };
}

/** Returns the problem of too many or too large files. */
export function filesProblem(files: Readonly<Record<string, LabFile>> = {}): string | undefined {
  const all = Object.values(files);
  const size = all.reduce((sum, { text }) => sum + text.length, 0);
  if (all.length > maxNodeFiles) return `a node has at most ${maxNodeFiles} files, not ${all.length}`;
  return size > maxNodeFilesText ? `the files of a node have at most ${maxNodeFilesText} characters together, not ${size}` : undefined;
}
