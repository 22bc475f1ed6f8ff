import { chmod, mkdtemp, readdir, readlink, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readIfThere } from "../holder/identity.ts";
import { holderProcesses } from "../holder/processes.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import { removeManagement } from "../management/management.ts";
import { removeUnrecordedTables, removeUplinks } from "../nat/nat.ts";
import { processStart, runs } from "./process-mark.fixture.ts";

/**
 * The directory's name has the pid and start time of its process, the test run if there is one, and the test's own word. They show whether the
 * directory is still in use.
 */
const pattern = /^(.*\/labwright-test-(\d+)-(\d+)-[^/]+)\//;

/**
 * A directory for a test that starts labs or services, with their `state` and `run` directories in it. All users may traverse it, because nodes have
 * other ids. If the test is killed, the next test run ends the processes that it started.
 */
export async function testDirectory(word: string): Promise<string> {
  const run = process.env["LABWRIGHT_TEST_RUN"];
  const name = [process.pid, await processStart(process.pid), ...(run === undefined ? [] : [run]), word].join("-");
  const directory = await mkdtemp(join(tmpdir(), `labwright-test-${name}-`));
  await chmod(directory, 0o711);
  return directory;
}

/**
 * Ends services and labs of killed tests, even if their directories no longer exist, and removes the directories. Returns them, sorted.
 */
export async function endAbandonedTests(): Promise<readonly string[]> {
  const abandoned = new Set<string>();
  for (const name of await readdir(tmpdir())) {
    const directory = join(tmpdir(), name);
    if ((await isAbandoned(directory)) && (await isOurs(directory))) abandoned.add(directory);
  }
  for (const { directory } of [...(await services()), ...(await holders())]) if (await isAbandoned(directory)) abandoned.add(directory);
  for (const directory of [...abandoned].sort()) await end(directory);
  return [...abandoned].sort();
}

/** Returns whether it is the directory of a test that has ended. */
async function isAbandoned(directory: string): Promise<boolean> {
  const [, , pid = "", start = ""] = pattern.exec(`${directory}/`) ?? [];
  return pid !== "" && !(await runs(Number(pid), start));
}

async function isOurs(directory: string): Promise<boolean> {
  // Another run has removed it.
  return (await stat(directory).catch(() => undefined))?.uid === process.getuid?.();
}

async function end(directory: string): Promise<void> {
  const labs = new Set<string>();
  await endProcesses(async () => (await services()).filter((one) => one.directory === directory));
  await endProcesses(async () => {
    const found = (await holders()).filter((one) => one.directory === directory);
    for (const { lab } of found) labs.add(lab);
    return found;
  });
  for (const lab of await below(join(directory, "state", "labs"))) {
    await removeUplinks(lab);
    await removeManagement(basename(lab), lab);
  }
  for (const lab of labs) await removeUnrecordedTables(lab);
  succeeded(["rm", "-rf", directory], await runOnMachine(["rm", "-rf", "--", directory]));
}

/** A process with files in a test's directory, which may already be removed. */
interface TestProcess {
  readonly pid: number;
  readonly directory: string;
}

/** Returns the services of tests, found by their state directory. */
async function services(): Promise<readonly TestProcess[]> {
  const found: TestProcess[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const environment = await readIfThere(`/proc/${pid}/environ`).catch(ignoreForbidden);
    const state = environment.split("\0").find((text) => text.startsWith("LABWRIGHT_STATE_DIR="));
    const directory = pattern.exec(`${state?.slice(state.indexOf("=") + 1)}/`)?.[1];
    if (directory !== undefined && (await isOfThisNamespace(pid, 1))) found.push({ pid: Number(pid), directory });
  }
  return found;
}

/** Returns the holders of tests' labs, found by the path of their log, which the kernel shows even for a removed file. */
async function holders(): Promise<readonly (TestProcess & { readonly lab: string })[]> {
  const found: (TestProcess & { readonly lab: string })[] = [];
  for (const { pid, lab, role } of await holderProcesses()) {
    if (role !== "init") continue;
    const log = await readlink(`/proc/${pid}/fd/2`).catch(ignoreForbidden);
    const directory = pattern.exec(log)?.[1];
    // The process is the init of its own pid namespace.
    if (directory !== undefined && (await isOfThisNamespace(pid, 2))) found.push({ pid, lab, directory });
  }
  return found;
}

/** Returns whether the process that started this one is in this pid namespace. It is unknown here whether others run. @param pids that the process has */
async function isOfThisNamespace(pid: number | string, pids: number): Promise<boolean> {
  const status = await readIfThere(`/proc/${pid}/status`);
  return /^NSpid:\t(.*)$/m.exec(status)?.[1]?.split("\t").length === pids;
}

async function endProcesses(find: () => Promise<readonly TestProcess[]>): Promise<void> {
  for (let patience = 3000; ; patience--) {
    const pids = (await find()).map(({ pid }) => pid);
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

/** "" for another user's process, and for a process that has just ended. */
function ignoreForbidden(error: NodeJS.ErrnoException): string {
  if (["EACCES", "EPERM", "ENOENT", "ESRCH"].includes(error.code ?? "")) return "";
  throw error;
}
