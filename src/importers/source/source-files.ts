import { compareNatural } from "../../base/natural-order.ts";
import { normalFilePath } from "../../intent/parse/files.ts";
import { jsonTree } from "../tree/json-tree.ts";
import { refuse } from "../tree/refuse.ts";
import type { SourceNode } from "../tree/source-tree.ts";
import { xmlTree } from "../tree/xml-tree.ts";
import { yamlTree } from "../tree/yaml-tree.ts";
import { textOf } from "./text-decoder.ts";

/** Limits of what one import reads. */
export const sourceLimits = { files: 4096, bytes: 64 * 1024 * 1024, labBytes: 32 * 1024 * 1024 } as const;

/** Files that may be a lab are looked at up to this number. */
const maxCandidates = 256;

export type Notation = "yaml" | "json" | "xml";

const parsers: Readonly<Record<Notation, (text: string, file: string) => SourceNode>> = { yaml: yamlTree, json: jsonTree, xml: xmlTree };

/** The files of a source by normal path: one file, a folder, or an unpacked archive. Texts and trees are made when they are asked for. */
export class SourceFiles {
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #texts = new Map<string, string | undefined>();
  readonly #trees = new Map<string, SourceNode | Error>();
  readonly #wanted = new Set<string>();
  readonly #isComplete: boolean;

  /**
   * Throws invalid_source for paths that leave the folder, and for more than the limits allow.
   * @param isComplete whether the files that a lab names would be among `files` if they existed; false for a file that was given alone
   */
  constructor(files: ReadonlyMap<string, Uint8Array>, isComplete = files.size > 1) {
    this.#isComplete = isComplete;
    const normal = new Map<string, Uint8Array>();
    if (files.size > sourceLimits.files) refuse(`more than ${sourceLimits.files} files`);
    let bytes = 0;
    for (const [name, data] of files) {
      const result = normalFilePath(name.replaceAll("\\", "/"));
      if ("problem" in result) refuse(result.problem, { file: name.slice(0, 200) });
      bytes += data.length;
      if (bytes > sourceLimits.bytes) refuse(`the files have more than ${sourceLimits.bytes} bytes together`);
      normal.set(result.path, data);
    }
    this.#files = new Map([...normal].sort(([a], [b]) => depth(a) - depth(b) || compareNatural(a, b)));
  }

  /** Sorted: first the files that are in the fewest folders. */
  get paths(): readonly string[] {
    return [...this.#files.keys()];
  }

  /** The files that may be a lab: texts that are not too large. */
  get candidates(): readonly string[] {
    const texts: string[] = [];
    for (const [path, { length }] of this.#files) {
      if (length <= sourceLimits.labBytes && this.text(path) !== undefined && texts.push(path) === maxCandidates) break;
    }
    return texts;
  }

  bytes(path: string): Uint8Array | undefined {
    return this.#files.get(path);
  }

  /** Returns the text of a file; undefined: there is no such file, or it is not text. */
  text(path: string): string | undefined {
    if (!this.#texts.has(path)) {
      const bytes = this.#files.get(path);
      this.#texts.set(path, bytes && textOf(bytes));
    }
    return this.#texts.get(path);
  }

  /** Returns the tree of a file that must exist. Throws invalid_source. */
  tree(path: string, notation: Notation): SourceNode {
    const key = `${notation} ${path}`;
    let found = this.#trees.get(key);
    if (found === undefined) {
      found = this.#parse(path, notation);
      this.#trees.set(key, found);
    }
    if (found instanceof Error) throw found;
    return found;
  }

  /** Returns the tree of a file, or undefined if it is not in this notation or must not be read. */
  treeIf(path: string, notation: Notation): SourceNode | undefined {
    try {
      return this.tree(path, notation);
    } catch {
      return undefined;
    }
  }

  /** Files and folders that the lab of an incomplete source names and that are not in it, by normal path. */
  get wanted(): readonly string[] {
    return [...this.#wanted].sort();
  }

  /** Returns why a file or folder that the lab names is missing, for the report. */
  whyMissing(lab: string, name: string): string {
    const shown = name.slice(0, 120);
    if (pathBeside(lab, name) === undefined) return `${shown} is outside the folder of the lab`;
    return this.#isComplete
      ? `there is no file or folder ${shown} beside the lab`
      : `${shown} was not given: import the folder of the lab, or an archive of it`;
  }

  /** Returns the path of a file that a lab file names relative to its own folder; undefined: there is none. */
  beside(lab: string, name: string): string | undefined {
    const path = pathBeside(lab, name);
    if (path === undefined || this.#files.has(path)) return path;
    this.want(lab, name);
    return undefined;
  }

  /** Returns the files of a folder that a lab file names relative to its own, and the folder's path with a slash at its end. */
  below(lab: string, name: string): { readonly folder: string; readonly files: readonly string[] } {
    // The folder of the lab itself is everything, which nobody means.
    const path = pathBeside(lab, name);
    if (path === undefined) return { folder: "", files: [] };
    const files = this.paths.filter((each) => each.startsWith(`${path}/`));
    if (files.length === 0) this.want(lab, name);
    return { folder: `${path}/`, files };
  }

  /** Notes a file or folder that a lab uses, for a source that is one file and may be read again with more of them. */
  want(lab: string, name: string): void {
    const path = pathBeside(lab, name);
    if (!this.#isComplete && path !== undefined && this.#wanted.size < sourceLimits.files) this.#wanted.add(path);
  }

  #parse(path: string, notation: Notation): SourceNode | Error {
    const text = this.text(path);
    try {
      if (text === undefined) return refuse("the file is not text", { file: path });
      if ((this.#files.get(path)?.length ?? 0) > sourceLimits.labBytes)
        return refuse(`a lab file has at most ${sourceLimits.labBytes} bytes`, { file: path });
      return parsers[notation](text, path);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

/** Returns the normal path of a name that is relative to the folder of a lab; undefined: it is outside the source, or the source itself. */
function pathBeside(lab: string, name: string): string | undefined {
  const folder = lab.includes("/") ? lab.slice(0, lab.lastIndexOf("/") + 1) : "";
  const slashed = name.replaceAll("\\", "/");
  const result = normalFilePath(slashed.startsWith("/") ? slashed : joined(`${folder}${slashed}`));
  return "path" in result ? result.path : undefined;
}

/** Resolves "..", as far as it stays in the source; otherwise it stays and the path is refused. */
function joined(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function depth(path: string): number {
  return path.split("/").length;
}
