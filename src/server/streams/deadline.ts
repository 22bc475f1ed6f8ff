import { Failure } from "../../contract/errors.ts";
import type { OperationRow } from "../../contract/operations.ts";

/** What a console command may take when its caller does not say, ms. */
const consoleMs = 15_000;
/** An answer that tells a console's time-out comes after it. */
const travelMs = 2_000;
/** Longest wait that a caller may ask for, s. */
const longestWait = 86_400;

/**
 * Milliseconds that an operation may take until its answer begins: `Prefer: wait=SECONDS` where the caller says so, else the time-out of its
 * row, or what the console commands in the body may take together with it, where that is more.
 */
export function deadlineOf({ timeoutMs }: Pick<OperationRow, "timeoutMs">, prefer: string | undefined, body: unknown): number {
  const wait = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:,|;|$)/i.exec(prefer ?? "")?.[1];
  if (wait !== undefined) return Math.min(Math.max(Number(wait), 1), longestWait) * 1000;
  return Math.max(timeoutMs, consoleTime(body));
}

/** The console time-outs that a body names, as they add up: targets at once, steps one after another. 0 where it names none. */
function consoleTime(body: unknown): number {
  if (typeof body !== "object" || body === null) return 0;
  const { command, timeout_ms: own, targets, steps } = body as Readonly<Record<string, unknown>>;
  const named = (value: unknown) => (typeof value === "number" && value > 0 ? value : undefined);
  const of = (item: unknown) => named((item as { readonly timeout_ms?: unknown } | null)?.timeout_ms) ?? named(own) ?? consoleMs;
  if (Array.isArray(steps)) return steps.reduce<number>((sum, step) => sum + of(step), travelMs);
  if (Array.isArray(targets)) return targets.reduce<number>((most, target) => Math.max(most, of(target)), 0) + travelMs;
  // A command without a time-out has the default, and is told to have ended there, with what came until then.
  return named(own) === undefined && typeof command !== "string" ? 0 : of(body) + travelMs;
}

/** What of a call the deadline needs to know. */
export interface Timed {
  /** Aborted when the time is over: what still runs for the answer ends. */
  readonly late: AbortController;
  /** Aborted when the service goes down and waits no longer. */
  readonly cut: AbortSignal;
  /** The job that a change has become by then: it goes on. */
  readonly job: () => string | undefined;
}

/** The result of `work`; host_timeout once `ms` are over, shutting_down once it is cut. What `work` comes to after that is given to `ended`. */
export async function inTime<T>(
  ms: number | undefined,
  { late, cut, job }: Timed,
  work: Promise<T>,
  ended: (outcome: PromiseSettledResult<T>) => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let cutOff = () => {};
  const over = new Promise<never>((_resolve, reject) => {
    const end = (failure: Failure) => {
      reject(failure);
      late.abort();
      work.then(
        (value) => ended({ status: "fulfilled", value }),
        (reason: unknown) => ended({ status: "rejected", reason }),
      );
    };
    const about = (becomes: string) => {
      const id = job();
      return id === undefined ? (["", {}] as const) : ([`; job ${id} ${becomes}`, { data: { job: id } }] as const);
    };
    if (ms !== undefined) {
      timer = setTimeout(() => {
        const [rest, data] = about("goes on");
        end(new Failure("host_timeout", `no result within ${ms / 1000} s: the host may hang${rest}`, data));
      }, ms);
    }
    cutOff = () => {
      const [rest, data] = about("is finished after the restart at the latest");
      end(new Failure("shutting_down", `the service goes down: the call was cut off${rest}`, data));
    };
    cut.addEventListener("abort", cutOff, { once: true });
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
    cut.removeEventListener("abort", cutOff);
  }
}
