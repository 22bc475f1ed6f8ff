import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Replaces the error of a state directory that cannot be created or written: one line with the directory, the reason and the remedy. Returns any other error unchanged. */
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
    // Missing parent directories are created, so that this is a file system such as /proc.
    case "ENOENT":
      return { what: `the system cannot create ${path}`, remedy: "create it by hand" };
    case "EEXIST":
    case "ENOTDIR":
      return { what: `${await obstacle(path)} is not a directory`, remedy: "move it away" };
    case "EROFS":
      return { what: `${path} is on a read-only file system`, remedy: "mount it writable" };
    case "EACCES":
    case "EPERM":
      return {
        what: `user ${user} may not write ${path}`,
        remedy: `give that user write permission (chown, chmod), start the service as the owner of the directory`,
      };
    default:
      return undefined;
  }
}

/** Returns the deepest existing path among `path` and its parents. */
async function obstacle(path: string): Promise<string> {
  for (let at = resolve(path); ; at = dirname(at)) {
    const there = await stat(at).then(
      () => true,
      () => false,
    );
    if (there || dirname(at) === at) return at;
  }
}
