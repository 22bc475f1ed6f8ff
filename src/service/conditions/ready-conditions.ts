import { Failure } from "../../contract/errors.ts";
import type { HostSession, LiveNode } from "../../hosts/host.ts";
import type { TestCheck } from "../../intent/lab/lab-test.ts";
import type { NodeBoot } from "../../intent/lab/node-boot.ts";
import type { Clock } from "../common/clock.ts";
import { RecentMap } from "../common/recent-map.ts";
import { checkProgram } from "./check-program.ts";
import { runProgram } from "./run-program.ts";

/** A running node whose intent has conditions. */
export interface Conditioned {
  readonly row: Pick<LiveNode, "id" | "uptime_ms">;
  readonly boot: Pick<NodeBoot, "ready" | "inheritsReady">;
}

interface Known {
  readonly conditions: string;
  /** Estimated time of the node's start, ms. */
  readonly startedAt: number;
  /** In the newest row, ms. */
  uptime: number;
  /** Number of conditions that have passed; they are checked in order. */
  passed: number;
  /** Why the next one has not. */
  reason: string;
  checkedAt: number;
}

const notChecked = "its conditions have not been checked yet";

/** Time between two checks of a node, ms. */
const intervalMs = 1000;
/** Maximum duration of one check, ms. */
const checkMs = 5000;
/** Simultaneous checks of a lab. */
const parallel = 8;
/** Rows of different reads may come in another order than they were read, ms apart. */
const staleMs = 300;
/** A node whose start seems to have moved by more has started again, ms. Rows may be a second old. */
const driftMs = 3000;

/**
 * Checks the conditions of `ready` in running nodes. Checks run only when a caller reads the results: at most once per second and node. A ready node is not
 * checked again until it restarts or its conditions change.
 */
export class ReadyConditions {
  readonly #clock: Clock;
  readonly #known = new RecentMap<Known>(10_000);
  readonly #running = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns, by native id, why nodes are not ready; ready nodes are left out. Waits at most `patienceMs` for checks; later results are in a later answer.
   * @param host a session that may run programs in the nodes; undefined: only known results are returned
   */
  async missing(
    host: Pick<HostSession, "processes"> | undefined,
    path: string,
    nodes: readonly Conditioned[],
    patienceMs: number,
  ): Promise<ReadonlyMap<string, string>> {
    const due = host === undefined ? [] : nodes.filter((node) => this.#isDue(path, node));
    if (host?.processes !== undefined && due.length > 0 && !this.#running.has(path)) {
      const work = this.#check(host.processes, path, due).finally(() => this.#running.delete(path));
      // A failed check is a reason; anything else is a defect, which the waiting caller gets.
      work.catch(() => undefined);
      this.#running.set(path, work);
    }
    const running = this.#running.get(path);
    if (running !== undefined && host !== undefined) await within(running, patienceMs);
    const missing = new Map<string, string>();
    for (const { row, boot } of nodes) {
      const conditions = boot.ready;
      const known = this.#known.get(`${path}\0${row.id}`);
      if (known?.conditions !== JSON.stringify(conditions)) missing.set(row.id, notChecked);
      else if (known.passed < conditions.length) missing.set(row.id, known.reason);
    }
    return missing;
  }

  /** Forgets the results of a node that does not run. */
  forget(path: string, id: string): void {
    this.#known.delete(`${path}\0${id}`);
  }

  #isDue(path: string, { row, boot }: Conditioned): boolean {
    const key = `${path}\0${row.id}`;
    const now = this.#clock.now();
    const uptime = row.uptime_ms ?? 0;
    const startedAt = now - uptime;
    const text = JSON.stringify(boot.ready);
    const known = this.#known.get(key);
    if (known?.conditions !== text || uptime + staleMs < known.uptime || startedAt > known.startedAt + driftMs) {
      this.#known.set(key, { conditions: text, startedAt, uptime, passed: 0, reason: notChecked, checkedAt: Number.NEGATIVE_INFINITY });
      return true;
    }
    known.uptime = uptime;
    return known.passed < boot.ready.length && now - known.checkedAt >= intervalMs;
  }

  async #check(processes: NonNullable<HostSession["processes"]>, path: string, due: readonly Conditioned[]): Promise<void> {
    const queue = [...due];
    const worker = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        const known = this.#known.get(`${path}\0${one.row.id}`);
        if (known === undefined) continue;
        while (known.passed < one.boot.ready.length) {
          const reason = await unmet(processes, path, one, one.boot.ready[known.passed]!);
          if (reason !== undefined) {
            known.reason = reason;
            break;
          }
          known.passed += 1;
        }
        known.checkedAt = this.#clock.now();
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, due.length) }, worker));
  }
}

/** Returns why the condition is not met, undefined if it is. */
async function unmet(
  processes: NonNullable<HostSession["processes"]>,
  lab: string,
  { row: { id: nodeId }, boot }: Conditioned,
  check: TestCheck,
): Promise<string | undefined> {
  const { argv, judge } = checkProgram(check);
  try {
    const end = await runProgram(processes, { lab, nodeId }, { argv, timeoutMs: checkMs }, AbortSignal.timeout(2 * checkMs));
    const { outcome, message } = judge(end);
    return outcome === "passed" ? undefined : message;
  } catch (error) {
    if (boot.inheritsReady === true && error instanceof Failure && error.code === "unsupported") return undefined;
    // The node may be stopping, or the host may not run programs in it.
    if (error instanceof Error && (error.name === "TimeoutError" || ("code" in error && error.code !== "internal"))) return error.message;
    throw error;
  }
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}
