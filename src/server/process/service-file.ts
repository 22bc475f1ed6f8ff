import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { sparesOf } from "../../files/spare-files.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";

export interface ServiceFile {
  readonly url: string;
  /** SHA-256 of the certificate, AA:BB:… */
  readonly fingerprint: string;
  readonly pid: number;
  /** embedded, eve, memory. */
  readonly host: string;
}

/** Tells programs on this machine, and of this user only, where the service is: `<stateDir>/service.json`. */
export async function writeServiceFile(stateDir: string, file: ServiceFile): Promise<void> {
  await writeFileAtomic(join(stateDir, "service.json"), `${JSON.stringify(file)}\n`, 0o600, sparesOf(stateDir));
}

/** What the service on this directory said last; undefined where none did, or the file does not read. */
export async function serviceAt(stateDir: string): Promise<ServiceFile | undefined> {
  try {
    return JSON.parse(await readFile(join(stateDir, "service.json"), "utf8")) as ServiceFile;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Takes the file away, unless it is another process's by now. */
export async function removeServiceFile(stateDir: string, pid: number): Promise<void> {
  const path = join(stateDir, "service.json");
  try {
    const { pid: owner } = JSON.parse(await readFile(path, "utf8")) as Partial<ServiceFile>;
    if (owner === pid) await rm(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
