import type { HostSession } from "../../hosts/host.ts";

/** Returns the key by which a lab's reads, consoles and watched links are shared. */
export type LabScope = (host: HostSession, path: string) => string;

/**
 * All users with a right on a lab with a record share one key. For a lab without a record the host decides about rights, so only callers with the
 * same host user share a key. A key begins with the path and a NUL, which no path contains.
 */
export function labScope(isRecorded: (path: string) => boolean): LabScope {
  return (host, path) => `${path}\0${isRecorded(path) ? "" : host.user}`;
}

/** Returns whether a key belongs to this lab. */
export function isOfLab(key: string, path: string): boolean {
  return key.startsWith(`${path}\0`);
}
