import { useState } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { ImportFileData, ImportFilePayload } from "../../contract/schemas/import-file.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import type { ImportSource } from "./import-source.ts";

/** A source that the service can import, before the user has accepted the result. */
export interface FoundImport {
  readonly source: ImportSource;
  /** The result without options; absent if the source has several labs. */
  readonly lab?: ImportFileData;
  /** Paths of the labs of the source, if it has several. */
  readonly candidates: readonly string[];
}

/** The choices of an import. An empty text: none. */
export interface ImportOptions {
  readonly path: string;
  readonly substitute: "" | NonNullable<ImportFilePayload["substitute"]>;
  readonly translateConfigs: boolean;
}

/** Asks the service whether a source is a lab of another tool. Stores nothing. Returns the refusal of a source that is none. */
export async function findImport(source: ImportSource): Promise<FoundImport | LabwrightError> {
  try {
    return { source, lab: await call("importFile", source.input), candidates: [] };
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "invalid_source") throw error;
    const candidates = (error.data?.["candidates"] ?? []) as readonly string[];
    return candidates.length > 0 ? { source, candidates } : error;
  }
}

export interface ImportControl {
  /** The newest result, also while the next one is made. */
  readonly lab: ImportFileData | undefined;
  /** Whether the result is that of the present options. */
  readonly isCurrent: boolean;
  readonly error: unknown;
  readonly options: ImportOptions;
  readonly setOptions: (options: ImportOptions) => void;
}

interface ImportResult {
  readonly options: ImportOptions;
  readonly lab?: ImportFileData;
}

/** Imports the source again with each choice of options. */
export function useImport({ source, lab: first, candidates }: FoundImport): ImportControl {
  const [options, setOptions] = useState<ImportOptions>({ path: "", substitute: "", translateConfigs: false });
  const { data, error } = useAnswer(
    async (signal): Promise<ImportResult> => {
      const { path, substitute, translateConfigs } = options;
      if (path === "" && candidates.length > 0) return { options };
      if (path === "" && substitute === "" && !translateConfigs) return { options, ...(first !== undefined && { lab: first }) };
      const choices = {
        ...(path !== "" && { path }),
        ...(substitute !== "" && { substitute }),
        ...(translateConfigs && { translate_configs: true }),
      };
      return { options, lab: await call("importFile", { ...source.input, ...choices }, { signal }) };
    },
    [source, first, options],
  );
  const lab = error === undefined ? data?.lab : undefined;
  return { lab, isCurrent: lab !== undefined && data?.options === options, error, options, setOptions };
}
