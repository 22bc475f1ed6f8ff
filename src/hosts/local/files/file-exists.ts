import { stat } from "node:fs/promises";

/** Returns whether the path exists. Throws if that cannot be determined. */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
