import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where a service on this machine keeps its state; the same rule as the service's own. */
export function stateDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const given = env.LABWRIGHT_STATE_DIR;
  if (given !== undefined) return given;
  if (process.getuid?.() === 0) return "/var/lib/labwright";
  return join(env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "labwright");
}

/** What a running service writes into its state directory. */
export interface ServiceFile {
  readonly url: string;
  /** SHA-256 of its certificate. */
  readonly fingerprint: string;
  readonly pid: number;
}

/** The service of this machine, as it said when it began to listen; it may have ended since. */
export async function readServiceFile(state: string = stateDirectory()): Promise<ServiceFile | undefined> {
  try {
    const { url, fingerprint, pid } = JSON.parse(await readFile(join(state, "service.json"), "utf8")) as Partial<ServiceFile>;
    if (typeof url !== "string" || typeof fingerprint !== "string" || typeof pid !== "number") return undefined;
    return { url, fingerprint, pid };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Absent, or of another user, or being written just now: no service that we could use.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
