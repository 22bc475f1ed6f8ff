import type { Sandbox } from "../sandbox/sandbox.ts";

/** A running node whose template has a ready check. */
export interface Candidate {
  readonly node: number;
  /** Time of the start. Another start is checked again. */
  readonly startedAt: number;
  readonly argv: readonly string[];
}

/**
 * Whether the nodes of one lab are ready. Checks run only while somebody asks: at most once a second and node, `parallel` at a time, and
 * no more once a node is ready, until it starts again or the wiring changes.
 */
export class Readiness {
  readonly #known = new Map<number, { readonly startedAt: number; readonly wiring: number; ready: boolean; checkedAt: number }>();
  readonly #parallel: number;
  readonly #now: () => number;
  #running: Promise<void> | null = null;

  constructor(options: { readonly parallel?: number; readonly now?: () => number } = {}) {
    this.#parallel = options.parallel ?? 8;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * The results after waiting at most `patienceMs` for checks. Slower checks are in a later answer.
   * @param wiring a number that changes with the lab's links
   */
  async ask(
    sandbox: Pick<Sandbox, "exec">,
    candidates: readonly Candidate[],
    wiring: number,
    patienceMs: number,
  ): Promise<ReadonlyMap<number, boolean>> {
    const due: Candidate[] = [];
    for (const candidate of candidates) {
      const known = this.#known.get(candidate.node);
      if (known?.startedAt !== candidate.startedAt || known.wiring !== wiring) {
        this.#known.set(candidate.node, { startedAt: candidate.startedAt, wiring, ready: false, checkedAt: Number.NEGATIVE_INFINITY });
        due.push(candidate);
      } else if (!known.ready && this.#now() - known.checkedAt >= 1000) due.push(candidate);
    }
    if (this.#running === null && due.length > 0) {
      this.#running = this.#check(sandbox, due).finally(() => {
        this.#running = null;
      });
    }
    if (this.#running !== null) await within(this.#running, patienceMs);
    return new Map(candidates.map(({ node }) => [node, this.#known.get(node)?.ready ?? false]));
  }

  async #check(sandbox: Pick<Sandbox, "exec">, due: readonly Candidate[]): Promise<void> {
    const queue = [...due];
    const worker = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        const entry = this.#known.get(one.node);
        if (entry === undefined || entry.startedAt !== one.startedAt) continue;
        // A node that ends during the check, or a check that hangs, is not ready; its state shows the rest. Nor is one with endless output: the
        // node's root may put any program there, and only the exit code counts.
        const code = await sandbox.exec(one.node, one.argv, { timeoutMs: 5000, maxOutputBytes }).then(
          (result) => result.code,
          () => -1,
        );
        entry.ready = code === 0;
        entry.checkedAt = this.#now();
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#parallel, due.length) }, worker));
  }
}

/** More than a check has to say, of which nothing is read: it is ended there. */
const maxOutputBytes = 4096;

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
