import type { Duplex } from "node:stream";

/** A call whose signal is created only if it is used. */
export class RunningCall {
  #controller: AbortController | undefined;
  #reason: unknown;
  #isAborted = false;

  /** Aborted when the server closes, when the client disconnects before its answer is sent, or by abort(). */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** All running calls. They share one listener on the server's signal. */
export class RunningCalls {
  readonly #closing: AbortSignal;
  readonly #calls = new Set<RunningCall>();

  /** @param closing aborted when the server closes */
  constructor(closing: AbortSignal) {
    this.#closing = closing;
    const abortAll = () => {
      for (const call of this.#calls) call.abort(closing.reason);
    };
    closing.addEventListener("abort", abortAll, { once: true });
  }

  /** The caller calls `remove` once the answer is closed. */
  add(): RunningCall {
    const call = new RunningCall();
    if (this.#closing.aborted) call.abort(this.#closing.reason);
    this.#calls.add(call);
    return call;
  }

  /** @param isSent whether the client has the whole answer */
  remove(call: RunningCall, isSent: boolean): void {
    this.#calls.delete(call);
    if (!isSent) call.abort();
  }

  /** Removes the call when its connection, which has left HTTP, is closed. */
  removeAfter(connection: Duplex, call: RunningCall): void {
    connection.once("close", () => this.#calls.delete(call));
  }
}
