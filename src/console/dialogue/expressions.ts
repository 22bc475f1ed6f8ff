import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { programPath } from "../../files/program-path.ts";

/** An expression and the text that it is tried on. */
export interface Trial {
  readonly source: string;
  readonly text: string;
}

/** The answer of the thread. */
export type Outcome = { readonly matched: boolean } | { readonly refused: string };

interface Waiting extends Trial {
  readonly settle: (matched: boolean) => void;
  readonly fail: (error: Error) => void;
}

/** Thrown for an expression that does not end, or that the engine refuses. The message is for the author: it may repeat the expression. */
export class BadExpression extends Error {}

export interface ExpressionsOptions {
  /** Processor time of one trial, ms. Default 1,000. */
  readonly limitMs?: number;
  /** Maximum number of threads. Default 4. */
  readonly threads?: number;
}

/**
 * Tries regular expressions in threads, one after another for each user. An expression that takes exponential time delays only its own user's trials.
 * Other users wait only if more users than threads try expressions at once, and then take turns.
 */
export class Expressions {
  readonly #limitMs: number;
  readonly #most: number;
  /** The waiting trials of each user that has some. Users are in the order of their turns. */
  readonly #queues = new Map<string, Waiting[]>();
  /** Users with a trial in a thread. */
  readonly #served = new Set<string>();
  readonly #threads = new Set<ExpressionThread>();
  readonly #idle: ExpressionThread[] = [];
  #closed = false;

  constructor({ limitMs = 1_000, threads = 4 }: ExpressionsOptions = {}) {
    this.#limitMs = limitMs;
    this.#most = threads;
  }

  /** Whether the expression (multi-line: ^ and $ match at lines) matches within the text. Throws BadExpression. */
  test(source: string, text: string, user = ""): Promise<boolean> {
    if (this.#closed) return Promise.reject(new Error("the expressions are closed"));
    return new Promise((settle, fail) => {
      const queue = this.#queues.get(user) ?? [];
      queue.push({ source, text, settle, fail });
      this.#queues.set(user, queue);
      this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const queue of this.#queues.values()) for (const { fail } of queue.splice(0)) fail(new Error("the expressions are closed"));
    this.#queues.clear();
    await Promise.all([...this.#threads].map((thread) => thread.end(new Error("the expressions are closed"))));
  }

  /** Gives free threads to the users whose turn it is. */
  #serve(): void {
    for (const [user, queue] of this.#queues) {
      if (this.#served.has(user)) continue;
      const thread = this.#idle.pop() ?? this.#start();
      if (thread === undefined) return;
      this.#served.add(user);
      void thread.run(queue.shift()!, this.#limitMs).then(() => {
        this.#served.delete(user);
        // The user's next turn comes after all others that wait.
        this.#queues.delete(user);
        if (queue.length > 0) this.#queues.set(user, queue);
        this.#free(thread);
        this.#serve();
      });
    }
  }

  #start(): ExpressionThread | undefined {
    if (this.#threads.size >= this.#most) return undefined;
    const thread = new ExpressionThread();
    this.#threads.add(thread);
    return thread;
  }

  /** One idle thread is kept, because starting one takes longer than most trials. */
  #free(thread: ExpressionThread): void {
    if (!thread.ended && (this.#idle.length === 0 || this.#queues.size > 0)) {
      this.#idle.push(thread);
      return;
    }
    this.#threads.delete(thread);
    void thread.end(new Error("no work is left"));
  }
}

/** How many times its processor time a trial may take by the clock, on a busy machine. */
const maxClockRatio = 30;

class ExpressionThread {
  readonly #worker = new Worker(programPath("console/dialogue/expression-worker"), { execArgv: [] });
  readonly #online: Promise<void>;
  #settle: ((outcome: Outcome | Error) => void) | undefined;
  ended = false;

  constructor() {
    this.#online = new Promise((resolve) => this.#worker.once("online", resolve));
    this.#worker.on("message", (outcome: Outcome) => this.#settle?.(outcome));
    this.#worker.on("error", (error) => void this.end(error));
  }

  /** Resolves when the trial is over and the thread is free, or has ended. */
  async run({ source, text, settle, fail }: Waiting, limitMs: number): Promise<void> {
    this.#worker.ref();
    const over = new AbortController();
    const outcome = await new Promise<Outcome | Error>((resolve) => {
      this.#settle = resolve;
      this.#worker.postMessage({ source, text } satisfies Trial);
      // The start of a thread does not count as an expression's time.
      void this.#online.then(() => this.#endWhenSpent(limitMs, over.signal));
    });
    over.abort();
    this.#settle = undefined;
    // An idle thread does not keep the process alive.
    this.#worker.unref();
    if (outcome instanceof Error) fail(outcome);
    else if ("refused" in outcome) fail(new BadExpression(outcome.refused));
    else settle(outcome.matched);
  }

  /** Ends the thread when its trial has used its processor time. On a busy machine the clock would be no measure. */
  async #endWhenSpent(limitMs: number, over: AbortSignal): Promise<void> {
    const late = Date.now() + maxClockRatio * limitMs;
    const before = await this.#spentMs();
    let left = limitMs;
    while (!over.aborted && left > 0 && Date.now() < late) {
      // The promise rejects only when the trial is over, which the loop checks.
      await pause(Math.ceil(left), undefined, { signal: over }).catch(() => undefined);
      left = limitMs - ((await this.#spentMs()) - before);
    }
    if (!over.aborted) await this.end(new BadExpression("the expression takes too long on this output"));
  }

  /** Returns the thread's processor time, ms; infinity if it is not known, so that the first wait by the clock is the limit. */
  async #spentMs(): Promise<number> {
    try {
      const { user, system } = await this.#worker.cpuUsage();
      return (user + system) / 1000;
    } catch {
      // The thread has ended.
      return Number.POSITIVE_INFINITY;
    }
  }

  async end(error: Error): Promise<void> {
    this.ended = true;
    const settle = this.#settle;
    this.#settle = undefined;
    await this.#worker.terminate();
    settle?.(error);
  }
}
