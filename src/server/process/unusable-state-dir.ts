import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** The error of a state directory that cannot be made or written, as one line that says which, why and what to do; any other error as it is. */
export async function unusableStateDir(directory: string, error: unknown): Promise<unknown> {
  const { code, path = directory } = error as NodeJS.ErrnoException;
  const why = await reason(code, path);
  if (why === undefined) return error;
  const other = "or give the service another with --state-dir or LABWRIGHT_STATE_DIR";
  return new Error(`the state directory ${directory} cannot be used: ${why.what} (${code}): ${why.remedy}, ${other}`, { cause: error });
}

async function reason(code: string | undefined, path: string): Promise<{ readonly what: string; readonly remedy: string } | undefined> {
  const user = process.getuid?.() ?? 0;
  switch (code) {
    // Where directories above it are missing they are made: this is /proc and its like.
    case "ENOENT":
      return { what: `the system makes nothing at ${path}`, remedy: "make it by hand" };
    case "EEXIST":
    case "ENOTDIR":
      return { what: `${await obstacle(path)} is no directory`, remedy: "move that away" };
    case "EROFS":
      return { what: `${path} is on a file system that is read-only`, remedy: "mount that writable" };
    case "EACCES":
    case "EPERM":
      return {
        what: `user ${user} may not write ${path}`,
        remedy: `let that user write there (chown, chmod), start the service as its owner`,
      };
    default:
      return undefined;
  }
}

/** Of a path and what is above it, the lowest that is there. */
async function obstacle(path: string): Promise<string> {
  for (let at = resolve(path); ; at = dirname(at)) {
    const there = await stat(at).then(
      () => true,
      () => false,
    );
    if (there || dirname(at) === at) return at;
  }
}
