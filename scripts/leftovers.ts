import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { uplinkOf } from "../src/hosts/local/management/management.ts";
import { natDevice } from "../src/hosts/local/nat/nat.ts";

/** Identifies the labs, services and files of one test run. Those of other runs on the machine are ignored. */
export interface Owner {
  /** Matches the paths of the owner's directories and the environment of the owner's processes. */
  readonly mark: RegExp;
  readonly runDir: string;
}

/** Returns the owner of a test run. LABWRIGHT_TEST_RUN names the run; test-directory.fixture.ts puts the name into the directories of labs and services. */
export function ownerOf(run: string, runDir: string): Owner {
  return { mark: new RegExp(`labwright-test-(\\d+-\\d+-)?${run}\\b|LABWRIGHT_TEST_RUN=${run}(\\0|$)`), runDir };
}

/**
 * Returns everything that the owner's labs and tests use on the machine, as sorted lines: processes, their network, mount and user namespaces, uplinks of nat
 * networks, nftables tables, mounts, files in the run directory. Uplinks and tables are listed if they belong to no running lab of others.
 */
export async function leftovers({ mark, runDir }: Owner): Promise<readonly string[]> {
  const machine = new Set(await namespacesOf("self"));
  const all = await processes();
  const own = ownProcesses(all, mark);
  const held = own.flatMap(({ pid, command, namespaces }) => [
    `process ${pid} ${command}`,
    ...namespaces.filter((name) => !machine.has(name)),
  ]);
  const others = new Set(all.flatMap((one) => (own.includes(one) ? [] : (labOf(one) ?? []))));
  const found = await Promise.all([held, uplinks(others), tables(others), mounts(mark), files(runDir)]);
  return [...new Set(found.flat())].sort();
}

/**
 * Waits until nothing new is left. Returns the lines that every check within `ms` found. Lines that only some checks found belong to other labs that
 * start and end.
 */
export async function leftBehind(
  look: () => Promise<readonly string[]>,
  before: ReadonlySet<string>,
  ms: number,
): Promise<readonly string[]> {
  const deadline = performance.now() + ms;
  for (let left: readonly string[] | undefined; ; await delay(200)) {
    const found = (await look()).filter((line) => !before.has(line));
    left = left?.filter((line) => found.includes(line)) ?? found;
    if (left.length === 0 || performance.now() > deadline) return left;
  }
}

/** Returns the holders of these labs (ids) and their namespaces as lines of the same form. */
export async function holdings(labs: readonly string[]): Promise<readonly string[]> {
  const machine = new Set(await namespacesOf("self"));
  const held = (await processes()).filter(({ command }) => labs.some((lab) => command.includes(`lab=${lab}`)));
  const lines = held.flatMap(({ pid, command, namespaces }) => [`process ${pid} ${command}`, ...namespaces]);
  return [...new Set(lines)].filter((line) => !machine.has(line)).sort();
}

interface Process {
  readonly pid: string;
  readonly parent: string;
  readonly command: string;
  /** Environment, working directory and output files: a holder does not inherit the environment of its starter, but writes a log in the run directory. */
  readonly traces: string;
  readonly namespaces: readonly string[];
}

/** Returns the processes with the mark and their descendants. */
function ownProcesses(all: readonly Process[], mark: RegExp): readonly Process[] {
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const isOwn = (one: Process | undefined): boolean =>
    one !== undefined &&
    one.pid !== String(process.pid) &&
    (mark.test(one.command) || mark.test(one.traces) || isOwn(byPid.get(one.parent)));
  return all.filter(isOwn);
}

function labOf({ command }: Process): string | undefined {
  return /^labwright-holder lab=(\S+)/.exec(command)?.[1];
}

async function processes(): Promise<readonly Process[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<readonly Process[]> => {
      try {
        const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
        const stat = await readFile(`/proc/${pid}/stat`, "utf8");
        const [, parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const traces = await Promise.all([
          readFile(`/proc/${pid}/environ`, "utf8").catch(ignoreGone),
          ...["cwd", "fd/1", "fd/2"].map((name) => readlink(`/proc/${pid}/${name}`).catch(ignoreGone)),
        ]);
        return [{ pid, parent, command, traces: traces.join("\0"), namespaces: await namespacesOf(pid) }];
      } catch (error) {
        // A process that ends while it is read and a zombie have no namespaces.
        ignoreGone(error as NodeJS.ErrnoException);
        return [];
      }
    }),
  );
  return found.flat();
}

/** Returns "" for a file that is missing, closed, or belongs to another user. */
function ignoreGone(error: NodeJS.ErrnoException): string {
  if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(error.code ?? "")) return "";
  throw error;
}

async function namespacesOf(pid: string): Promise<readonly string[]> {
  const names = await Promise.all(["net", "mnt", "user"].map((kind) => readlink(`/proc/${pid}/ns/${kind}`)));
  return names.map((name) => `namespace ${name}`);
}

/** Network ids start at 1 in each lab. No lab has this many. */
const mostNetworks = 1000;

async function uplinks(others: ReadonlySet<string>): Promise<readonly string[]> {
  const theirs = new Set(
    [...others].flatMap((lab) => [uplinkOf(lab).device, ...Array.from({ length: mostNetworks }, (_, network) => natDevice(lab, network))]),
  );
  return (await readdir("/sys/class/net")).flatMap((name) => (name.startsWith("lw-") && !theirs.has(name) ? [`interface ${name}`] : []));
}

async function mounts(mark: RegExp): Promise<readonly string[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8");
  return text.split("\n").flatMap((line) => {
    const path = line.split(" ")[4] ?? "";
    return mark.test(path) ? [`mount ${path}`] : [];
  });
}

async function tables(others: ReadonlySet<string>): Promise<readonly string[]> {
  const theirs = [...others].map((lab) => `labwright_${lab.replaceAll("-", "_")}_`);
  try {
    const { stdout } = await promisify(execFile)("nft", ["list", "tables"]);
    return stdout.split("\n").filter((line) => / labwright_/.test(line) && !theirs.some((prefix) => line.includes(prefix)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    // A user without this right has no nat networks: creating their tables needs the same right.
    if (/Operation not permitted/.test(String((error as { readonly stderr?: string }).stderr))) return [];
    throw error;
  }
}

async function files(runDir: string): Promise<readonly string[]> {
  try {
    return (await readdir(runDir, { recursive: true })).map((name) => `file ${name}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
