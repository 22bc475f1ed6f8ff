import { chmod, mkdtemp, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { lives, parseIdentity, readIfThere } from "./holder/identity.ts";
import { runOnMachine, succeeded } from "./machine.ts";
import { removeUplinks } from "./nat.ts";
import { processStart, runs } from "./process-mark.ts";

/** The maker's pid and when it started, then the test's own word: who finds it knows whether anybody still uses it. */
const pattern = /^labwright-test-(\d+)-(\d+)-/;

/**
 * A directory for a test that starts labs or services, with what they keep in `state` and `run` below it. Others may pass through it: nodes have
 * ids of their own. When the test is killed, the next run of the tests ends what it started.
 */
export async function testDirectory(word: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `labwright-test-${process.pid}-${await processStart(process.pid)}-${word}-`));
  await chmod(directory, 0o711);
  return directory;
}

/** Ends services and labs of tests that were killed, and removes their directories. Answers these. */
export async function endAbandonedTests(): Promise<readonly string[]> {
  const ended: string[] = [];
  for (const name of (await readdir(tmpdir())).sort()) {
    const [, pid = "", start = ""] = pattern.exec(name) ?? [];
    const directory = join(tmpdir(), name);
    if (pid === "" || (await runs(Number(pid), start)) || !(await isOurs(directory))) continue;
    await endProcesses(() => servicesIn(directory));
    await endProcesses(() => holdersIn(directory));
    for (const lab of await below(join(directory, "state", "labs"))) await removeUplinks(lab);
    succeeded(["rm", "-rf", directory], await runOnMachine(["rm", "-rf", "--", directory]));
    ended.push(directory);
  }
  return ended;
}

async function isOurs(directory: string): Promise<boolean> {
  // One that is gone was removed by another run meanwhile.
  return (await stat(directory).catch(() => undefined))?.uid === process.getuid?.();
}

/** Pids of services whose state directory is there. */
async function servicesIn(directory: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const environment = await readIfThere(`/proc/${pid}/environ`).catch(ignoreForbidden);
    if (environment.split("\0").some((text) => text.startsWith(`LABWRIGHT_STATE_DIR=${directory}/`))) found.push(Number(pid));
  }
  return found;
}

/** Pids of the labs that have their runtime files there. */
async function holdersIn(directory: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const lab of [...(await below(directory)), ...(await below(join(directory, "run")))]) {
    const identity = parseIdentity(await readIfThere(join(lab, "holder.json")).catch(ignoreNoDirectory));
    if (identity !== null && (await lives(identity))) found.push(identity.pid);
  }
  return found;
}

async function endProcesses(find: () => Promise<readonly number[]>): Promise<void> {
  for (let patience = 500; ; patience--) {
    const pids = await find();
    if (pids.length === 0) return;
    if (patience === 0) throw new Error(`processes of a test that was killed do not end: ${pids.join(", ")}`);
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    await delay(20);
  }
}

async function below(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.map((name) => join(directory, name));
}

/** Of another user's process. */
function ignoreForbidden(error: NodeJS.ErrnoException): string {
  if (error.code === "EACCES" || error.code === "EPERM") return "";
  throw error;
}

function ignoreNoDirectory(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOTDIR") return "";
  throw error;
}
