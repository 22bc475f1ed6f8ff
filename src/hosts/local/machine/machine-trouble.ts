import { Failure } from "../../../contract/errors.ts";

/** A trouble of the machine (a full disk, a missing program) as the host's own error, with what to do; undefined for anything else. */
export function machineTrouble(error: unknown): Failure | undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof Failure || typeof code !== "string") return undefined;
  if (code === "EMFILE" || code === "ENFILE") return noDescriptors(code, error);
  const text = code in diskTroubles ? `${diskTroubles[code]}: ${message}` : message;
  return new Failure("host_error", text, { data: { host: { code, message } }, cause: error });
}

/** The failure of a process (EMFILE) or a machine (ENFILE) without file descriptors. */
export function noDescriptors(code: "EMFILE" | "ENFILE", cause?: unknown): Failure {
  const why = `no file descriptors are left (${code}): try again later, or raise the limit of the service (LimitNOFILE= of its unit, ulimit -n)`;
  return new Failure("overloaded", why, { cause });
}

/** Runs the work and converts its system errors into failures. */
export async function tellingTrouble<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw machineTrouble(error) ?? error;
  }
}

const diskTroubles: Readonly<Record<string, string>> = {
  ENOSPC: "the state directory's file system is full: free space on it and try again",
  EDQUOT: "the state directory's quota is used up: free space in it, or raise the quota, and try again",
  EROFS: "the state directory is read-only: make it writable and try again",
  EIO: "the state directory's disk fails: look into the machine's log",
};
