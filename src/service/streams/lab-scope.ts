import type { HostSession } from "../../hosts/host.ts";

/** Under which key a lab's reads, consoles and watched links are shared. */
export type LabScope = (host: HostSession, path: string) => string;

/**
 * A lab with a record is shared by everyone who has a right on it. Of a lab without one the host decides who sees what: only callers with the same host
 * user share it. A key begins with the path and a NUL, which no path contains.
 */
export function labScope(isRecorded: (path: string) => boolean): LabScope {
  return (host, path) => `${path}\0${isRecorded(path) ? "" : host.user}`;
}

/** Whether a key belongs to this lab. */
export function isOfLab(key: string, path: string): boolean {
  return key.startsWith(`${path}\0`);
}
