import { open, readdir, realpath, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { shellWord } from "../../base/shell-word.ts";
import { NotPlainError, openPlain } from "../../files/read-plain-file.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { referencedFiles, variableFilesOf } from "../../intent/parse/references.ts";
import { labNameIn, readIntent } from "../../intent/read/read.ts";
import type { Arguments } from "./arguments.ts";
import { UsageError } from "./usage-error.ts";

/** A lab's file and the files that it names, as read from disk. */
export interface ProjectFile {
  /** The name as given or found, for messages. */
  readonly name: string;
  readonly path: string;
  readonly folder: string;
  readonly yaml: string;
  /** Path relative to the folder → text. */
  readonly files: Readonly<Record<string, string>>;
}

/** The lab of a command, and its fields in a request: the intent, the path on the host, or both. */
export interface Project {
  readonly file: ProjectFile | undefined;
  readonly selector: { readonly lab?: string; readonly yaml?: string; readonly files?: Readonly<Record<string, string>> };
  /** The name for messages. */
  readonly title: string;
  /** The machine's name and the path of the file, with links resolved. Absent without a file. */
  readonly origin?: string;
}

/** Finds the project of --topo, --lab or the current folder. Throws UsageError. */
export async function findProject(args: Arguments): Promise<Project> {
  const lab = args.text("lab");
  const topo = args.text("topo");
  if (topo === undefined && lab !== undefined) return { file: undefined, selector: { lab }, title: lab };
  const name = await labFileOf(topo ?? ".");
  // Only a file that the user names may be a pipe, such as <(make-lab).
  const file = await readProjectFile(name, { mustBePlain: name !== topo });
  const origin = `${hostname()}:${await realpath(file.path)}`;
  return { file, selector: { ...(lab === undefined ? {} : { lab }), yaml: file.yaml, files: file.files }, title: lab ?? file.name, origin };
}

/**
 * Returns the project for commands that need only the lab's name: if the file has errors, the selector contains the path alone. Throws UsageError if the name
 * cannot be read either.
 */
export function byName(project: Project): { readonly project: Project; readonly warning?: string } {
  const { file, selector } = project;
  if (file === undefined) return { project };
  const errors = diagnose(file).filter(({ severity }) => severity === "error").length;
  if (errors === 0) return { project };
  const name = labNameIn(file.yaml, file.files);
  const lab = selector.lab ?? (name === undefined ? undefined : `/${name}`);
  const count = `${file.name} has ${errors} error${errors === 1 ? "" : "s"}`;
  const check = `labwright validate -t ${shellWord(file.name)} shows ${errors === 1 ? "it" : "them"}`;
  if (lab === undefined) throw new UsageError(`${count}, and no name of a lab can be read from it`, `--lab /NAME names the lab; ${check}`);
  return { project: { ...project, selector: { lab } }, warning: `${count}, so that only its lab's name is used: ${lab}; ${check}` };
}

/** Returns the flags that name the project, for commands in hints. */
export function labFlags({ file, selector }: Project): string {
  const lab = selector.lab === undefined ? [] : [`--lab ${shellWord(selector.lab)}`];
  return [...(file === undefined ? [] : [`-t ${shellWord(file.name)}`]), ...lab].join(" ");
}

interface ReadOptions {
  /** Default: false. The files that the lab names must always be plain files. */
  readonly mustBePlain?: boolean;
  /** Texts that take the place of files that the lab names. */
  readonly given?: Readonly<Record<string, string>>;
}

/** Reads a lab's file and the files that it names. Throws UsageError. */
export async function readProjectFile(name: string, { mustBePlain = false, given = {} }: ReadOptions = {}): Promise<ProjectFile> {
  const path = resolve(name);
  const yaml = await readText(path, name, mustBePlain);
  const folder = dirname(path);
  // The files of variables first: names of other files can contain variables.
  const first = await readAll(folder, variableFilesOf(yaml), given);
  const files = await readAll(folder, referencedFiles(yaml, first), given);
  return { name, path, folder, yaml, files };
}

async function readAll(
  folder: string,
  names: readonly string[],
  given: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const file of names) {
    const text = Object.hasOwn(given, file) ? given[file] : undefined;
    if (text !== undefined) {
      files[file] = text;
      continue;
    }
    for (const each of await filesAt(folder, file)) {
      const text = await readInside(folder, each);
      if (text !== undefined) files[each] = text;
    }
  }
  return files;
}

/** Returns every problem that can be found without a service. */
export function diagnose(file: ProjectFile): readonly Diagnostic[] {
  return readIntent(file.yaml, file.files).diagnostics;
}

/** Returns the file itself, or the only lab's file in a folder. */
async function labFileOf(name: string): Promise<string> {
  const isFolder = await stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? await onlyLabFile(name) : name;
}

async function onlyLabFile(folder: string): Promise<string> {
  const all = (await readdir(folder)).sort();
  const names = all.filter((name) => /\.(lw|clab)\.ya?ml$/.test(name) || name === "lab.yaml" || name === "lab.yml");
  const [only, second] = names;
  const where = folder === "." ? "this folder" : folder;
  if (only === undefined) {
    const other = all.find((name) => /\.ya?ml$/.test(name));
    throw new UsageError(
      `there is no lab in ${where} (*.lw.yml, *.clab.yml, lab.yaml)`,
      other === undefined ? "name a file with -t FILE, or a lab with --lab PATH" : `name the file, such as -t ${join(folder, other)}`,
    );
  }
  if (second !== undefined)
    throw new UsageError(`there are several labs in ${where}: ${names.join(", ")}`, `name one, such as -t ${join(folder, only)}`);
  return join(folder, only);
}

/** Maximum number of files in a folder that a lab names. */
const maxFolderFiles = 256;

/** Returns the path itself, or the files of a folder and its folders. A link to a file counts as that file. Throws UsageError for other links. */
async function filesAt(folder: string, path: string): Promise<readonly string[]> {
  const found = await stat(join(folder, path)).catch(() => undefined);
  if (found?.isDirectory() !== true) return [path];
  const files: string[] = [];
  const folders = [path];
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    for (const entry of (await readdir(join(folder, next), { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory()) folders.push(`${next}/${entry.name}`);
      else if (entry.isFile()) files.push(`${next}/${entry.name}`);
      else if (entry.isSymbolicLink()) files.push(await linkedFile(folder, `${next}/${entry.name}`));
      if (files.length + folders.length > maxFolderFiles)
        throw new UsageError(
          `the folder ${path} has more than ${maxFolderFiles} files and folders`,
          "labwright cp copies large folders into running nodes",
        );
    }
  }
  return files;
}

/** Returns the path of a link to a file. */
async function linkedFile(folder: string, path: string): Promise<string> {
  const found = await stat(join(folder, path)).catch(() => undefined);
  if (found?.isFile() === true) return path;
  throw new UsageError(
    `${path} is a link ${found === undefined ? "to nothing" : "to no file"}, which a node cannot get`,
    "only links to files of the lab become files of a node: remove the link, or copy the folder with labwright cp",
  );
}

/** Reads a file that the lab names. `undefined` if it does not exist, which is a diagnostic of the intent. Throws for files outside of the folder. */
async function readInside(folder: string, file: string): Promise<string | undefined> {
  const path = join(folder, file);
  let real: string;
  try {
    real = await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
  const way = relative(await realpath(folder), real);
  if (way === ".." || way.startsWith(`..${sep}`)) {
    throw new UsageError(`${file} is a link to a file outside of the lab's folder`, "copy the file into the folder");
  }
  // A folder is as wrong as no file: the intent's diagnostics name the node and the line.
  if ((await stat(real)).isDirectory()) return undefined;
  return await readText(real, file, true, "configurations and files of a lab are text: labwright cp copies other files into running nodes");
}

/** Maximum size of a lab's file or of a configuration, bytes: twice the largest text that a service accepts. */
const maxFileBytes = 32 * 1024 * 1024;

/** Devices and pipes have no size, and may never end: reads no more than the maximum. */
async function readBounded(path: string, name: string, mustBePlain: boolean): Promise<Buffer> {
  await using file = mustBePlain ? await openPlain(path) : await open(path);
  const parts: Buffer[] = [];
  for (let size = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(65_536));
    if (bytesRead === 0) return Buffer.concat(parts);
    size += bytesRead;
    if (size > maxFileBytes)
      throw new UsageError(`${name} is larger than 32 MiB, the maximum of a lab's file`, "name the lab's file with -t FILE");
    parts.push(buffer.subarray(0, bytesRead));
  }
}

async function readText(
  path: string,
  name: string,
  mustBePlain: boolean,
  hint = "save it as UTF-8, or name another file with -t FILE",
): Promise<string> {
  let content: Buffer;
  try {
    content = await readBounded(path, name, mustBePlain);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof NotPlainError) throw new UsageError(`${name} is not a plain file`, "replace the FIFO, socket or device by a file");
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      throw new UsageError(`there is no file ${name}`, "name the lab's file with -t FILE, or a lab on the host with --lab PATH");
    if (code === "EISDIR") throw new UsageError(`${name} is a folder`, `name the file: ${join(name, "lab.yaml")}`);
    if (code === "EACCES") throw new UsageError(`${name} may not be read`, "check its permissions");
    throw new UsageError(`cannot read ${name}: ${(error as Error).message}`, "check the file, and the disk or network share that it is on");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new UsageError(`${name} is not UTF-8 text`, hint);
  }
}
