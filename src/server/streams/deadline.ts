import { Failure } from "../../contract/errors.ts";
import type { OperationRow } from "../../contract/operations.ts";

/** The default time limit of a console command, ms. */
const consoleMs = 15_000;
/** Added to the time limit of console commands, so that the answer can report their time-out, ms. */
const travelMs = 2_000;
/** The maximum wait that a caller may request, s. */
const maxWaitSeconds = 86_400;

/**
 * Returns the time limit of an operation until its answer begins, ms. `Prefer: wait=SECONDS` sets it. Without this header it is the larger of the operation's
 * own time-out and the total time of the console commands in the body.
 */
export function deadlineOf({ timeoutMs }: Pick<OperationRow, "timeoutMs">, prefer: string | undefined, body: unknown): number {
  const wait = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:,|;|$)/i.exec(prefer ?? "")?.[1];
  if (wait !== undefined) return Math.min(Math.max(Number(wait), 1), maxWaitSeconds) * 1000;
  return Math.max(timeoutMs, consoleTime(body));
}

/** Returns the total time of the console commands in a body, ms: targets run at the same time, steps one after another. 0 without console commands. */
function consoleTime(body: unknown): number {
  if (typeof body !== "object" || body === null) return 0;
  const { command, timeout_ms: own, targets, steps } = body as Readonly<Record<string, unknown>>;
  const named = (value: unknown) => (typeof value === "number" && value > 0 ? value : undefined);
  const of = (item: unknown) => named((item as { readonly timeout_ms?: unknown } | null)?.timeout_ms) ?? named(own) ?? consoleMs;
  if (Array.isArray(steps)) return steps.reduce<number>((sum, step) => sum + of(step), travelMs);
  if (Array.isArray(targets)) return targets.reduce<number>((max, target) => Math.max(max, of(target)), 0) + travelMs;
  // A command without a time-out has the default. Its answer contains the output until then.
  return named(own) === undefined && typeof command !== "string" ? 0 : of(body) + travelMs;
}

/** The parts of a call that the deadline needs. */
export interface Timed {
  /** Aborted when the time is over, which ends the work for the answer. */
  readonly late: { abort(): void };
  /** Called when the service shuts down and the time for running calls is over. */
  readonly cutOffs: Set<() => void>;
  /** The job of the change, if it has become one. The job continues. */
  readonly job: () => string | undefined;
}

/**
 * Returns the result of `work`. Throws host_timeout after `ms`, and shutting_down if its function in `cutOffs` is called. In both cases `ended` receives the later outcome of
 * `work`.
 */
export function inTime<T>(
  ms: number | undefined,
  { late, cutOffs, job }: Timed,
  work: Promise<T>,
  ended: (outcome: PromiseSettledResult<T>) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const release = () => {
      if (timer !== undefined) clearTimeout(timer);
      cutOffs.delete(cutOff);
    };
    const end = (failure: Failure) => {
      isOver = true;
      release();
      reject(failure);
      late.abort();
    };
    const withJob = (becomes: string) => {
      const id = job();
      return id === undefined ? (["", {}] as const) : ([`; job ${id} ${becomes}`, { data: { job: id } }] as const);
    };
    const cutOff = () => {
      const [rest, data] = withJob("will be completed now or after the restart");
      end(new Failure("shutting_down", `the service is shutting down and has cut off the call${rest}`, data));
    };
    if (ms !== undefined) {
      timer = setTimeout(() => {
        const [rest, data] = withJob("continues");
        end(new Failure("host_timeout", `no result within ${ms / 1000} s: the host may hang${rest}`, data));
      }, ms);
    }
    cutOffs.add(cutOff);
    work.then(
      (value) => {
        release();
        if (isOver) ended({ status: "fulfilled", value });
        else resolve(value);
      },
      (reason: unknown) => {
        release();
        if (isOver) ended({ status: "rejected", reason });
        else reject(reason);
      },
    );
  });
}
