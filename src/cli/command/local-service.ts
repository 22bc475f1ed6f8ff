import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Returns the state directory of a service on this machine, by the same rule as the service. */
export function stateDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const given = env.LABWRIGHT_STATE_DIR;
  if (given !== undefined) return given;
  if (process.getuid?.() === 0) return "/var/lib/labwright";
  return join(env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "labwright");
}

/** The file that a running service writes to its state directory. */
export interface ServiceFile {
  readonly url: string;
  /** SHA-256 fingerprint of its certificate. */
  readonly fingerprint: string;
  readonly pid: number;
  /** Kind of its emulation host: embedded, eve or memory. Absent in the file of an older service. */
  readonly host?: string;
}

/** Reads the service file of this machine. The service may have ended since. */
export async function readServiceFile(state: string = stateDirectory()): Promise<ServiceFile | undefined> {
  try {
    const { url, fingerprint, pid, host } = JSON.parse(await readFile(join(state, "service.json"), "utf8")) as Partial<ServiceFile>;
    if (typeof url !== "string" || typeof fingerprint !== "string" || typeof pid !== "number") return undefined;
    return { url, fingerprint, pid, ...(typeof host === "string" && { host }) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The file is missing, belongs to another user, or is being written: there is no usable service.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns the password of admin that `labwright up` generated. `undefined` if there is none, or if it belongs to another user. */
export async function keptAdminPassword(state: string = stateDirectory()): Promise<string | undefined> {
  return await readFile(join(state, "admin-password"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** The file beside service.json that marks a service as started by `labwright up`. */
const markName = "started-by-up.json";

/** Marks this service as started by `labwright up`: `labwright down` stops only such a service. */
export async function markStarted(state: string, { pid }: ServiceFile): Promise<void> {
  await writeFile(join(state, markName), `${JSON.stringify({ pid, written: await writtenAt(state) })}\n`, { mode: 0o600 });
}

/** Returns whether `labwright up` started the service that service.json names. */
export async function wasStartedByUp(state: string, { pid }: ServiceFile): Promise<boolean> {
  try {
    const mark = JSON.parse(await readFile(join(state, markName), "utf8")) as { readonly pid?: unknown; readonly written?: unknown };
    // A later service can have the same pid, but it has written its own service.json.
    return mark.pid === pid && mark.written === (await writtenAt(state));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return false;
    throw error;
  }
}

export async function forgetStarted(state: string): Promise<void> {
  await rm(join(state, markName), { force: true });
}

async function writtenAt(state: string): Promise<number> {
  return (await stat(join(state, "service.json"))).mtimeMs;
}
