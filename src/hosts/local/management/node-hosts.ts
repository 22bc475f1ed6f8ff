import { parallel } from "../../../base/parallel.ts";
import { machineBind } from "../../../intent/lab/machine-bind.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { nodeDisk, treeReader } from "../files/node-disk.ts";
import type { NodeSpawn, Sandbox } from "../sandbox/sandbox.ts";
import { hostsWith, type NamedAddress } from "./hosts-text.ts";
import { managementAddresses } from "./management.ts";

/** Marks the lines of the lab in the hosts file of a node. */
const mark = "nodes";
export const nodeHostsFile = "/etc/hosts";
/** The time for the change of a running node, ms: a kernel of its own may be booting. */
const timeoutMs = 180_000;
/** The time that a change of the lab waits for the files of its nodes, ms. Then they are written while other work goes on. */
const patienceMs = 3_000;
/** Processes that write at the same time in the nodes of a lab. A node whose kernel boots keeps one of them busy until then. */
const maxWrites = 32;

interface RunningNode {
  readonly node: DefinedNode;
  /** Inside the sandbox: a node that starts again has another one. */
  readonly pid: number;
}

/**
 * The names of a lab's nodes in the hosts file of each node with a management address: a marked block. All other lines belong to the node. A node that
 * declares the file in `files` or `binds` keeps it as it is.
 */
export class NodeHosts {
  readonly #warn: (text: string) => void;
  /** Sandbox → node → the block that it has, or is about to get, and its process. */
  readonly #known = new WeakMap<object, Map<number, string>>();

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  /**
   * Returns the requests of nodes that are about to start, with their hosts files. Nodes with a kernel of their own get them when they run.
   * @param machines nodes that run in a hypervisor: the files of their requests are not those of their guests
   */
  async prepare(
    directory: string,
    lab: LabDefinition,
    spawns: readonly NodeSpawn[],
    machines: ReadonlySet<number>,
  ): Promise<readonly NodeSpawn[]> {
    const named = await nodeNames(directory, lab);
    const nodes = new Map(lab.nodes.map((node) => [node.id, node]));
    return spawns.map((spawn) => {
      const node = nodes.get(spawn.id);
      if (node === undefined || machines.has(node.id) || !named.managed.has(node.id) || hasOwnFile(node)) return spawn;
      // Without names, only a block of an earlier start is removed.
      if (named.names.length === 0 && !nodeDisk(spawn.disk).has(nodeHostsFile)) return spawn;
      const text = treeReader([`${spawn.disk}/upper`, ...spawn.lower])(nodeHostsFile) ?? "127.0.0.1\tlocalhost\n";
      return { ...spawn, files: [...spawn.files, { path: nodeHostsFile, mode: 0o644, text: hostsWith(text, mark, named.names) }] };
    });
  }

  /** Whether nodes of this sandbox have names in their hosts files, or are to get them. */
  concerns(sandbox: object, lab: LabDefinition): boolean {
    return lab.management !== undefined || (this.#known.get(sandbox)?.size ?? 0) > 0;
  }

  /** Brings the hosts files of running nodes up to date. @param started nodes that have just started with what `prepare` returned */
  async update(
    directory: string,
    sandbox: Pick<Sandbox, "process" | "alive">,
    lab: LabDefinition,
    running: readonly RunningNode[],
    started: ReadonlySet<number>,
  ): Promise<void> {
    if (!this.concerns(sandbox, lab)) return;
    const known = this.#known.get(sandbox) ?? new Map<number, string>();
    this.#known.set(sandbox, known);
    const { names } = await nodeNames(directory, lab);
    const block = hostsWith("", mark, names);
    const changes = running.flatMap(({ node, pid }) => {
      const wanted = `${pid} ${block}`;
      if (hasOwnFile(node) || known.get(node.id) === wanted) return [];
      known.set(node.id, wanted);
      const hasIt = started.has(node.id) && node.kernel !== "own";
      return hasIt ? [] : [{ node, failed: () => known.get(node.id) === wanted && known.delete(node.id) }];
    });
    if (changes.length === 0) return;
    const written = parallel(changes, maxWrites, ({ node, failed }) => this.#write(sandbox, lab.id, node, block, failed));
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    await Promise.race([written, patience]);
    clearTimeout(timer);
  }

  async #write(
    sandbox: Pick<Sandbox, "process" | "alive">,
    lab: string,
    node: DefinedNode,
    block: string,
    failed: () => void,
  ): Promise<void> {
    try {
      const argv = ["/bin/sh", "-c", updateScript, "sh", nodeHostsFile];
      const process = await sandbox.process(node.id, { argv, timeoutMs }, new AbortController().signal);
      void process.write(Buffer.from(block));
      process.endInput();
      let complaint = "";
      for await (const item of process.output) {
        if (item.stream !== "end") complaint = (complaint + item.data.toString()).slice(0, 500);
        else if (item.exitCode !== 0 && item.reason !== "stopped")
          throw new Error(complaint.trim() || `exit code ${item.exitCode ?? "none"}`);
      }
    } catch (error) {
      failed();
      if (!(await sandbox.alive().catch(() => false))) return;
      this.#warn(
        `lab ${lab}: node ${node.name}: the names of the other nodes are not in its ${nodeHostsFile}: ${(error as Error).message}`,
      );
    }
  }
}

const [begin, end] = ["begin", "end"].map((place) => `/^# labwright ${mark}: ${place}$/`);
/**
 * $1: the file. Replaces the block by the one on standard input; of a block without its last line, removes the first line only. The file is written in place,
 * because it may be a mount, and keeps its owner and mode.
 */
export const updateScript = `new="$1.labwright-$$"; trap 'rm -f "$new"' EXIT; umask 022
old="${begin}d"; [ ! -e "$1" ] || [ "$(sed -n '${begin}p;${end}p' "$1" | sed -n '2{${end}p;}')" = "" ] || old="${begin},${end}d"
{ if [ -e "$1" ]; then sed "$old" "$1" || exit; fi; cat; } > "$new" && cat "$new" > "$1"`;

/** Returns the names of the lab's nodes with a management address, short and with the lab as domain, and the ids of those nodes. */
async function nodeNames(directory: string, lab: LabDefinition) {
  const addresses = await managementAddresses(directory, lab);
  const managed = lab.management === undefined ? new Set(lab.nodes.map(({ id }) => id)) : new Set(addresses.keys());
  return { managed, names: namesOf(lab, addresses) };
}

/** @param addresses node id → addresses with their prefixes */
export function namesOf(
  { path, name: labName, nodes }: Pick<LabDefinition, "path" | "name" | "nodes">,
  addresses: ReadonlyMap<number, readonly string[]>,
): readonly NamedAddress[] {
  const domain = path.split("/").at(-1) ?? labName;
  const words = new Map<string, string>();
  return nodes.flatMap(({ id, name }) => {
    // A hosts file has no upper and lower case: of two names that differ only there, the first one wins.
    const own = [`${name}.${domain}`, name].filter((one) => {
      const key = one.toLowerCase();
      if (!isWord(one) || reserved.test(one) || (words.get(key) ?? String(id)) !== String(id)) return false;
      words.set(key, String(id));
      return true;
    });
    if (own.length === 0) return [];
    return (addresses.get(id) ?? []).map((address) => ({ name: own.join(" "), address: address.replace(/\/.*/, "") }));
  });
}

/** Names that every node has for itself. */
const reserved = /^(localhost|ip6-[a-z0-9]+)$/i;

function isWord(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i.test(name);
}

function hasOwnFile({ files = {}, binds = [] }: DefinedNode): boolean {
  return Object.hasOwn(files, nodeHostsFile) || binds.some((text) => [nodeHostsFile, "/etc"].includes(machineBind(text).target));
}
