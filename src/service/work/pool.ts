import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { Failure } from "../../contract/errors.ts";
import { programPath } from "../../files/program-path.ts";
import { currentCall } from "../common/current-call.ts";
import { type Order, type Outcome, resultOf } from "./messages.ts";
import { type Packed, packed, unpacked } from "./shared-texts.ts";
import type { TaskName, Tasks } from "./tasks.ts";

export interface PoolOptions {
  /** Maximum number of threads; one user gets at most half of them. Default: the number of processors minus one, from 2 to 4. */
  readonly threads?: number;
  /** Maximum duration of a task. A longer one is ended with its thread. Default 30,000 ms. */
  readonly timeoutMs?: number;
  /** Maximum number of waiting tasks, of one user half of it. One more fails with rate_limited. Default 64. */
  readonly maxWaiting?: number;
  /** Maximum number of characters in waiting tasks, by their `weight`. Default 256 Mi. */
  readonly maxWeight?: number;
  /** Maximum heap of a thread. A task that needs more is ended with its thread. Default 1,024 MiB. */
  readonly heapMib?: number;
  /** An idle thread ends after this time, ms; after keepReady() one thread stays. Default 20,000. */
  readonly idleMs?: number;
}

interface Task {
  /** `undefined`: a task of the service itself. */
  readonly user: string | undefined;
  readonly order: Order;
  readonly weight: number;
  readonly settle: (outcome: Outcome) => void;
}

interface Thread {
  readonly worker: Worker;
  task: Task | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Worker threads for long computations on user input, so that other requests are served meanwhile. Time, memory and number are limited. A free thread
 * takes a task of the user with the fewest threads, of equals of the least recently served user; no user gets more than half of the threads. A task
 * over a limit fails with invalid_intent, because the intent is too large; an import with invalid_source.
 */
export class WorkPool {
  readonly #options: Required<PoolOptions>;
  readonly #threads = new Set<Thread>();
  /** Number of threads that do not run any more, or shall not: the engine ends a thread only between two steps of a program. */
  #ending = 0;
  readonly #waiting: Task[] = [];
  /** User → number of the user's last task, for the order among users. */
  readonly #turns = new Map<string | undefined, number>();
  #turn = 0;
  #weight = 0;
  #closed = false;
  #ready = false;

  constructor(options: PoolOptions = {}) {
    this.#options = {
      threads: Math.min(4, Math.max(2, availableParallelism() - 1)),
      timeoutMs: 30_000,
      maxWaiting: 64,
      maxWeight: 256 << 20,
      heapMib: 1024,
      idleMs: 20_000,
      ...options,
    };
  }

  /** Threads that there are. */
  get size(): number {
    return this.#threads.size;
  }

  /**
   * Runs a task in a thread. `weight`: the approximate number of characters of its input. Throws the errors of the task, rate_limited, and
   * shutting_down.
   */
  async run<Name extends TaskName>(
    name: Name,
    weight: number,
    ...input: Parameters<Tasks[Name]>
  ): Promise<Awaited<ReturnType<Tasks[Name]>>> {
    if (this.#closed) throw shuttingDown();
    const user = currentCall.getStore()?.user;
    this.#refuseTooMany(user, weight);
    const outcome = await new Promise<Outcome>((settle) => {
      this.#waiting.push({ user, order: { name, input }, weight, settle });
      this.#weight += weight;
      this.#next();
    });
    return resultOf(outcome) as Awaited<ReturnType<Tasks[Name]>>;
  }

  /** Starts a thread, and from now on keeps one idle thread: the start of a thread takes longer than parsing a large intent. */
  keepReady(): void {
    if (this.#closed) return;
    this.#ready = true;
    if (this.#threads.size === 0) this.#start()?.worker.unref();
  }

  /** Ends all threads. Running and waiting tasks fail with shutting_down. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { settle } of this.#waiting.splice(0)) settle(failed(shuttingDown()));
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, failed(shuttingDown()))));
  }

  #refuseTooMany(user: string | undefined, weight: number): void {
    const { maxWaiting, maxWeight } = this.#options;
    const own = user === undefined ? [] : this.#waiting.filter((task) => task.user === user);
    const ownWeight = own.reduce((sum, task) => sum + task.weight, weight);
    const full = this.#waiting.length > 0 && (this.#waiting.length >= maxWaiting || this.#weight + weight > maxWeight);
    const ownFull = own.length > 0 && (own.length >= maxWaiting / 2 || ownWeight > maxWeight / 2);
    if (full || ownFull) throw new Failure("rate_limited", "too many large intents wait to be read", { retryAfter: 5 });
  }

  #next(): void {
    for (let task = this.#nextTask(); task !== undefined; task = this.#nextTask()) {
      const free = [...this.#threads].find(({ task }) => task === undefined) ?? this.#start();
      if (free === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(task), 1);
      this.#weight -= task.weight;
      this.#turns.set(task.user, ++this.#turn);
      this.#give(free, task);
    }
  }

  /** Picks a task of the user with the fewest threads who may have one more; of equals, of the least recently served user. */
  #nextTask(): Task | undefined {
    const threadsOf = ({ user }: Task) => (user === undefined ? 0 : [...this.#threads].filter(({ task }) => task?.user === user).length);
    const turnOf = ({ user }: Task) => this.#turns.get(user) ?? 0;
    const most = Math.ceil(this.#options.threads / 2);
    const [first] = this.#waiting
      .filter((task) => threadsOf(task) < most)
      .sort((a, b) => threadsOf(a) - threadsOf(b) || turnOf(a) - turnOf(b));
    return first;
  }

  /** Returns `undefined` if the maximum number of threads exists. */
  #start(): Thread | undefined {
    // Threads that go on for a while are replaced, but not by any number.
    if (this.#threads.size >= this.#options.threads || this.#threads.size + this.#ending >= 2 * this.#options.threads) return undefined;
    const worker = new Worker(programPath("service/work/worker"), {
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMib },
      // The thread must not inherit options of this process, such as those of a test runner.
      execArgv: [],
    });
    const thread: Thread = { worker, task: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on("message", (message: Packed) => this.#done(thread, unpacked(message) as Outcome));
    worker.on("error", (error: NodeJS.ErrnoException) => {
      const full = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      void this.#end(thread, full ? failed(tooMuch(thread.task, `needs more than ${this.#options.heapMib} MiB of memory`)) : { error });
    });
    return thread;
  }

  #give(thread: Thread, task: Task): void {
    const { timeoutMs } = this.#options;
    clearTimeout(thread.timer);
    thread.task = task;
    thread.timer = setTimeout(() => void this.#end(thread, failed(tooMuch(task, `takes longer than ${timeoutMs / 1000} s`))), timeoutMs);
    thread.worker.ref();
    thread.worker.postMessage(packed(task.order));
  }

  #done(thread: Thread, outcome: Outcome): void {
    // The thread was ended before its answer arrived.
    if (!this.#threads.has(thread)) return;
    clearTimeout(thread.timer);
    thread.task?.settle(outcome);
    thread.task = undefined;
    // An idle thread must not keep the process alive.
    thread.worker.unref();
    thread.timer = setTimeout(() => this.#retire(thread), this.#options.idleMs);
    thread.timer.unref();
    this.#next();
  }

  #retire(thread: Thread): void {
    if (!this.#ready || this.#threads.size > 1) void this.#end(thread);
  }

  async #end(thread: Thread, outcome?: Outcome): Promise<void> {
    clearTimeout(thread.timer);
    this.#threads.delete(thread);
    if (outcome !== undefined) thread.task?.settle(outcome);
    thread.task = undefined;
    this.#ending++;
    const ended = thread.worker.terminate().then(() => {
      this.#ending--;
      // Tasks may have waited for it.
      if (!this.#closed) this.#next();
    });
    if (!this.#closed) this.#next();
    await ended;
  }
}

function failed({ code, message, data }: Failure): Outcome {
  return { failure: { code, message, data } };
}

function shuttingDown(): Failure {
  return new Failure("shutting_down", "the service is shutting down");
}

function tooMuch(task: Task | undefined, problem: string): Failure {
  if (task?.order.name === "importSource") return new Failure("invalid_source", `the file ${problem} to import`);
  const place = { line: 1, column: 1, end_line: 1, end_column: 1 };
  const message = `the intent ${problem} to work on`;
  const diagnostic = { severity: "error" as const, code: "too_large", message, path: "", ...place };
  return new Failure("invalid_intent", message, { data: { diagnostics: [diagnostic] } });
}
