import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { Failure } from "../../contract/errors.ts";
import { unpackLab } from "../../files/lab-archive/unpack-lab.ts";
import { readTables, shippedTables, type TableText } from "../../files/mapping-tables.ts";
import { readNamed } from "../../files/source/read-named.ts";
import { readFolder, type SourceBytes, sourceLimits, unpackSource } from "../../files/source/read-source.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import type { ImportedLab } from "../../importers/import-lab.ts";
import { fileSource } from "../../importers/lab-source.ts";
import { substitutes } from "../../importers/mapping/choose-template.ts";
import { formatNames } from "../../importers/reading/format-names.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import { type DiskArchive, readDiskArchive } from "../archive/disk-archive.ts";
import { importArchive } from "../archive/import-archive.ts";
import type { Arguments } from "../command/arguments.ts";
import type { Command } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import { reportFileOf } from "../command/lab-source.ts";
import { UsageError } from "../command/usage-error.ts";
import { builtinTemplates } from "../project-files/builtin-templates.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { replaceFile } from "../project-files/replace-file.ts";
import { readStream } from "../project-files/standard-input.ts";
import { mustBeNew, writeProject } from "../project-files/write-project.ts";
import { groupedReport, reportLine } from "../show/report/grouped-report.ts";

export const importFile: Command = {
  name: "import-file",
  summary: "Make a lab of a file of another tool",
  operands: "FILE|DIR|-",
  maxOperands: 1,
  offline: true,
  details:
    "Finds the format by the content, and works without a service. Prints the lab, or writes it with its files (--output). The report lists each part of\n" +
    "the source as kept, mapped or dropped. An archive of labwright export is unpacked, after its digests are compared;\n" +
    "labwright disks --import uploads its disks.",
  flags: [
    {
      long: "output",
      value: "FILE",
      completes: "file",
      summary: "Write the lab to this file, which must not exist yet, and its files beside it",
    },
    {
      long: "format",
      value: "FORMAT",
      choices: [...formatNames, "json"],
      summary: "Format of the file, if its content does not show it; json: write the result as JSON",
    },
    { long: "path", value: "PATH", summary: "The lab's file within the folder or archive, if there are several" },
    {
      long: "substitute",
      value: "TEMPLATE",
      choices: substitutes,
      summary: "Replace nodes whose image is not there: routers by this template, hosts by linux, switches by switch",
    },
    { long: "translate-configs", summary: "Make FRR configurations of those in the language of IOS, for routers that FRR replaces" },
    {
      long: "var",
      value: "NAME=VALUE",
      multiple: true,
      summary: "Value of a variable that the file names, as in topologies of containerlab",
    },
    {
      long: "mapping",
      value: "FILE",
      multiple: true,
      completes: "file",
      summary: "More rules for node types; they win over those of labwright-mappings/, which win over Labwright's own",
    },
    { long: "report", summary: "Show each line of the report, also what was kept" },
  ],
  example: "labwright import-file campus.clab.yml --output campus.lw.yml",
  run: async (context, args) => {
    const [source] = args.operands;
    if (source === undefined)
      throw new UsageError("import-file needs a file, a folder, or - for standard input", `formats: ${formatNames.join(", ")}`);
    const output = args.text("output");
    if (output !== undefined) for (const file of [output, reportFileOf(output)]) await mustBeNew(file);
    const large = await refusals(() => diskArchive(source));
    if (large !== undefined) {
      await importArchive(context, { ...large, output, source });
      return 0;
    }
    const given = await sourceBytes(context, source);
    const archived = await refusals(async () => unpackLab(given));
    if (archived !== undefined) {
      await importArchive(context, { lab: archived, output, source });
      return 0;
    }
    const [format, path, substitute] = [args.text("format"), args.text("path"), args.text("substitute")];
    const [{ importLab }, { SourceFiles }, { readMapping }, { machinesOf }] = await Promise.all([
      import("../../importers/import-lab.ts"),
      import("../../importers/source/source-files.ts"),
      import("../../importers/mapping/read-mapping.ts"),
      import("../../importers/mapping/machine-template.ts"),
    ]);
    const tables = await tablesFor(args.texts("mapping"));
    const options = {
      mapping: readMapping(tables),
      machineOf: machinesOf(await builtinTemplates()),
      ...(format !== undefined && format !== "json" && { format }),
      ...(path !== undefined && { path }),
      leftOut: given.leftOut,
      translateConfigs: args.has("translate-configs"),
      variables: variablesOf(args.texts("var")),
      ...(substitute !== undefined && { substitute: substitute as (typeof substitutes)[number] }),
    };
    const { lab, bytes } = await refusals(async () => {
      const files = new SourceFiles(given.files, given.folder !== undefined ? false : undefined);
      const alone = importLab(files, options);
      if (given.folder === undefined || files.wanted.length === 0) return { lab: alone, bytes: given };
      const named = await readNamed(given.folder, files.wanted);
      const bytes = { files: new Map([...named.files, ...given.files]), leftOut: [...given.leftOut, ...named.leftOut] };
      return { lab: importLab(new SourceFiles(bytes.files, true), { ...options, path: alone.path }), bytes };
    });
    const written = output === undefined ? [] : await writeWithReport(output, lab, bytes);
    if (context.json) context.terminal.print(JSON.stringify({ ...lab, left_out: bytes.leftOut, written }, null, 2));
    else show(context, args, { lab, written, leftOut: bytes.leftOut });
    return lab.diagnostics.some(({ severity }) => severity === "error") ? 1 : 0;
  },
};

/** Returns an archive with disks, which is not read into memory; undefined for any other source. */
async function diskArchive(source: string): Promise<DiskArchive | undefined> {
  const isFile = source !== "-" && (await stat(source).catch(() => undefined))?.isFile() === true;
  return isFile ? readDiskArchive(source) : undefined;
}

/** Folder of a project's own tables of node types, in the current folder. */
const projectTables = "labwright-mappings";

/** Returns the tables of node types: those of --mapping, those of the project, and those of Labwright. A table wins over the ones after it. */
async function tablesFor(named: readonly string[]): Promise<readonly TableText[]> {
  try {
    return [...(await readTables(named, projectTables)), ...(await readTables([shippedTables()]))];
  } catch (error) {
    const { path, code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new UsageError(`there is no file or folder ${path}`, "--mapping FILE names a table of node types");
    throw fileFailure(error);
  }
}

/** Writes the lab, its files and its report, which a deploy stores with the lab. Returns the names of the written files, the lab last. */
async function writeWithReport(output: string, lab: ImportedLab, { files }: SourceBytes): Promise<readonly string[]> {
  const path = reportFileOf(output);
  const written = await writeProject(output, lab, [path]);
  const digest = createHash("sha256")
    .update(files.get(lab.path) ?? "")
    .digest("hex");
  const source = fileSource(lab, { digest, importedAt: new Date().toISOString() });
  await replaceFile(resolve(path), undefined, `${JSON.stringify(source, null, 1)}\n`);
  return [path, ...written];
}

function variablesOf(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--var takes NAME=VALUE, not "${text}"`);
      return [name, value];
    }),
  );
}

/** The CLI shows a refusal as a mistake of its input. */
async function refusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArchiveError) throw new UsageError(error.message, error.hint);
    if (!(error instanceof Failure)) throw error;
    const candidates = error.data?.candidates ?? [];
    throw new UsageError(`${error.message} (${error.code})`, candidates.length > 0 ? `--path ${candidates[0]}` : undefined);
  }
}

/** `folder` is set for a single file that is not an archive: the files that it names are there. */
async function sourceBytes({ terminal }: Context, source: string): Promise<SourceBytes & { readonly folder?: string }> {
  try {
    if (source === "-") return await unpackSource(await readStream(terminal.stdin, sourceLimits.archiveBytes), "stdin");
    const stats = await stat(source);
    if (stats.isDirectory()) return await readFolder(source);
    // A FIFO or a device has no size.
    if (!stats.isFile())
      return await unpackSource(await readStream(createReadStream(source), sourceLimits.archiveBytes, source), basename(source));
    if (stats.size > sourceLimits.archiveBytes)
      throw new UsageError(`${source} has more than ${sourceLimits.archiveBytes} bytes`, "import the file of the lab alone");
    const data = await readFile(source);
    const unpacked = await unpackSource(data, basename(source));
    return unpacked.files.get(basename(source)) === data ? { ...unpacked, folder: dirname(resolve(source)) } : unpacked;
  } catch (error) {
    if (error instanceof ArchiveError) throw new UsageError(error.message, error.hint);
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new UsageError(`there is no file or folder ${source}`);
    throw fileFailure(error, source);
  }
}

interface Result {
  readonly lab: ImportedLab;
  readonly written: readonly string[];
  readonly leftOut: SourceBytes["leftOut"];
}

/** The lab goes to standard output, so that it can be redirected; everything about it to standard error. */
function show({ terminal }: Context, args: Arguments, { lab, written, leftOut }: Result): void {
  if (written.length === 0) terminal.print(lab.yaml.trimEnd());
  const count = (level: string) => lab.report.filter((line) => line.level === level).length;
  terminal.note(`${lab.path}: ${lab.format}; ${count("kept")} kept, ${count("mapped")} mapped, ${count("dropped")} dropped`);
  const changed = lab.report.filter(({ level }) => level !== "kept");
  for (const line of args.has("report") ? lab.report.map(reportLine) : groupedReport(changed)) terminal.note(line);
  for (const { path, bytes } of leftOut) terminal.note(`  ${path}: dropped: a file of ${bytes} bytes is too large to import`);
  for (const { nodes, image, template, file } of lab.missing) {
    terminal.note(
      `image ${image} (template ${template}) is needed by ${nodes.slice(0, 8).join(", ")}${nodes.length > 8 ? ", …" : ""}${file !== undefined ? `: ${file}` : template === "qemu" ? "" : ": it is pulled before the first start"}`,
    );
  }
  if (lab.diagnostics.length > 0)
    terminal.complain(showDiagnostics(lab.diagnostics, { yaml: lab.yaml, files: lab.files, name: written.at(-1) ?? lab.name }));
  if (written.length > 0) terminal.note(`wrote ${written.join(", ")}`);
  else if (Object.keys(lab.files).length > 0)
    terminal.note(`the lab names ${Object.keys(lab.files).length} files: --output FILE writes them beside it`);
}
