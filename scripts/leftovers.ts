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

async function processes(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => {
      try {
        const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
        const names = await Promise.all(["net", "mnt", "user"].map((kind) => readlink(`/proc/${pid}/ns/${kind}`)));
        const spaces = names.map((name) => `namespace ${name}`);
        return /labwright-holder|labwright-shaper|labwright-tap|labwright\S*\.sock/.test(command)
          ? [`process ${pid} ${command}`, ...spaces]
          : spaces;
      } catch (error) {
        // Processes end while they are read, and a zombie has no namespaces: neither holds anything.
        if (["ENOENT", "ESRCH", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
        throw error;
      }
    }),
  );
  return lines.flat();
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
