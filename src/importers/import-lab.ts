import { Failure } from "../contract/errors.ts";
import type { Diagnostic } from "../intent/diagnostics/diagnostic.ts";
import { readIntent } from "../intent/read/read.ts";
import { writeDraft } from "./draft/write-draft.ts";
import { importers } from "./importers.ts";
import type { MissingImage } from "./mapping/choose-template.ts";
import type { Importer, ReadOptions } from "./reading/importer.ts";
import type { SourceFiles } from "./source/source-files.ts";
import { refuse } from "./tree/refuse.ts";
import { type ImportLine, reportOf } from "./tree/report.ts";

export interface ImportOptions extends ReadOptions {
  /** Absent: found by content. */
  readonly format?: string;
  /** The file of the lab, if the source has several. */
  readonly path?: string;
  /** Files of the source that were not read, because they are too large: their paths and sizes. */
  readonly leftOut?: readonly { readonly path: string; readonly bytes: number }[];
}

export interface ImportedLab {
  readonly format: string;
  /** Path of the lab's file in the source. */
  readonly path: string;
  readonly name: string;
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
  readonly report: readonly ImportLine[];
  /** Images that nodes need and that are not there, with the nodes that need them or have a stand-in. */
  readonly missing: readonly (MissingImage & { readonly nodes: readonly string[] })[];
  /** Problems of the new lab; errors only if the source itself has them. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads a lab of another tool. Pure: the same files and options give the same lab. Throws invalid_source if the files are not lab, or must not be read, and nothing else.
 */
export function importLab(files: SourceFiles, options: ImportOptions): ImportedLab {
  const { importer, path } = find(files, options);
  const { draft, parts } = importer.read(files, path, options);
  const { yaml, files: texts } = writeDraft(draft, [`Imported from ${path} (${importer.title}).`], {
    translateConfigs: options.translateConfigs === true,
  });
  const missing = new Map<string, MissingImage & { nodes: string[] }>();
  for (const { node, image } of draft.missing) {
    const key = `${image.template} ${image.image}`;
    const found = missing.get(key) ?? { ...image, nodes: [] };
    missing.set(key, found);
    found.nodes.push(node);
  }
  return {
    format: importer.format,
    path,
    name: draft.name,
    yaml,
    files: texts,
    report: parts.flatMap(reportOf),
    missing: [...missing.values()],
    diagnostics: readIntent(yaml, texts).diagnostics,
  };
}

interface Found {
  readonly importer: Importer;
  readonly path: string;
  readonly score: number;
}

function find(files: SourceFiles, { format, path, leftOut = [] }: ImportOptions): Found {
  const chosen = format === undefined ? importers : importers.filter((each) => each.format === format);
  if (chosen.length === 0) refuse(`unknown format ${JSON.stringify(format)}; formats: ${importers.map((each) => each.format).join(", ")}`);
  if (path !== undefined && files.bytes(path) === undefined) refuse(`there is no file ${JSON.stringify(path)} in the source`);
  const paths = path === undefined ? files.candidates : [path];
  const found = paths.flatMap((each) => {
    const [best] = chosen
      .map((importer): Found => ({ importer, path: each, score: importer.recognize(files, each) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score);
    return best === undefined ? [] : [best];
  });
  const top = found.reduce((score, each) => Math.max(score, each.score), 0);
  const best = found.filter(({ score }) => score === top);
  const [first, second] = best;
  if (first !== undefined && second === undefined) return first;
  // The user knows better than the content.
  const [only] = paths;
  if (first === undefined && format !== undefined && only !== undefined && paths.length === 1)
    return { importer: chosen[0] as Importer, path: only, score: 0 };
  if (first === undefined) return refuseUnknown(files, chosen, leftOut);
  const candidates = best.map((each) => each.path);
  throw new Failure(
    "invalid_source",
    `the source has ${best.length} labs; choose one: ${candidates.slice(0, 20).join(", ")}${best.length > 20 ? ", …" : ""}`,
    {
      data: { candidates },
    },
  );
}

/** A file that is not even YAML, JSON or XML is refused for that reason. */
function refuseUnknown(files: SourceFiles, chosen: readonly Importer[], leftOut: NonNullable<ImportOptions["leftOut"]>): never {
  const [only] = files.paths;
  if (only !== undefined && files.paths.length === 1) {
    const text = files.text(only)?.trimStart();
    if (text === undefined) refuse("the file is neither text nor an archive that can be read", { file: only });
    files.tree(only, text.startsWith("<") ? "xml" : text.startsWith("{") ? "json" : "yaml");
  }
  const [large] = leftOut;
  if (large !== undefined && files.paths.length === 0)
    return refuse(`${large.path} has ${large.bytes} bytes, which is too large to import, and the source has no other lab`);
  return refuse(
    `no lab was found in ${files.paths.length === 1 ? only : `${files.paths.length} files`}; formats: ${chosen.map(({ title }) => title).join(", ")}`,
  );
}
