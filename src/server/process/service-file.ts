import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { sparesOf } from "../../files/spare-files.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";

export interface ServiceFile {
  readonly url: string;
  /** SHA-256 fingerprint of the certificate, as AA:BB:… */
  readonly fingerprint: string;
  readonly pid: number;
  /** embedded, eve, memory or none. */
  readonly host: string;
}

/** Writes the address of the service to `<stateDir>/service.json`, for programs of the same user on this machine. */
export async function writeServiceFile(stateDir: string, file: ServiceFile): Promise<void> {
  await writeFileAtomic(join(stateDir, "service.json"), `${JSON.stringify(file)}\n`, 0o600, sparesOf(stateDir));
}

/** Reads the service file of a state directory. `undefined` if there is no file or if it is not valid JSON. */
export async function serviceAt(stateDir: string): Promise<ServiceFile | undefined> {
  try {
    return JSON.parse(await readFile(join(stateDir, "service.json"), "utf8")) as ServiceFile;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Removes the file, unless another process has replaced it. */
export async function removeServiceFile(stateDir: string, pid: number): Promise<void> {
  const path = join(stateDir, "service.json");
  try {
    const { pid: owner } = JSON.parse(await readFile(path, "utf8")) as Partial<ServiceFile>;
    if (owner === pid) await rm(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
