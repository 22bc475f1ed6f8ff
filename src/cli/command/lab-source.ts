import { readFile } from "node:fs/promises";
import { UsageError } from "./usage-error.ts";

/** Maximum size of the file of an import report, bytes. */
const maxBytes = 4 * 1024 * 1024;

/** Returns the path of the import report beside a lab's file: campus.import.json beside campus.lw.yml. */
export function reportFileOf(file: string): string {
  return `${file.replace(/(?:\.(?:lw|clab))?\.ya?ml$/i, "")}.import.json`;
}

/** Returns the `source` of a request: the import report beside the lab's file, if there is one. Throws UsageError for a damaged report. */
export async function labSource(file: { readonly path: string } | undefined): Promise<{ readonly source?: unknown }> {
  if (file === undefined) return {};
  const path = reportFileOf(file.path);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return {};
    throw new UsageError(
      `cannot read ${path}: ${(error as Error).message}`,
      "check its permissions, or delete it: the lab itself does not need it",
    );
  }
  const hint = "delete it, or import the lab again: the lab itself does not need it";
  if (text.length > maxBytes) throw new UsageError(`${path} is larger than 4 MiB, the maximum of an import report`, hint);
  try {
    return { source: JSON.parse(text) };
  } catch {
    throw new UsageError(`${path} is not an import report: it is not JSON`, hint);
  }
}
