import { LabwrightError } from "../../client/browser.ts";
import type { ImportFilePayload } from "../../contract/schemas/import-file.ts";
import type { PickedFile } from "./picked-files.ts";

/** A chosen, dropped or pasted source, as the service reads it. */
export interface ImportSource {
  readonly input: Pick<ImportFilePayload, "filename" | "text" | "base64" | "files" | "url">;
  /** Path → text. Absent: the source is an archive, or another file that is not text. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Paths of files that are not texts, which cannot be sent beside others. */
  readonly leftOut: readonly string[];
}

/** Maximum bytes of a source: a request has at most 32 MiB, and base64 takes a third more. */
const maxBytes = 24 * 2 ** 20;

/** Reads chosen files: one file or archive, or the texts of several files. Throws for too large ones, and for an archive among other files. */
export async function readSource(picked: readonly PickedFile[]): Promise<ImportSource> {
  const bytes = picked.reduce((sum, { file }) => sum + file.size, 0);
  if (bytes > maxBytes)
    throw refused(`The files have ${Math.ceil(bytes / 2 ** 20)} MiB: the page reads at most 24 MiB. Use: labwright import-file FILE.`);
  const read = await Promise.all(picked.map(async ({ path, file }) => ({ path, file, text: await textOf(file) })));
  const [only] = read;
  if (only !== undefined && read.length === 1) {
    const { path, file, text } = only;
    const filename = path.slice(path.lastIndexOf("/") + 1);
    return text === undefined
      ? { input: { filename, base64: await base64Of(file) }, leftOut: [] }
      : { input: { filename, text }, texts: { [filename]: text }, leftOut: [] };
  }
  const archive = read.find(({ path, text }) => text === undefined && /\.(zip|tar|tgz|gz|gns3project)$/i.test(path));
  if (archive !== undefined) throw refused(`${archive.path} is an archive: choose it alone.`);
  const texts = Object.fromEntries(read.flatMap(({ path, text }) => (text === undefined ? [] : [[path, text] as const])));
  return { input: { files: texts }, texts, leftOut: read.flatMap(({ path, text }) => (text === undefined ? [path] : [])) };
}

/** Returns the source of pasted text; undefined if it is too short to be a lab. */
export function pastedSource(text: string): ImportSource | undefined {
  return text.trim().includes("\n") ? { input: { filename: "pasted", text }, texts: {}, leftOut: [] } : undefined;
}

/** Whether the name shows that a source is a lab of another tool, so that its text is not read as a Labwright lab. */
export function isForeign({ input: { filename = "", files } }: ImportSource): boolean {
  return [filename, ...Object.keys(files ?? {})].some((path) => /\.(unl|gns3|gns3project|virl|dot|gv|mmd|tar|tgz|gz)$/i.test(path));
}

/** Returns the texts with paths relative to the folder of the YAML file that is in the fewest folders. */
export function besideLab(texts: Readonly<Record<string, string>>): readonly (readonly [path: string, text: string])[] {
  const depth = (path: string) => path.split("/").length;
  const [lab] = Object.keys(texts)
    .filter((path) => /\.ya?ml$/i.test(path))
    .toSorted((a, b) => depth(a) - depth(b));
  const folder = lab === undefined ? "" : lab.slice(0, lab.lastIndexOf("/") + 1);
  return Object.entries(texts).map(([path, text]) => [path.startsWith(folder) ? path.slice(folder.length) : path, text]);
}

async function textOf(file: File): Promise<string | undefined> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

function refused(message: string): LabwrightError {
  return new LabwrightError(message, { status: 400, code: "bad_request" });
}
