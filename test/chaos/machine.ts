import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { runOnMachine } from "../../src/hosts/local/machine/machine.ts";

/** A process of a lab, as the machine shows it. */
export interface LabProcess {
  readonly pid: number;
  readonly lab: string;
  /** The lab's init, a node's init, the shaper itself, something that only asks it, a capture's tap, or a virtual machine's QEMU. */
  readonly role: "init" | "node" | "shaper" | "asking" | "tap" | "hypervisor";
  /** Of a node. */
  readonly node?: number;
}

/** The processes of these labs, by their command lines: other runs have other labs. */
export async function processesOf(labs: ReadonlySet<string>): Promise<readonly LabProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (name): Promise<LabProcess | undefined> => {
      const [program = "", mark = "", last = ""] = read(`/proc/${name}/cmdline`).split("\0");
      const lab = mark.startsWith("lab=") ? mark.slice(4) : "";
      if (
        !labs.has(lab) ||
        read(`/proc/${name}/stat`)
          .replace(/^.*\) /, "")
          .startsWith("Z")
      )
        return undefined;
      const pid = Number(name);
      if (program === "labwright-holder") {
        const node = /^node=(\d+)/.exec(last)?.[1];
        return node === undefined ? { pid, lab, role: "init" } : { pid, lab, role: "node", node: Number(node) };
      }
      if (program.endsWith("labwright-shaper")) {
        // The shaper is forked from who asked first, and so has its command line; but it has no standard input.
        const input = await readlink(`/proc/${name}/fd/0`).catch(() => "");
        return { pid, lab, role: input === "/dev/null" && last !== "watch" ? "shaper" : "asking" };
      }
      return undefined;
    }),
  );
  const marked = found.filter((one) => one !== undefined);
  return [...marked, ...(await unmarked(pids, marked))];
}

/** Processes without their lab's name, found by their parents. */
async function unmarked(pids: readonly string[], marked: readonly LabProcess[]): Promise<readonly LabProcess[]> {
  const labOf = new Map(marked.map(({ pid, lab }) => [pid, lab]));
  const found: LabProcess[] = [];
  for (const name of pids) {
    const [program = "", mark = ""] = read(`/proc/${name}/cmdline`).split("\0");
    const role =
      program.endsWith("labwright-tap") && mark.startsWith("capture=") ? "tap" : /\/qemu-system-/.test(program) ? "hypervisor" : undefined;
    if (role === undefined) continue;
    // A tap is the lab's own child, QEMU a grandchild of its node's init.
    let lab: string | undefined;
    for (let pid = Number(name), up = 0; lab === undefined && pid > 1 && up < 4; up++) {
      const stat = read(`/proc/${pid}/stat`);
      pid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      lab = labOf.get(pid);
    }
    if (lab !== undefined) found.push({ pid: Number(name), lab, role });
  }
  return found;
}

/** Objects of these labs outside their namespaces: tables, interfaces, mounts below the directory, processes in these user namespaces. */
export async function outside(labs: ReadonlySet<string>, base: string, userNamespaces: ReadonlySet<string>): Promise<readonly string[]> {
  const tables = (await tablesOf(labs)).map((table) => `table ${table}`);
  const known = new Set(
    [...labs].flatMap((lab) => [managementOf(lab), ...Array.from({ length: 100 }, (_, network) => uplinkOf(lab, network))]),
  );
  const interfaces = (await readdir("/sys/class/net")).filter((name) => known.has(name));
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").filter((line) => line.includes(` ${base}/`));
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(
    pids.map(async (pid) => {
      const [program, mark = ""] = read(`/proc/${pid}/cmdline`).split("\0");
      const foreign = program === "labwright-holder" && !labs.has(mark.slice("lab=".length));
      return { pid, foreign, space: await readlink(`/proc/${pid}/ns/user`).catch(() => "") };
    }),
  );
  // The kernel gives the number of a namespace that is gone to another one: that of a lab of somebody else's, perhaps.
  const others = new Set(all.filter(({ foreign }) => foreign).map(({ space }) => space));
  const inside = all
    .filter(({ space }) => userNamespaces.has(space) && !others.has(space))
    .map(({ pid }) => [`process ${pid} in a lab's namespace`]);
  return [...tables, ...interfaces.map((name) => `interface ${name}`), ...mounts, ...inside.flat()];
}

/** Names of nftables tables of these labs' nat networks. */
export async function tablesOf(labs: ReadonlySet<string>): Promise<readonly string[]> {
  const marks = [...labs].map((lab) => lab.replaceAll("-", "_"));
  const { stdout } = await runOnMachine(["nft", "list", "tables"]);
  return [...new Set([...stdout.matchAll(/^table (?:inet|arp) (\S+)$/gm)].map(([, name]) => name ?? ""))].filter((name) =>
    marks.some((mark) => name.includes(mark)),
  );
}

/** The machine's end of a management network. */
function managementOf(lab: string): string {
  return `lw-m${createHash("sha256").update(`${lab}/management`).digest("hex").slice(0, 11)}`;
}

/** The machine's end of a nat network's way out. */
function uplinkOf(lab: string, network: number): string {
  return `lw-${createHash("sha256").update(`${lab}/${network}`).digest("hex").slice(0, 12)}`;
}

export function userNamespaceOf(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/ns/user`).catch(() => undefined);
}

/** Adds the labs that have a directory now. */
export async function noteLabs(labs: Set<string>, stateDir: string, runDir: string): Promise<void> {
  for (const place of [join(stateDir, "labs"), runDir])
    for (const name of await readdir(place).catch(() => [])) if (/^[0-9a-f-]{36}$/.test(name)) labs.add(name);
}

/** Paths below a directory, none where it is not there. */
export async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries.map((name) => join(name)).sort();
}

/** "" for a process that is gone. The kernel answers at once: without threads, thousands of such files cost a tenth of the processor time. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}
