import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import { capturesFolder } from "../../files/lab-archive/manifest.ts";
import { unpackLab } from "../../files/lab-archive/unpack-lab.ts";
import type { SourceBytes } from "../../files/source/read-source.ts";
import { textOf } from "../../importers/source/text-decoder.ts";
import { labNameIn, readIntent } from "../../intent/read/read.ts";

export type OwnLab = Omit<ImportFileData, "left_out">;

/** Returns the lab of an archive of Labwright; undefined if the source is none. Throws ArchiveError for a damaged one. */
export function archivedLab(source: SourceBytes): OwnLab | undefined {
  const archived = unpackLab(source);
  if (archived === undefined) return undefined;
  const lab = described(archived.lab, archived.yaml, archived.files, archived.name);
  const report = [...archived.captures.keys()].map((name) => ({
    file: `${capturesFolder}/${name}`,
    path: "",
    line: 1,
    level: "dropped" as const,
    message: "is a capture, which only labwright import-file --output unpacks",
  }));
  return lab && { ...lab, counts: { ...lab.counts, dropped: report.length }, report };
}

/**
 * Returns the lab of Labwright in the source: its text, and the texts in the same folder and below. Undefined if the only YAML file that is in the fewest
 * folders is none.
 */
export function ownLab(files: SourceBytes["files"]): OwnLab | undefined {
  const depth = (path: string) => path.split("/").length;
  const yamls = [...files.keys()].filter((path) => /\.ya?ml$/i.test(path)).toSorted((a, b) => depth(a) - depth(b));
  const [path, next] = files.size === 1 ? [...files.keys()] : yamls;
  if (path === undefined || (next !== undefined && depth(next) === depth(path))) return undefined;
  const texts = new Map(
    [...files].flatMap(([each, bytes]) => {
      const text = textOf(bytes);
      return text === undefined ? [] : [[each, text] as const];
    }),
  );
  const yaml = texts.get(path);
  // Other tools have neither: those of containerlab are below topology, and netlab has no name.
  if (yaml === undefined || !/^name:/m.test(yaml) || !/^(?:nodes|networks):/m.test(yaml)) return undefined;
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const beside = [...texts]
    .filter(([each]) => each !== path && each.startsWith(folder))
    .map(([each, text]) => [each.slice(folder.length), text] as const);
  const named = Object.fromEntries(beside);
  return described(path, yaml, named);
}

function described(path: string, yaml: string, files: Readonly<Record<string, string>>, title?: string): OwnLab | undefined {
  const { lab, diagnostics } = readIntent(yaml, files);
  const name = lab?.name ?? labNameIn(yaml, files) ?? title;
  if (name === undefined) return undefined;
  const counts = { kept: 0, mapped: 0, dropped: 0 };
  return { format: "labwright", path, name, yaml, files, counts, report: [], report_left_out: 0, missing: [], diagnostics };
}
