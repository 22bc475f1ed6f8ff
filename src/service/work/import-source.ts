import { readdirSync, readFileSync } from "node:fs";
import { Failure } from "../../contract/errors.ts";
import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import { packagePath } from "../../files/program-path.ts";
import { type SourceBytes, unpackSource } from "../../files/source/read-source.ts";
import { ArchiveError } from "../../files/tar/archive-error.ts";
import { importLab } from "../../importers/import-lab.ts";
import type { AvailableImages } from "../../importers/mapping/choose-template.ts";
import { readMapping } from "../../importers/mapping/read-mapping.ts";
import { SourceFiles } from "../../importers/source/source-files.ts";
import type { ImportLine } from "../../importers/tree/report.ts";

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
  readonly variables: Readonly<Record<string, string>>;
  /** Tables of node types, as YAML. */
  readonly mapping: readonly string[];
  /** The images of the host by template. Absent: not known. */
  readonly images?: AvailableImages;
}

/** Maximum number of lines of a report in an answer. */
const maxLines = 50_000;
/** Maximum characters of a lab with its files: a larger one would not fit into the request that deploys it. */
const maxCharacters = 32 << 20;

/** Unpacks and reads a lab of another tool. Throws invalid_source, and bad_request for text that is not base64. */
export async function importSource(input: SourceInput): Promise<ImportFileData> {
  const { path, format, substitute, images } = input;
  const { files, leftOut } = await bytesOf(input);
  const { report, ...lab } = importLab(new SourceFiles(files), {
    mapping: readMapping([...input.mapping.map((text, index) => ({ file: `mapping ${index + 1}`, text })), ...shipped()]),
    translateConfigs: input.translateConfigs,
    variables: input.variables,
    ...(path !== undefined && { path }),
    ...(format !== undefined && { format }),
    ...(substitute !== undefined && { substitute }),
    ...(images !== undefined && { images }),
  });
  const characters = Object.values(lab.files).reduce((sum, text) => sum + text.length, lab.yaml.length);
  if (characters > maxCharacters)
    throw new Failure("invalid_source", `the lab with its files has more than ${maxCharacters} characters: import fewer of its files`);
  const shown = shortened(report);
  const count = (level: ImportLine["level"]) => report.filter((line) => line.level === level).length;
  return {
    ...lab,
    counts: { kept: count("kept"), mapped: count("mapped"), dropped: count("dropped") },
    report: shown,
    report_left_out: report.length - shown.length,
    left_out: leftOut,
  };
}

/** Returns the files of the source. */
async function bytesOf({ filename, text, base64, files }: SourceInput): Promise<SourceBytes> {
  if (files !== undefined) {
    const entries = Object.entries(files).map(([path, each]) => [path, Buffer.from(each)] as const);
    return { files: new Map(entries), leftOut: [] };
  }
  try {
    return await unpackSource(base64 === undefined ? Buffer.from(text ?? "") : fromBase64(base64), filename);
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

/** Leaves lines about kept parts out of a report that is too long, and then lines at its end. */
function shortened(report: readonly ImportLine[]): readonly ImportLine[] {
  if (report.length <= maxLines) return report;
  const changed = report.filter(({ level }) => level !== "kept").slice(0, maxLines);
  let room = maxLines - changed.length;
  const shown = new Set(changed);
  return report.filter((line) => shown.has(line) || (line.level === "kept" && room-- > 0));
}

let tables: readonly { readonly file: string; readonly text: string }[] | undefined;

/** The tables of node types that ship. */
function shipped(): NonNullable<typeof tables> {
  const folder = packagePath("mappings");
  tables ??= readdirSync(folder)
    .filter((file) => /\.ya?ml$/.test(file))
    .sort()
    .map((file) => ({ file, text: readFileSync(`${folder}/${file}`, "utf8") }));
  return tables;
}
