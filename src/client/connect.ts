import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type ChangeOperationId, type OperationId, operations } from "../contract/operations.ts";
import { Caller, type ConnectOptions } from "./caller.ts";
import { LabwrightError } from "./error.ts";
import { resumingEvents } from "./events.ts";
import { jsonLines } from "./lines.ts";
import type { CallOptions, InputOf, Methods, ResultOf, Stream } from "./methods.ts";

export type Job = ResultOf<"getJob">;

/** A change that runs as a job: what the operation would have answered is in `result`. */
export interface StartedJob {
  readonly job: string;
}

export interface JobOptions extends CallOptions {
  /** Told each state that differs from the one before; the last one has ended. */
  readonly onProgress?: ((job: Job) => void) | undefined;
}

export interface LabwrightClient extends Methods, Disposable, AsyncDisposable {
  /** Base URL of the service. */
  readonly url: string;
  /** The bearer token in use. */
  readonly token: string | undefined;
  /** A console's raw bytes: attach and stream in one. A late viewer first gets the recent scrollback. */
  openConsole(input: InputOf<"attachConsole"> & { readonly node: string }, options?: CallOptions): Promise<Duplex>;
  /** A capture's packets as one pcapng: those there are, then each that comes. */
  openCapture(input: InputOf<"attachCapture">, options?: CallOptions): Promise<Duplex>;
  /** Translated packets of a lab, one by one. */
  openTraffic(input: InputOf<"attachTraffic">, options?: CallOptions): Promise<Stream<Readonly<Record<string, unknown>>>>;
  /** Begins a change and comes back at once (Prefer: respond-async). */
  startJob<Id extends ChangeOperationId>(id: Id, input: InputOf<Id>, options?: CallOptions): Promise<StartedJob>;
  /** Waits for a job's end and gives its result; a failed or cancelled one throws its error as LabwrightError. timeoutMs: the whole wait. */
  waitForJob<Id extends ChangeOperationId>(id: Id, job: string, options?: JobOptions): Promise<ResultOf<Id>>;
  /** Closes idle connections and ends calls under way. Does not log out: the token stays good. Open consoles stay open. */
  close(): void;
}

/** How often waitForJob looks, milliseconds: often at first, for short changes. */
const jobPolls = [50, 100, 200, 300, 500] as const;

/**
 * A client of the service, one method per operation. Nothing is sent until the first call.
 * Throws LabwrightError with tls_required for a URL that is not https.
 */
export function connect(options: ConnectOptions): LabwrightClient {
  const caller = new Caller(options);
  const methods = Object.fromEntries(
    (Object.keys(operations) as OperationId[]).map((id) => [
      id,
      (input: object = {}, callOptions?: CallOptions) => caller.call(id, input as Readonly<Record<string, unknown>>, callOptions),
    ]),
    // The table is the only list of operations: each id has a method of the type that Methods derives from the same table.
  ) as unknown as Methods;

  const startJob: LabwrightClient["startJob"] = async (id, input, callOptions) => {
    const data = await caller.call(id, input as Readonly<Record<string, unknown>>, callOptions, { Prefer: "respond-async" });
    return data as StartedJob;
  };

  const waitForJob: LabwrightClient["waitForJob"] = async (id, job, { signal, timeoutMs = operations[id].timeoutMs, onProgress } = {}) => {
    const deadline = timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
    let before = "";
    for (let turn = 0; ; turn++) {
      const state = await methods.getJob({ id: job }, { signal });
      const now = `${state.status} ${state.step} ${state.steps} ${state.text ?? ""}`;
      if (now !== before) onProgress?.(state);
      before = now;
      if (state.status === "done") return state.result as never;
      if (state.status !== "running") throw jobError(state);
      if (Date.now() > deadline) {
        throw new LabwrightError(`${id} has not ended within ${timeoutMs / 1000} s; job ${job} goes on`, {
          status: 0,
          code: "host_timeout",
          data: { job },
        });
      }
      await pause(jobPolls[Math.min(turn, jobPolls.length - 1)], undefined, signal === undefined ? {} : { signal });
    }
  };

  return {
    ...methods,
    events: (input = {}, callOptions = {}) =>
      resumingEvents((after, signal) => methods.events({ ...input, after }, { ...callOptions, signal }), input.after, callOptions),
    get url() {
      return caller.url;
    },
    get token() {
      return caller.token;
    },
    openConsole: async (input, callOptions) => {
      const { stream } = await methods.attachConsole(input, callOptions);
      return await methods.streamConsole({ ticket: stream ?? "" }, callOptions);
    },
    openCapture: async (input, callOptions) => {
      const { stream } = await methods.attachCapture(input, callOptions);
      return await methods.streamCapture({ ticket: stream }, callOptions);
    },
    openTraffic: async (input, callOptions) => {
      const { stream } = await methods.attachTraffic(input, callOptions);
      const connection = await methods.streamTraffic({ ticket: stream }, callOptions);
      const lines = jsonLines<Readonly<Record<string, unknown>>>(connection);
      return { [Symbol.asyncIterator]: () => lines, [Symbol.dispose]: () => void connection.destroy() };
    },
    startJob,
    waitForJob,
    close: () => caller[Symbol.dispose](),
    [Symbol.dispose]: () => caller[Symbol.dispose](),
    [Symbol.asyncDispose]: async () => caller[Symbol.dispose](),
  };
}

function jobError(job: Job): LabwrightError {
  const { code, error, data } = job.error ?? { code: undefined, error: `the change was ${job.status}` };
  const known = typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>) : undefined;
  return new LabwrightError(error, { status: 200, code, data: known });
}
