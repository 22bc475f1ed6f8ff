import { createHash } from "node:crypto";
import { basename } from "node:path";
import { Failure } from "../../contract/errors.ts";
import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import { readTables, shippedTables, type TableText } from "../../files/mapping-tables.ts";
import { type SourceBytes, unpackSource } from "../../files/source/read-source.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import { templateTexts } from "../../files/template-texts.ts";
import { type ImportedLab, type ImportOptions, importLab } from "../../importers/import-lab.ts";
import { countsOf, fileSource, shortenedReport } from "../../importers/lab-source.ts";
import type { AvailableImages } from "../../importers/mapping/choose-template.ts";
import { type MachineOf, type MachineTemplate, machinesOf } from "../../importers/mapping/machine-template.ts";
import { readMapping } from "../../importers/mapping/read-mapping.ts";
import { SourceFiles } from "../../importers/source/source-files.ts";
import { knownTemplates } from "../../intent/places/known-templates.ts";
import { archivedLab, type OwnLab, ownLab } from "./own-lab.ts";

/** A file of another tool, and the options of its import. One of text, base64 and files is set. */
export interface SourceInput {
  readonly filename: string;
  readonly text?: string;
  readonly base64?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly format?: string;
  readonly substitute?: "frr" | "linux";
  readonly translateConfigs: boolean;
  /** RFC 3339. */
  readonly importedAt: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Tables of node types, as YAML. */
  readonly mapping: readonly string[];
  /** Folder of the service's own tables. It need not exist. */
  readonly mappingFolder?: string;
  /** A lab of Labwright is returned as it is, instead of refused. */
  readonly acceptsOwn?: boolean;
  /** The images of the host by template. Absent: not known. */
  readonly images?: AvailableImages;
  /** The host's templates of virtual machines. Absent: not known, so that Labwright's own count. */
  readonly machines?: readonly MachineTemplate[];
}

/** Maximum number of lines of a report in an answer. */
const maxLines = 50_000;
/** Maximum characters of a lab with its files: a larger one would not fit into the request that deploys it. */
const maxCharacters = 32 << 20;

/** Unpacks and reads a lab of another tool. Throws invalid_source, and bad_request for text that is not base64. */
export async function importSource(input: SourceInput): Promise<ImportFileData> {
  const { path, format, substitute, images } = input;
  const { files, leftOut } = await archiveRefusals(() => bytesOf(input));
  const archived = await archiveRefusals(async () => archivedLab({ files, leftOut }));
  if (archived !== undefined) {
    checkSize(archived);
    return { ...archived, left_out: [] };
  }
  const options: ImportOptions = {
    machineOf: await machineOf(input),
    mapping: readMapping(await tablesOf(input)),
    translateConfigs: input.translateConfigs,
    variables: input.variables,
    ...(path !== undefined && { path }),
    ...(format !== undefined && { format }),
    ...(substitute !== undefined && { substitute }),
    ...(images !== undefined && { images }),
    leftOut,
  };
  const imported = importedOrOwn(files, options, input.acceptsOwn === true);
  if ("own" in imported) return { ...imported.own, left_out: leftOut };
  const { report, ...lab } = imported.lab;
  checkSize(lab);
  const shown = shortenedReport(report, { lines: maxLines, characters: Number.POSITIVE_INFINITY });
  const digest = createHash("sha256")
    .update(files.get(lab.path) ?? "")
    .digest("hex");
  return {
    ...lab,
    counts: countsOf(report),
    report: shown,
    report_left_out: report.length - shown.length,
    source: fileSource({ ...lab, report }, { digest, importedAt: input.importedAt }),
    left_out: leftOut,
  };
}

function checkSize({ yaml, files }: Pick<ImportFileData, "yaml" | "files">): void {
  const characters = Object.values(files).reduce((sum, text) => sum + text.length, yaml.length);
  if (characters > maxCharacters)
    throw new Failure("invalid_source", `the lab with its files has more than ${maxCharacters} characters: import fewer of its files`);
}

/** Returns a lab of another tool. If there is none, and it is asked for, returns a lab of Labwright. */
function importedOrOwn(
  files: SourceBytes["files"],
  options: ImportOptions,
  acceptsOwn: boolean,
): { readonly lab: ImportedLab } | { readonly own: OwnLab } {
  try {
    return { lab: importLab(new SourceFiles(files), options) };
  } catch (error) {
    const isNone = error instanceof Failure && error.code === "invalid_source" && error.data?.["candidates"] === undefined;
    const own = isNone && acceptsOwn ? ownLab(files) : undefined;
    if (own === undefined) throw error;
    return { own };
  }
}

/** Returns the files of the source. */
async function bytesOf({ filename, text, base64, files }: SourceInput): Promise<SourceBytes> {
  if (files !== undefined) {
    const entries = Object.entries(files).map(([path, each]) => [path, Buffer.from(each)] as const);
    return { files: new Map(entries), leftOut: [] };
  }
  return unpackSource(base64 === undefined ? Buffer.from(text ?? "") : fromBase64(base64), filename);
}

async function archiveRefusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new Failure("invalid_source", error.message, error.hint === undefined ? {} : { data: { hint: error.hint } });
  }
}

function fromBase64(text: string): Buffer {
  // Spaces have one place before a padding character: with two, a long run of them would take quadratic time.
  if (!/^[A-Za-z0-9+/\s]*(?:=\s*){0,2}$/.test(text)) {
    const problem = { path: "/base64", message: "is not base64" };
    throw new Failure("bad_request", `${problem.path}: ${problem.message}`, { data: { problems: [problem] } });
  }
  return Buffer.from(text, "base64");
}

let own: MachineOf | undefined;

async function machineOf({ machines }: SourceInput): Promise<MachineOf> {
  own ??= machinesOf(knownTemplates(await templateTexts()));
  const ofLabwright = own;
  if (machines === undefined) return ofLabwright;
  // The facts of containers are those of Labwright's own templates.
  return (id) => {
    const found = ofLabwright(id);
    return machines.find((machine) => machine.id === id) ?? (found?.isContainer === true ? found : undefined);
  };
}

let shipped: readonly TableText[] | undefined;

/** Returns the tables of node types: those of the caller, of the service's folder, and of Labwright. A table wins over the ones after it. */
/** Returns the service's own tables. One that cannot be read would change what becomes of nodes: it refuses the import, as one with a mistake does. */
async function ownTables(folder: string): Promise<readonly TableText[]> {
  try {
    return await readTables([], folder);
  } catch (error) {
    const { code = "it is not a plain file", path } = error as NodeJS.ErrnoException;
    const name = path === undefined ? "a table" : basename(path);
    const message = `${name} in the service's folder mappings cannot be read (${code}): its administrator corrects or removes it`;
    throw new Failure("invalid_source", message, { cause: error });
  }
}

async function tablesOf({ mapping, mappingFolder }: SourceInput): Promise<readonly TableText[]> {
  const sent = mapping.map((text, index) => ({ file: `mapping ${index + 1}`, text }));
  const own = mappingFolder === undefined ? [] : await ownTables(mappingFolder);
  shipped ??= await readTables([shippedTables()]);
  // Paths of the service are not for users.
  return [...sent, ...own.map(({ file, text }) => ({ file: `the service's ${basename(file)}`, text })), ...shipped];
}
