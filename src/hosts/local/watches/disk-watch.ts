import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { memoryText } from "../../../engine/plan/admission.ts";
import type { LabDefinition } from "../definitions/definition.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { LocalLab } from "../lab/local-lab.ts";
import { switchingNode } from "../sandbox/sandbox.ts";
import { maxSwitchingDisk, switchingDisk } from "../switching/switching-node.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeLimits } from "../templates/node-needs.ts";
import { diskUsage } from "./disk-usage.ts";

/** Both in ms. */
export interface DiskPace {
  /** Interval at which it is checked whether a measurement is due, ms. */
  readonly askMs: number;
  /** Maximum time between two checks of all disks, independent of the file system. */
  readonly maxMs: number;
}

export const diskPace: DiskPace = { askMs: 5_000, maxMs: 60_000 };

export interface DiskWatchOptions {
  readonly definitions: Definitions;
  /** The living part of a lab. */
  readonly lab: (id: string) => LocalLab;
  readonly catalogue: () => Promise<Catalogue>;
  /** A directory on the file system of the nodes' disks. */
  readonly directory: string;
  readonly pace: DiskPace;
  readonly warn: (text: string) => void;
}

/** A node's disk at its last check. */
export interface DiskState {
  readonly bytes: number;
  /** More than the node may take. */
  readonly over: boolean;
}

interface Disk {
  readonly lab: LabDefinition;
  /** In the lab's sandbox. */
  readonly id: number;
  readonly name: string;
  readonly directory: string;
  /** Maximum bytes; 0: no limit. */
  readonly limit: number;
  /** It runs. */
  readonly writes: boolean;
}

interface Known extends DiskState {
  /** Its usage when it was suspended: the node is suspended again only if it writes more. */
  readonly suspendedAt?: number;
}

/** All disks are checked at once when the usage of the file system has grown by this number of bytes. */
const grownBytes = 64 * 2 ** 20;
/** Maximum duration of a check. The next check waits for ten times the duration of the last one. */
const budgetMs = 20_000;
const restFactor = 10;
/** Bytes that a resumed node may still write without being suspended again, so that its user can free space. */
const slackBytes = 2 ** 20;

/**
 * Checks the disk usage of running nodes at intervals, and suspends nodes that exceed their limit: few file systems have quotas for directories.
 * Between two checks a node may exceed its limit.
 */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  /** Directory of the disk → its last measurement. */
  #known = new Map<string, Known>();
  /** Directory of the disk → time of its last check, by performance.now(). */
  #turns = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #usedThen = 0;
  #notBefore = 0;
  #notAfter = 0;
  #warned = "";
  readonly #closing = new AbortController();

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    this.#wait();
  }

  /** Returns the last measurements of a lab's running nodes. For a node without a measurement it returns `undefined` and brings the next check forward. */
  states(lab: string): (node: number) => DiskState | undefined {
    const nodes = this.#nodesDirectory(lab);
    return (node) => {
      const directory = `${nodes}/${node}`;
      if (!this.#turns.has(directory)) this.#notAfter = 0;
      return this.#known.get(directory);
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookIfDue()
        .then(() => {
          this.#warned = "";
        })
        .catch((error: Error) => {
          // Warns once, not at each check, while the error is the same.
          if (error.message !== this.#warned) this.#options.warn(`the disk usage of nodes is unknown: ${error.message}`);
          this.#warned = error.message;
        })
        .finally(() => {
          if (!this.#closing.signal.aborted) this.#wait();
        });
    }, this.#options.pace.askMs).unref();
  }

  async #lookIfDue(): Promise<void> {
    const start = performance.now();
    const { blocks, bfree, bsize } = await statfs(this.#options.directory);
    const used = (blocks - bfree) * bsize;
    // Space that others free hides the writes of a node. Then the check is late by at most the maximum interval.
    if (start < this.#notBefore || (start < this.#notAfter && used - this.#usedThen < grownBytes)) return;
    this.#usedThen = used;
    await this.#look(start);
    const took = performance.now() - start;
    this.#notBefore = start + took * (1 + restFactor);
    this.#notAfter = start + this.#options.pace.maxMs;
  }

  async #look(now: number): Promise<void> {
    const catalogue = await this.#options.catalogue();
    const known = new Map<string, Known>();
    const disks: Disk[] = [];
    for (const lab of await this.#options.definitions.all()) {
      const live = this.#options.lab(lab.id);
      // Nothing is known about a lab that does not answer; requests for it fail with the reason.
      const life = live.sandbox === null ? undefined : await live.life(lab, catalogue).catch(() => undefined);
      const nodes = this.#nodesDirectory(lab.id);
      for (const node of lab.nodes) {
        const directory = `${nodes}/${node.id}`;
        const before = this.#known.get(directory);
        if (before !== undefined) known.set(directory, before);
        const power = life?.get(node.id)?.power ?? "stopped";
        if (power === "stopped" || power === "failed" || catalogue.limits(node) === undefined) continue;
        const limit = nodeLimits(node, catalogue.template(node.template)).disk * 2 ** 20;
        disks.push({ lab, id: node.id, name: node.name, directory, limit, writes: power === "running" || power === "starting" });
      }
      const vlanSwitch = lab.nodes.find((node) => node.switching !== undefined && (life?.get(node.id)?.power ?? "stopped") !== "stopped");
      if (vlanSwitch === undefined) continue;
      const directory = switchingDisk(this.#options.definitions.directory(lab.id));
      const before = this.#known.get(directory);
      if (before !== undefined) known.set(directory, before);
      const writes = life?.get(vlanSwitch.id)?.power === "running";
      disks.push({ lab, id: switchingNode, name: "its VLAN-aware switches", directory, limit: maxSwitchingDisk, writes });
    }
    const turn = ({ directory }: Disk) => this.#turns.get(directory) ?? 0;
    disks.sort((a, b) => turn(a) - turn(b));
    const usage = await diskUsage(
      disks.map(({ directory }) => directory),
      AbortSignal.any([AbortSignal.timeout(budgetMs), this.#closing.signal]),
    );
    // A disk that used up the time comes last in the next check, so that the others are measured.
    const stuck = disks.find(({ directory }) => !usage.has(directory))?.directory;
    this.#turns = new Map(disks.map((disk) => [disk.directory, usage.has(disk.directory) || disk.directory === stuck ? now : turn(disk)]));
    for (const disk of disks) {
      const bytes = usage.get(disk.directory);
      if (bytes !== undefined) known.set(disk.directory, await this.#judge(disk, bytes));
    }
    this.#known = known;
  }

  async #judge({ lab, id, name, directory, limit, writes }: Disk, bytes: number): Promise<Known> {
    if (limit === 0 || bytes <= limit) return { bytes, over: false };
    const before = this.#known.get(directory)?.suspendedAt;
    // The node is already suspended, by an earlier run of the service or by a user.
    if (!writes) return { bytes, over: true, suspendedAt: before ?? bytes };
    if (this.#closing.signal.aborted) return { bytes, over: true };
    if (before !== undefined && bytes <= before + slackBytes) return { bytes, over: true, suspendedAt: before };
    const [takes, may] = [bytes, limit].map((size) => memoryText(size / 2 ** 20));
    const text = `lab ${lab.path}: the disk of ${name} takes ${takes}, and may take ${may}`;
    try {
      await this.#options.lab(lab.id).sandbox?.freeze([id], "freeze");
    } catch (error) {
      this.#options.warn(`${text}; it could not be suspended: ${(error as Error).message}`);
      return { bytes, over: true };
    }
    this.#options.warn(`${text}: it was suspended`);
    return { bytes, over: true, suspendedAt: bytes };
  }

  #nodesDirectory(lab: string): string {
    return join(this.#options.definitions.directory(lab), "nodes");
  }
}
