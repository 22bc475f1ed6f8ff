import { readFile, rm, stat, writeFile } from "node:fs/promises";
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
  /** Kind of its emulation host: embedded, eve, memory; absent: a service of an older version. */
  readonly host?: string;
}

/** The service of this machine, as it said when it began to listen; it may have ended since. */
export async function readServiceFile(state: string = stateDirectory()): Promise<ServiceFile | undefined> {
  try {
    const { url, fingerprint, pid, host } = JSON.parse(await readFile(join(state, "service.json"), "utf8")) as Partial<ServiceFile>;
    if (typeof url !== "string" || typeof fingerprint !== "string" || typeof pid !== "number") return undefined;
    return { url, fingerprint, pid, ...(typeof host === "string" && { host }) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Absent, or of another user, or being written just now: no service that we could use.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The password of admin that `labwright up` made; undefined: none was made, or another user's. */
export async function keptAdminPassword(state: string = stateDirectory()): Promise<string | undefined> {
  return await readFile(join(state, "admin-password"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** Beside service.json: which start of the service was that of `labwright up`. */
const markName = "started-by-up.json";

/** Remembers that `labwright up` started this service, so that `labwright down` may stop it and no other. */
export async function markStarted(state: string, { pid }: ServiceFile): Promise<void> {
  await writeFile(join(state, markName), `${JSON.stringify({ pid, written: await writtenAt(state) })}\n`, { mode: 0o600 });
}

/** Whether `labwright up` started the service that service.json names. */
export async function wasStartedByUp(state: string, { pid }: ServiceFile): Promise<boolean> {
  try {
    const mark = JSON.parse(await readFile(join(state, markName), "utf8")) as { readonly pid?: unknown; readonly written?: unknown };
    // A later service may have the same pid, but it has written its own service.json.
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
