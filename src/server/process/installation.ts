import { randomUUID } from "node:crypto";
import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the id of a state directory, which the first call creates. Throws an Error for a damaged one. Leases of an earlier process on it end when the next one starts. */
export function installationOf(stateDir: string): string {
  const file = join(stateDir, "installation-id");
  try {
    writeFileSync(file, `${randomUUID()}\n`, { flag: "wx", mode: 0o600 });
    // Root may create it for a service that runs as another user: the owner of the directory.
    const { uid, gid } = statSync(stateDir);
    if (process.getuid?.() === 0) chownSync(file, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const id = readFileSync(file, "utf8").trim();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  throw new Error(
    `${file} is damaged: it has no UUID. Restore it from a backup. Without one, remove it, remove this machine from the fleet if it is in one (labwright machines remove), and let it join again`,
  );
}
