import { statfs } from "node:fs/promises";
import { Failure } from "../../contract/errors.ts";

/** A start needs less than this; with less, whatever it failed with came of the full disk. Bytes. */
const leastRoom = 256 * 1024;

/** Why the service did not start, in one line. What programs say of a full disk does not always name it. */
export async function startTrouble(error: unknown, stateDir: string | undefined): Promise<string> {
  const said = listenTrouble(error) ?? (error instanceof Error ? error.message : String(error));
  // A directory that is not there has no room either, and what was said tells of it.
  const room = stateDir === undefined ? undefined : await statfs(stateDir).catch(() => undefined);
  // A file system without blocks, such as /proc, is never full.
  if (room === undefined || room.blocks === 0 || room.bavail * room.bsize >= leastRoom) return said;
  return `the file system of ${stateDir} is full: free space on it and start again; labs run on meanwhile (${said})`;
}

/** The error of a users.json that does not read, with its path and what to do; any other error as it is. */
export function usersTrouble(file: string, error: unknown): unknown {
  if (!(error instanceof Failure)) return error;
  const { message = error.message } = (error.data?.["host"] ?? {}) as { readonly message?: string };
  return new Error(
    `${file} does not read: ${message}: restore it from a backup; or move it away and start again, which makes a new user admin and no other users`,
    { cause: error },
  );
}

/** Where the service may not listen, with what to do; undefined where something else went wrong. */
function listenTrouble(error: unknown): string | undefined {
  const { syscall, code, address, port } = (error ?? {}) as NodeJS.ErrnoException & { readonly address?: string; readonly port?: number };
  if (syscall !== "listen" && syscall !== "getaddrinfo") return undefined;
  if (code === "EADDRINUSE")
    return `port ${port} of ${address} is taken: end the program that listens there, or take another port with --port (0 is any free one)`;
  if (code === "EACCES") return `port ${port} of ${address} is for root only: take one from 1024 on with --port`;
  if (code === "EADDRNOTAVAIL" || syscall === "getaddrinfo")
    return `this machine has no address ${JSON.stringify(address ?? (error as { hostname?: string }).hostname)}: --listen takes one of its own, such as 127.0.0.1, or 0.0.0.0 for all`;
  return undefined;
}
