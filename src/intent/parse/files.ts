import { pointer } from "../diagnostics/problems.ts";

/** A problem with one path of `files`, in the format of bad_request's `data.problems`. */
export interface FileProblem {
  readonly path: string;
  readonly file: string;
  readonly message: string;
}

/** Returns the normal form of the path ("./a//b" is "a/b"), or the problem. */
export function normalFilePath(text: string): { readonly path: string } | { readonly problem: string } {
  if (text.includes("\0")) return { problem: "a file path has no NUL" };
  if (text.startsWith("/") || text.startsWith("\\") || /^[A-Za-z]:[\\/]/.test(text)) return { problem: "a file path is relative" };
  const segments = text.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.some((segment) => segment.split("\\").includes(".."))) return { problem: 'a file path has no ".."' };
  if (segments.length === 0) return { problem: "a file path is not empty" };
  return { path: segments.join("/") };
}

/**
 * Checks `files` (relative path → text): no absolute path, no "..", no NUL, no two paths that are equal after normalisation. The result's `files` has
 * normal paths, sorted, and contains only valid ones.
 */
export function checkFiles(files: Readonly<Record<string, string>>): {
  readonly files: ReadonlyMap<string, string>;
  readonly problems: readonly FileProblem[];
} {
  const normal = new Map<string, string>();
  const problems: FileProblem[] = [];
  for (const file of Object.keys(files).sort()) {
    const result = normalFilePath(file);
    const path = pointer("/files", file);
    if ("problem" in result) problems.push({ path, file, message: result.problem });
    else if (normal.has(result.path)) problems.push({ path, file, message: `the file ${JSON.stringify(result.path)} is given twice` });
    else normal.set(result.path, files[file] as string);
  }
  return { files: normal, problems };
}
