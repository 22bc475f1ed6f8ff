import { extname } from "node:path";
import { Worker } from "node:worker_threads";

/** An expression and the text that it is tried on. */
export interface Trial {
  readonly source: string;
  readonly text: string;
}

interface Waiting extends Trial {
  readonly settle: (matched: boolean) => void;
  readonly fail: (error: Error) => void;
}

/** The expression did not come to an end. */
export class EndlessExpression extends Error {}

/**
 * Tries regular expressions in a thread of its own, one after another: one that takes exponential time holds up no one else but those that wait here,
 * and them only until its time is over.
 */
export class Expressions {
  readonly #limitMs: number;
  readonly #waiting: Waiting[] = [];
  #worker: Worker | undefined;
  #online = false;
  #current: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs how long one trial may take */
  constructor(limitMs = 1_000) {
    this.#limitMs = limitMs;
  }

  /** Whether the expression (multi-line: ^ and $ are at lines) matches within the text. Throws EndlessExpression. */
  test(source: string, text: string): Promise<boolean> {
    return new Promise((settle, fail) => {
      this.#waiting.push({ source, text, settle, fail });
      if (this.#current === undefined) this.#next();
    });
  }

  async close(): Promise<void> {
    for (const { fail } of this.#waiting.splice(0)) fail(new Error("closed"));
    await this.#end(new Error("closed"));
  }

  #next(): void {
    const trial = this.#waiting.shift();
    this.#current = trial;
    if (trial === undefined) {
      // Idle, it keeps no process alive.
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { source, text } = trial;
    this.#worker.postMessage({ source, text } satisfies Trial);
    // A thread that is yet to start takes nothing of an expression's time.
    if (this.#online) this.#arm();
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./expression-worker${extname(import.meta.url)}`, import.meta.url), { execArgv: [] });
    this.#online = false;
    // One that was ended may still have said something: it is of no trial that waits now.
    worker.once("online", () => {
      if (this.#worker !== worker) return;
      this.#online = true;
      if (this.#current !== undefined) this.#arm();
    });
    worker.on("message", (matched: boolean) => {
      if (this.#worker !== worker) return;
      clearTimeout(this.#timer);
      this.#current?.settle(matched);
      this.#next();
    });
    worker.on("error", (error) => {
      if (this.#worker === worker) void this.#end(error).then(() => this.#next());
    });
    return worker;
  }

  #arm(): void {
    const late = () => void this.#end(new EndlessExpression("the expression takes too long on this output")).then(() => this.#next());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(late, this.#limitMs);
  }

  async #end(error: Error): Promise<void> {
    clearTimeout(this.#timer);
    const [worker, current] = [this.#worker, this.#current];
    this.#worker = undefined;
    await worker?.terminate();
    if (this.#current === current) this.#current = undefined;
    current?.fail(error);
  }
}
