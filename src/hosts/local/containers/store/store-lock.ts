import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";

const name = ".lock";
const takenCode = 75;
/** Arguments: the lock file, and the pid to write into it. The program inherits the lock from flock and holds it until its input ends. */
const hold = 'echo "$1" > "$0" && echo held && exec cat > /dev/null';

/** The lock of a killed process is released a moment after its end: the interval of retries, ms. */
const retryMs = 25;
const maxRetries = 1_200;

/**
 * Locks the image directory, so that only one process changes it at a time. Node has no call for it: a child process of util-linux' flock holds the
 * lock and ends with this process, so that a killed process leaves no lock.
 * @param waits waits for the lock until this signal aborts. Absent: throws ArchiveError busy if another process has it
 */
export async function lockImages(directory: string, waits?: AbortSignal): Promise<AsyncDisposable> {
  const path = join(directory, name);
  if (waits !== undefined) return lockFile(path, waits);
  for (let left = maxRetries; ; left--) {
    const held = await tryLock(path, ["--nonblock"]);
    if (typeof held !== "string") return held;
    if (left === 0 || isAlive(Number(held))) {
      throw new ArchiveError("busy", `process ${held} is adding or removing an image`, "try again when it is done");
    }
    await delay(retryMs);
  }
}

/** Waits for the lock of a file, which is created and never removed. Throws the signal's reason. */
export async function lockFile(path: string, signal: AbortSignal): Promise<AsyncDisposable> {
  const held = await tryLock(path, [], signal);
  if (typeof held !== "string") return held;
  signal.throwIfAborted();
  throw new Error(`${path} cannot be locked`);
}

/** Returns the process that holds the lock, if it is taken. */
async function tryLock(path: string, flags: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable | string> {
  signal?.throwIfAborted();
  // Only the owner may open the file, because every user who can open it can lock it. It is never removed, because a lock on a removed file has no effect.
  await (await open(path, "a", 0o600)).close();
  const argv = [...flags, "--conflict-exit-code", String(takenCode), "--no-fork", path, "sh", "-c", hold, path, String(process.pid)];
  // In a session of its own: an interrupt from the terminal must not end it before this process has cleaned up.
  const child = spawn("flock", argv, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem += text;
  });
  // A flock that has ended reports that by its exit code.
  child.stdin.on("error", () => undefined);
  const giveUp = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", giveUp, { once: true });
  const ended = once(child, "close") as Promise<[number | null]>;
  const held = await Promise.race([once(child.stdout, "data").then(() => true), ended.then(() => false)]).finally(() =>
    signal?.removeEventListener("abort", giveUp),
  );
  if (held) {
    return {
      [Symbol.asyncDispose]: async () => {
        child.stdin.end();
        await ended;
      },
    };
  }
  const [code] = await ended;
  signal?.throwIfAborted();
  // The shell that cannot write the pid fails with its own code.
  if (code !== takenCode && (await isFull(path)))
    throw new ArchiveError("disk_full", `the disk of ${dirname(path)} is full`, "free space there, and try again");
  if (code !== takenCode) throw new Error(`${path} cannot be locked: ${problem.trim() || `code ${code}`}`);
  return (await readFile(path, "utf8")).trim();
}

async function isFull(path: string): Promise<boolean> {
  const { bavail } = await statfs(path);
  return bavail === 0;
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false; // the pid is not written yet
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
