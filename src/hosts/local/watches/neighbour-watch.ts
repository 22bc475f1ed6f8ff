import { readFileSync } from "node:fs";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

export interface NeighbourWatchOptions {
  readonly definitions: Definitions;
  /** The living part of a lab. */
  readonly lab: (id: string) => LocalLab;
  /** Maximum entries of a neighbour table of the kernel. `undefined`: read from the kernel. */
  readonly most?: number;
  readonly warn: (text: string) => void;
}

const askMs = 500;
/** Minimum time between two checks. The next check waits for ten times the duration of the last one. */
const minRestMs = 5_000;
const restFactor = 10;
/** Nodes are checked when a table is filled to this fraction. */
const alarmPart = 1 / 4;
/** A node may then have at most this part of a table. */
const nodePart = 1 / 16;

/**
 * Watches the kernel's neighbour tables, which all net namespaces share and which have no limit for a namespace. If a table fills up, the nodes with
 * the most entries are suspended: entries of a suspended node age and are collected. A node that still has too many entries at the next check is
 * stopped, because its kernel continues to forward packets while its processes are suspended.
 */
export class NeighbourWatch {
  readonly #options: NeighbourWatchOptions;
  /** The nodes that the last check suspended: lab id and node id. */
  #suspended = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #notBefore = 0;
  #closed = false;

  constructor(options: NeighbourWatchOptions) {
    this.#options = options;
    this.#wait();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookIfDue()
        .catch((error: Error) => this.#options.warn(`the neighbours of nodes cannot be counted: ${error.message}`))
        .finally(() => {
          if (!this.#closed) this.#wait();
        });
    }, askMs).unref();
  }

  async #lookIfDue(): Promise<void> {
    const start = performance.now();
    const most = this.#options.most ?? maxEntries();
    if (start < this.#notBefore || entries() < most * alarmPart) return;
    await this.#look(most * nodePart);
    this.#notBefore = start + Math.max(minRestMs, (performance.now() - start) * (1 + restFactor));
  }

  async #look(limit: number): Promise<void> {
    const before = this.#suspended;
    this.#suspended = new Set();
    for (const lab of await this.#options.definitions.all()) {
      const sandbox = this.#options.lab(lab.id).sandbox;
      if (sandbox === null || this.#closed) continue;
      try {
        for (const id of await nodesOver(sandbox, limit)) await this.#end(lab, sandbox, id, limit, before);
      } catch (error) {
        // A lab that does not answer does not prevent the check of the others.
        this.#options.warn(`lab ${lab.path}: the neighbours of its nodes cannot be counted: ${(error as Error).message}`);
      }
    }
  }

  async #end(lab: LabDefinition, sandbox: Sandbox, id: number, limit: number, before: ReadonlySet<string>): Promise<void> {
    const name = lab.nodes.find((node) => node.id === id)?.name ?? id;
    const text = `lab ${lab.path}: node ${name} has more than ${Math.floor(limit)} neighbours, in a table that all labs share`;
    if (before.has(`${lab.id} ${id}`)) {
      await sandbox.stop([id], "kill", 0);
      this.#options.warn(`${text}, and still had when it was suspended: it was stopped`);
    } else {
      await sandbox.freeze([id], "freeze");
      this.#suspended.add(`${lab.id} ${id}`);
      this.#options.warn(`${text}: it was suspended`);
    }
  }
}

/** Prints each process whose net namespace has more than $1 entries. */
const countEntries = `limit=$1; shift
for pid; do
  [ "$(nsenter -t "$pid" -n ip -o neigh show nud all 2>/dev/null | head -n "$limit" | wc -l)" -lt "$limit" ] || echo "$pid"
done`;

/** Returns the ids of the lab's nodes with more than `limit` neighbours. */
async function nodesOver(sandbox: Sandbox, limit: number): Promise<readonly number[]> {
  const { nodes } = await sandbox.info();
  const alive = nodes.filter(({ pid }) => pid > 0);
  if (alive.length === 0) return [];
  const argv = ["sh", "-c", countEntries, "sh", String(Math.floor(limit) + 1), ...alive.map(({ pid }) => String(pid))];
  const found = new Set((await sandbox.run(argv)).stdout.split("\n").filter(Boolean).map(Number));
  return alive.filter(({ pid }) => found.has(pid)).map(({ id }) => id);
}

/** Returns the number of entries of the fuller of the machine's two tables. */
function entries(): number {
  const counts = ["arp_cache", "ndisc_cache"].map((name) => {
    const [, first = "0"] = textOf(`/proc/net/stat/${name}`).split("\n");
    return Number.parseInt(first.trim().split(/\s+/)[0] || "0", 16);
  });
  return Math.max(...counts);
}

/** Returns the kernel's limit of the smaller table. */
function maxEntries(): number {
  const sizes = ["ipv4", "ipv6"].flatMap((family) => {
    const text = textOf(`/proc/sys/net/${family}/neigh/default/gc_thresh3`);
    return text === "" ? [] : [Number(text)];
  });
  return Math.min(...sizes);
}

/** Returns "" if the kernel has no IPv6, or does not show the value here. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
