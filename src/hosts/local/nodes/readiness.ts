import type { Sandbox } from "../sandbox/sandbox.ts";

/** A running node whose template has a ready check. */
export interface Candidate {
  readonly node: number;
  /** Time of the start. After another start the node is checked again. */
  readonly startedAt: number;
  readonly argv: readonly string[];
}

/**
 * Checks whether the nodes of one lab are ready. Checks run only when a caller reads the results: at most once per second and node, `parallel` at a
 * time. A ready node is not checked again until it restarts or the wiring changes.
 */
export class Readiness {
  readonly #known = new Map<
    number,
    { readonly startedAt: number; readonly wiring: number; ready: boolean; checkedAt: number; reason?: string }
  >();
  readonly #parallel: number;
  readonly #now: () => number;
  #running: Promise<void> | null = null;

  constructor(options: { readonly parallel?: number; readonly now?: () => number } = {}) {
    this.#parallel = options.parallel ?? 8;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Returns the results after at most `patienceMs`. The results of slower checks are in a later answer.
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

  /** Returns the first line of the last check's output; undefined if the node is ready, or if the check printed nothing. */
  reason(node: number): string | undefined {
    const known = this.#known.get(node);
    return known === undefined || known.ready ? undefined : known.reason;
  }

  /** Makes the node be checked again, for example after a change of its configuration. */
  forget(node: number): void {
    this.#known.delete(node);
  }

  async #check(sandbox: Pick<Sandbox, "exec">, due: readonly Candidate[]): Promise<void> {
    const queue = [...due];
    const worker = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        const entry = this.#known.get(one.node);
        if (entry === undefined || entry.startedAt !== one.startedAt) continue;
        // Not ready: a node that ends during the check, a check that hangs, or a check with endless output, because the node's root can replace the
        // program. Only the exit code counts; the output is a text for people.
        const { code, stdout } = await sandbox.exec(one.node, one.argv, { timeoutMs: 5000, maxOutputBytes }).then(
          (result) => result,
          () => ({ code: -1, stdout: "" }),
        );
        entry.ready = code === 0;
        entry.reason = firstLine(stdout);
        entry.checkedAt = this.#now();
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#parallel, due.length) }, worker));
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

/** A check with more output than this is killed. */
const maxOutputBytes = 4096;

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
