import { NotPlainError } from "../../files/read-plain-file.ts";
import { UsageError } from "../command/usage-error.ts";

/** Causes of failed writes and reads of files, with the next step. */
const causes: Readonly<Record<string, readonly [string, string]>> = {
  EACCES: ["permission denied", "change its permissions or those of its folder, or run the command as its owner"],
  EPERM: ["the operation is not permitted", "check its permissions, and whether it is immutable (lsattr)"],
  EROFS: ["its file system is read-only", "use a folder that can be written"],
  ENOSPC: ["its file system is full", "free space there, then run the command again"],
  EDQUOT: ["your disk quota is used up", "free space there, then run the command again"],
  EISDIR: ["it is a folder", "name a file"],
  ENOTDIR: ["a part of its path is not a folder", "check the path"],
  ELOOP: ["its symbolic links form a circle", "check the links of the path"],
  ENAMETOOLONG: ["its name is too long", "choose a shorter path"],
};

/** Returns an error of the file system as a clear one that names the file; any other error unchanged. */
export function fileFailure(error: unknown, path: string | undefined = (error as NodeJS.ErrnoException | undefined)?.path): unknown {
  if (error instanceof NotPlainError && path !== undefined)
    return new UsageError(`${path}: it is a FIFO, a socket or a device`, "name a file");
  const { code = "", syscall } = (error ?? {}) as NodeJS.ErrnoException;
  const cause = causes[code];
  if (!(error instanceof Error) || path === undefined) return error;
  // Known to the file system alone, such as EINVAL of files below /proc.
  if (cause === undefined)
    return syscall === undefined ? error : new UsageError(`${path}: ${syscall} failed with ${code}`, "check the path");
  return new UsageError(`${path}: ${cause[0]}`, cause[1]);
}
