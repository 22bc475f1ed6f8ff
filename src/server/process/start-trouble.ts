import { statfs } from "node:fs/promises";
import { Failure } from "../../contract/errors.ts";

/** A start needs less than this, in bytes. With less free space, the full disk is the cause of any failure. */
const minFreeBytes = 256 * 1024;

/** Returns one line that explains why the service did not start. The errors of a full disk do not always name it. */
export async function startTrouble(error: unknown, stateDir: string | undefined): Promise<string> {
  const message = listenTrouble(error) ?? (error instanceof Error ? error.message : String(error));
  // The caller gets the error of the start in every case. This adds only the cause "disk full", which is unknown if the disk cannot be checked.
  const space = stateDir === undefined ? undefined : await statfs(stateDir).catch(() => undefined);
  // A file system without blocks, such as /proc, is never full.
  if (space === undefined || space.blocks === 0 || space.bavail * space.bsize >= minFreeBytes) return message;
  return `the file system of ${stateDir} is full: free space on it and start again; labs keep running meanwhile (${message})`;
}

/** Adds the path and the remedy to the error of a users.json that cannot be read. Returns any other error unchanged. */
export function usersTrouble(file: string, error: unknown): unknown {
  // Its message has the remedy: the accounts are in a database.
  if (!(error instanceof Failure) || error.data?.host === undefined) return error;
  const { message = error.message } = typeof error.data?.host === "object" ? error.data.host : {};
  return new Error(
    `${file} cannot be read: ${message}: restore it from a backup; or move it away and start again, which creates only a new user admin`,
    { cause: error },
  );
}

/** Explains an error of listening, with the remedy. `undefined` for other errors. */
function listenTrouble(error: unknown): string | undefined {
  const { syscall, code, address, port } = (error ?? {}) as NodeJS.ErrnoException & { readonly address?: string; readonly port?: number };
  if (syscall !== "listen" && syscall !== "getaddrinfo") return undefined;
  if (code === "EADDRINUSE")
    return `port ${port} of ${address} is in use: end the program that listens there, or choose another port with --port (0 is any free port)`;
  if (code === "EACCES") return `port ${port} of ${address} needs root: choose a port from 1024 on with --port`;
  if (code === "EADDRNOTAVAIL" || syscall === "getaddrinfo") {
    const name = address ?? (error as { hostname?: string }).hostname ?? "";
    const [, ip, number] = /^([^:]*|\[.*\]):(\d+)$/.exec(name) ?? [];
    const rule =
      number === undefined
        ? "--listen takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all"
        : `--listen takes an address alone, --port the port: --listen ${ip || "0.0.0.0"} --port ${number}`;
    return `this machine has no address ${JSON.stringify(name)}: ${rule}`;
  }
  return undefined;
}
