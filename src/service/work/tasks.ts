import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import { editIntent } from "../../intent/edit/edit.ts";
import { type EditableSection, replaceSection } from "../../intent/edit/replace-section.ts";
import { fieldPlaces } from "../../intent/places/field-places.ts";
import { filterPlaces } from "../../intent/places/filter-places.ts";
import { sourceLines } from "../../intent/places/source-lines.ts";
import { type ReadResult, readIntent } from "../../intent/read/read.ts";
import { computePlan } from "./compute-plan.ts";
import type { SourceInput } from "./import-source.ts";

/** A parse result with its diagnostics as text, if it has no lab. */
export type ShownReading = ReadResult & { readonly shown: string };

/** Long computations as functions of plain data: they return the same result in this thread and in a worker. */
export const tasks = {
  readIntent: (yaml: string, files: Readonly<Record<string, string>>): ShownReading => shown(readIntent(yaml, files), yaml, files),
  replaceSection: (yaml: string, files: Readonly<Record<string, string>>, section: EditableSection, value: unknown): ShownReading => {
    const { text, ...read } = replaceSection(yaml, files, section, value);
    return shown(read, text, files);
  },
  editIntent,
  sourceLines,
  filterPlaces,
  fieldPlaces,
  computePlan,
  /** Loads the importers at the first use: most services never need them. */
  importSource: async (input: SourceInput): Promise<ImportFileData> => (await import("./import-source.ts")).importSource(input),
};

export type Tasks = typeof tasks;
export type TaskName = keyof Tasks;

function shown(read: ReadResult, yaml: string, files: Readonly<Record<string, string>>): ShownReading {
  return { ...read, shown: read.lab === undefined ? showDiagnostics(read.diagnostics, { yaml, files }) : "" };
}
