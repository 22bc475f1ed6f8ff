import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * What a lab could leave on the machine, as lines to compare before and after: holders (processes with our binary's name),
 * network, mount and user namespaces, interfaces, mounts, nftables tables, files in the run directory. Reads only.
 */
export async function leftovers(runDir: string): Promise<readonly string[]> {
  const found = await Promise.all([processes(), interfaces(), mounts(), tables(), files(runDir)]);
  return [...new Set(found.flat())].sort();
}

/** The same lines for what these labs (ids) hold now: their holders, and the namespaces that only holders have. */
export async function holdings(labs: readonly string[]): Promise<readonly string[]> {
  const machine = new Set(await namespacesOf("self"));
  const held = (await commands()).filter(({ command }) => labs.some((lab) => command.includes(`lab=${lab}`)));
  const lines = held.flatMap(({ pid, command, namespaces }) => [`process ${pid} ${command}`, ...namespaces]);
  return [...new Set(lines)].filter((line) => !machine.has(line)).sort();
}

async function processes(): Promise<readonly string[]> {
  return (await commands()).flatMap(({ pid, command, namespaces }) =>
    /labwright-(?:decoder|holder|shaper|tap)|labwright\S*\.sock/.test(command) ? [`process ${pid} ${command}`, ...namespaces] : namespaces,
  );
}

interface Command {
  readonly pid: string;
  readonly command: string;
  readonly namespaces: readonly string[];
}

async function commands(): Promise<readonly Command[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<readonly Command[]> => {
      try {
        const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
        return [{ pid, command, namespaces: await namespacesOf(pid) }];
      } catch (error) {
        // Processes end while they are read, and a zombie has no namespaces: neither holds anything.
        if (["ENOENT", "ESRCH", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
        throw error;
      }
    }),
  );
  return found.flat();
}

async function namespacesOf(pid: string): Promise<readonly string[]> {
  const names = await Promise.all(["net", "mnt", "user"].map((kind) => readlink(`/proc/${pid}/ns/${kind}`)));
  return names.map((name) => `namespace ${name}`);
}

async function interfaces(): Promise<readonly string[]> {
  return (await readdir("/sys/class/net")).map((name) => `interface ${name}`);
}

async function mounts(): Promise<readonly string[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8");
  return text.split("\n").flatMap((line) => (line ? [`mount ${line.split(" ")[4]}`] : []));
}

async function tables(): Promise<readonly string[]> {
  try {
    const { stdout } = await promisify(execFile)("nft", ["list", "tables"]);
    return stdout.split("\n").filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    // Who may not look has no nat networks either: making their tables needs the same right.
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
