import { access, constants } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readPlain } from "../../files/read-plain-file.ts";
import { normalFilePath } from "../../intent/parse/files.ts";
import { UsageError } from "../command/usage-error.ts";
import { fileFailure } from "./file-failure.ts";
import { replaceFile } from "./replace-file.ts";

/** An intent in an answer of the service. */
export interface AnsweredIntent {
  readonly yaml?: string | undefined;
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** Throws UsageError if the file exists, or if its folder may not be written. Call it before anything is changed on the host. */
export async function mustBeNew(file: string): Promise<void> {
  const there = await access(file).then(
    () => true,
    () => false,
  );
  if (there) throw new UsageError(`${file} exists already and is not overwritten`, "name a new file");
  await mayWriteIn(dirname(resolve(file)));
}

/** Checks the folder, or the nearest one above it that exists. */
async function mayWriteIn(folder: string): Promise<void> {
  try {
    // The dot refuses a file in the place of the folder.
    await access(`${folder}/.`, constants.W_OK);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT" && dirname(folder) !== folder;
    if (!isMissing) throw fileFailure(error, folder);
    await mayWriteIn(dirname(folder));
  }
}

/**
 * Writes an intent as a new file, after the files that it names. Returns the names of the written files. Writes nothing if one of them would take the place of
 * the intent or of another file.
 * @param beside paths that the caller writes afterwards
 */
export async function writeProject(
  file: string,
  { yaml, files = {} }: AnsweredIntent,
  beside: readonly string[] = [],
): Promise<readonly string[]> {
  if (yaml === undefined) throw new UsageError("the service's answer contains no intent");
  const folder = dirname(resolve(file));
  const writes: { readonly name: string; readonly path: string; readonly text: string }[] = [];
  for (const name of Object.keys(files).sort()) {
    const normal = normalFilePath(name);
    if ("problem" in normal) throw new UsageError(`the service's answer contains the file ${JSON.stringify(name)}: ${normal.problem}`);
    const path = join(folder, normal.path);
    const taken = [file, ...beside].find((each) => `${path}/`.startsWith(`${resolve(each)}/`));
    if (taken !== undefined)
      throw new UsageError(
        `the lab has a file ${normal.path}, and ${taken} is to be written there; nothing was written`,
        "give the lab another name: --output FOLDER/NAME.lw.yml",
      );
    const [text, there] = [files[name] as string, await readIfThere(path)];
    if (there !== undefined && there !== text) {
      throw new UsageError(
        `${normal.path} exists with a different text; nothing was written`,
        "name a file in another folder: labwright load LAB -t FOLDER/FILE",
      );
    }
    if (there === undefined) writes.push({ name: normal.path, path, text });
  }
  for (const { path, text } of writes) await replaceFile(path, undefined, text);
  await replaceFile(resolve(file), undefined, yaml);
  return [...writes.map(({ name }) => name), file];
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readPlain(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileFailure(error, path);
  }
}
