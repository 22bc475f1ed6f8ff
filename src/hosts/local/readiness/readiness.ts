import { Failure } from "../../../contract/errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { type Daemon, daemonsOf, isRunning, nodeInits } from "./node-daemons.ts";

/** A running node whose template has a ready check. */
export interface Candidate {
  readonly node: number;
  /** Time of the start. After another start the node is checked again. */
  readonly startedAt: number;
  readonly argv: readonly string[];
  /** Daemons of the node that must go on running. The text is the command that starts one, without its name. */
  readonly daemons?: { readonly names: ReadonlySet<string>; readonly restart: string | undefined };
}

interface Known {
  readonly startedAt: number;
  readonly wiring: number;
  ready: boolean;
  /** ms; -Infinity: never. */
  checkedAt: number;
  /** ms; after a check that did not end in time, the next one has twice the time. */
  limit: number;
  reason?: string;
  /** Those of a ready node that the machine sees: not those of a node with a kernel of its own, or with a pid namespace of its own. */
  daemons: readonly Daemon[];
  wasReady?: true;
  /** Its init on the machine. */
  init?: number | undefined;
}

/** ms of the first check. A node with a kernel of its own takes many times as long if the machine is busy and emulates its processor. */
const firstLimit = 5_000;
const maxLimit = 60_000;
/** ms between two checks of a node that is not ready, in a lab with few of them. */
const shortestInterval = 200;
const longestInterval = 1_000;
/** ms that each node that is not ready adds to the interval: the checks of a lab must not take a processor from its nodes, which are starting. */
const intervalPerNode = 10;
/** ms between two looks at the daemons of ready nodes. */
const lookInterval = 1_000;
/** ms between two checks of a ready node whose daemons the machine does not see. */
const unseenInterval = 10_000;
/** A node that starts longer ago has started all of its daemons, ms. */
const bootTime = 30_000;
/** A check with more output, in bytes, is killed. */
const maxOutputBytes = 4096;

/**
 * Checks whether the nodes of one lab are ready. Checks run only when a caller reads the results: at most 5 times per second and node, in large labs once, and
 * `parallel` at a time. A ready node is not checked again until it restarts, the wiring changes, or one of its daemons ends; if the machine does not see its daemons, it is
 * checked every 10 seconds.
 */
export class Readiness {
  readonly #known = new Map<number, Known>();
  readonly #parallel: number;
  readonly #now: () => number;
  /** Checks that run or wait, by node. */
  readonly #checks = new Map<number, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  /** ms */
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly parallel?: number; readonly now?: () => number } = {}) {
    this.#parallel = options.parallel ?? 8;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Returns the results after at most `patienceMs`. The results of slower checks are in a later answer.
   * @param wiring a number that changes with the lab's links
   */
  async ask(
    sandbox: CheckingSandbox,
    candidates: readonly Candidate[],
    wiring: number,
    patienceMs: number,
  ): Promise<ReadonlyMap<number, boolean>> {
    this.#lookAtDaemons(candidates);
    const interval = this.#interval(candidates);
    const checks = candidates.flatMap((candidate) => {
      const check = this.#due(sandbox, candidate, wiring, interval);
      // Nobody waits for the check of a ready node: until its result, it is ready.
      return check === undefined || this.#known.get(candidate.node)?.ready === true ? [] : [check];
    });
    if (checks.length > 0) await within(Promise.all(checks), patienceMs);
    return new Map(candidates.map(({ node }) => [node, this.#known.get(node)?.ready ?? false]));
  }

  /** Returns the first line of the last check's output; undefined if the node is ready, or if the check printed nothing or is old. */
  reason(node: number): string | undefined {
    const known = this.#known.get(node);
    if (known === undefined || known.ready) return undefined;
    // The node may have changed since: a check that takes longer than usual is running.
    return this.#now() - known.checkedAt > longestInterval + known.limit ? undefined : known.reason;
  }

  /** Makes the node be checked again, for example after a change of its configuration. */
  forget(node: number): void {
    this.#known.delete(node);
  }

  /** Makes nodes be checked again of which a daemon has ended. Reads one small file of /proc for each daemon. */
  #lookAtDaemons(candidates: readonly Candidate[]): void {
    if (this.#now() - this.#lookedAt < lookInterval) return;
    this.#lookedAt = this.#now();
    for (const { node } of candidates) {
      const known = this.#known.get(node);
      if (known === undefined || !known.ready || known.daemons.every(isRunning)) continue;
      known.ready = false;
      known.checkedAt = Number.NEGATIVE_INFINITY;
    }
  }

  #interval(candidates: readonly Candidate[]): number {
    const missing = candidates.filter(({ node }) => this.#known.get(node)?.ready !== true).length;
    return Math.min(longestInterval, Math.max(shortestInterval, missing * intervalPerNode));
  }

  /** Returns the check of the node that runs, or that begins now; undefined if none is due. */
  #due(sandbox: CheckingSandbox, candidate: Candidate, wiring: number, interval: number): Promise<void> | undefined {
    const { node, startedAt } = candidate;
    let known = this.#known.get(node);
    if (known?.startedAt !== startedAt || known.wiring !== wiring) {
      known = { startedAt, wiring, ready: false, checkedAt: Number.NEGATIVE_INFINITY, limit: firstLimit, daemons: [] };
      this.#known.set(node, known);
    }
    const running = this.#checks.get(node);
    if (running !== undefined) return running;
    const isUnseen = candidate.daemons !== undefined && known.daemons.length === 0;
    const due = !known.ready ? interval : isUnseen ? unseenInterval : Number.POSITIVE_INFINITY;
    if (this.#now() - known.checkedAt < due) return undefined;
    const check = this.#check(sandbox, candidate, known).finally(() => this.#checks.delete(node));
    this.#checks.set(node, check);
    return check;
  }

  async #check(sandbox: CheckingSandbox, candidate: Candidate, known: Known): Promise<void> {
    const { node, argv } = candidate;
    if (this.#running < this.#parallel) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve)); // takes the place of a check that has ended
    const { ready, isLate, reason } = await checked(sandbox, node, argv, known.limit);
    // A ready node stays ready unless a daemon has ended, as if the machine saw its daemons.
    const isKept = known.ready && (isLate || candidate.daemons?.names.has(firstWord(reason)) !== true);
    known.ready = ready || isKept;
    if (ready) known.wasReady = true;
    known.checkedAt = this.#now();
    if (isLate && !isKept) known.limit = Math.min(known.limit * 2, maxLimit);
    const text = noteDaemons(sandbox, candidate, known, reason) ?? reason;
    if (text === "") delete known.reason;
    else known.reason = text;
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

type CheckingSandbox = Pick<Sandbox, "exec"> & Partial<Pick<Sandbox, "pid">>;

/** Notes the daemons of a ready node. Returns the reason of a node that is not ready because the daemon that its check names has ended. */
function noteDaemons({ pid }: CheckingSandbox, { node, startedAt, daemons }: Candidate, known: Known, reason: string): string | undefined {
  if (pid === undefined || daemons === undefined) return undefined;
  known.init ??= nodeInits(pid).get(node);
  const running = known.init === undefined ? [] : daemonsOf(known.init, daemons.names);
  if (known.ready) {
    known.daemons = running;
    return undefined;
  }
  const name = firstWord(reason);
  const restart = daemons.restart === undefined ? "" : `: run ${daemons.restart} ${name} in the node`;
  if (daemons.names.has(name) && running.length === 0 && known.daemons.length === 0)
    return known.wasReady === true ? `${reason}${restart}` : undefined;
  if (!daemons.names.has(name) || running.some((one) => one.name === name)) return undefined;
  // A node that boots has not started all of them yet.
  const hasStarted = known.daemons.some((one) => one.name === name) || Date.now() - startedAt > bootTime;
  if (!hasStarted) return undefined;
  return `${name} has ended${restart}`;
}

/** The name of a daemon, in the output of a check that misses one. */
function firstWord(reason: string): string {
  return reason.split(" ", 1)[0] ?? "";
}

interface Result {
  readonly ready: boolean;
  readonly isLate: boolean;
  readonly reason: string;
}

/** Only the exit code counts, because the node's root can replace the program; the output is a text for people. */
async function checked(sandbox: Pick<Sandbox, "exec">, node: number, argv: readonly string[], timeoutMs: number): Promise<Result> {
  try {
    const { code, stdout } = await sandbox.exec(node, argv, { timeoutMs, maxOutputBytes });
    return { ready: code === 0, isLate: false, reason: firstLine(stdout) };
  } catch (error) {
    // A node that ends during the check, a check that hangs, or a check with endless output.
    const isLate = error instanceof Failure && error.code === "host_timeout";
    return { ready: false, isLate, reason: isLate ? `its ready check did not end in ${timeoutMs / 1000} s` : "" };
  }
}

/** The first line without control characters, at most 200 characters. */
function firstLine(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "";
  return line
    .replace(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, 200);
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
