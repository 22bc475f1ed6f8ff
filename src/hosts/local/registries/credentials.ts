import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../../../files/if-there.ts";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";

/** How the service signs in to a registry, for the labs of all users who may use the registry. */
export interface Credential {
  readonly user: string;
  /** A password, or an access token. */
  readonly password: string;
}

/**
 * The passwords of registries: registry-credentials.json in the state directory, which only the user of the service can read. They are in no lab, plan, job
 * or log, on no command line, and in no environment.
 */
export function credentialsPath(state: string): string {
  return join(state, "registry-credentials.json");
}

/** Returns the credentials by host. Throws ArchiveError not_allowed if other users of the machine can read the file. */
export async function readCredentials(state: string): Promise<ReadonlyMap<string, Credential>> {
  const path = credentialsPath(state);
  const file = await ifThere(open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
  if (file === undefined) return new Map();
  await using opened = file;
  if (((await opened.stat()).mode & 0o077) !== 0) {
    throw new ArchiveError(
      "not_allowed",
      `other users can read ${path}`,
      `chmod 600 ${path}, and change the passwords in it at their registries`,
    );
  }
  return new Map(Object.entries(JSON.parse(await opened.readFile("utf8")) as Record<string, Credential>));
}

/** Sets the credential of a host, or removes it. Returns whether it had one. */
export async function putCredential(state: string, host: string, credential: Credential | undefined): Promise<boolean> {
  const all = new Map(await readCredentials(state));
  const had = all.delete(host);
  if (credential !== undefined) all.set(host, credential);
  if (had || credential !== undefined) {
    const sorted = Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeFileAtomic(credentialsPath(state), `${JSON.stringify(sorted, null, 2)}\n`, 0o600);
  }
  return had;
}
