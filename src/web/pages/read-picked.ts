import { LabwrightError } from "../../client/browser.ts";
import { besideLab, type ImportSource, isForeign, readSource } from "../imports/import-source.ts";
import type { PickedFile } from "../imports/picked-files.ts";
import { type FoundImport, findImport } from "../imports/use-import.ts";

/** The lab of another tool in chosen files, or the YAML of a lab and the files beside it, either of which may be absent. */
export type ReadPicked =
  | { readonly found: FoundImport }
  | { readonly yaml: string | undefined; readonly files: Readonly<Record<string, string>>; readonly notice: string };

/** Reads chosen or dropped files. Throws LabwrightError for more than one YAML file, and for files of neither kind. */
export async function readPicked(picked: readonly PickedFile[]): Promise<ReadPicked> {
  const source = await readSource(picked);
  const result = await findImport(source);
  if (!(result instanceof LabwrightError) && !isPictureBeside(result, source)) return { found: result };
  if (result instanceof LabwrightError && isForeign(source)) throw result;
  const read = result instanceof LabwrightError ? await textsOf(picked, source, result) : besideLab(source.texts ?? {});
  const labs = read.filter(([name]) => isYaml(name));
  if (labs.length > 1) {
    const names = labs.map(([name]) => name).join(", ");
    throw new LabwrightError(`Choose one YAML file only: got ${names}.`, { status: 400, code: "bad_request" });
  }
  const [path, yaml] = labs[0] ?? [];
  const others = read.filter(([name]) => name !== path);
  const left = source.leftOut.length === 0 ? "" : ` Left out, because they are not texts: ${source.leftOut.join(", ")}.`;
  const notice = `Read ${[path, ...others.map(([name]) => name)].filter(Boolean).join(", ")}.${left}`;
  return { yaml, files: Object.fromEntries(others), notice };
}

/** Returns the texts of a source that is not a lab of another tool. Throws the refusal of the import for an archive that is not a zip. */
async function textsOf(
  picked: readonly PickedFile[],
  { texts }: ImportSource,
  refusal: LabwrightError,
): Promise<readonly (readonly [string, string])[]> {
  if (texts !== undefined) return besideLab(texts);
  const [only] = picked;
  if (only === undefined || !/\.zip$/i.test(only.path)) throw refusal;
  const { readZip } = await import("../archive/unzip.ts");
  const unpacked = besideLab(Object.fromEntries(await readZip(new Uint8Array(await only.file.arrayBuffer()))));
  // The archive has neither a lab of ours nor one of another tool.
  if (!unpacked.some(([path]) => isYaml(path))) throw refusal;
  return unpacked;
}

const isYaml = (path: string) => /\.ya?ml$/i.test(path);

/** Whether a graph was found in the texts beside a lab, such as a picture in its README. */
function isPictureBeside({ lab }: FoundImport, { texts = {} }: ImportSource): boolean {
  return (lab?.format === "mermaid" || lab?.format === "dot") && Object.keys(texts).some(isYaml);
}
