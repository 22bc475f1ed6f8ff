import { stat } from "node:fs/promises";

/** A text that changes when the file is written or replaced; undefined where there is no file. */
export async function fileMark(file: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs, size } = await stat(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
