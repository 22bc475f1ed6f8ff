import { LabwrightError } from "../../../client/browser.ts";
import { concurrencyLimit } from "../../parts/concurrency-limit.ts";

/** A node or link for which an action failed. */
export interface Failed {
  readonly name: string;
  readonly message: string;
}

/** Returns the error that names each failure; undefined if nothing failed. @param what such as "nodes did not stop" */
export function failureOf(what: string, requested: number, failed: readonly Failed[]): LabwrightError | undefined {
  if (failed.length === 0) return undefined;
  const text = failed.map(({ name, message }) => `${name}: ${message}`).join("\n");
  return new LabwrightError(`${failed.length} of ${requested} ${what}.`, { status: 502, code: "host_error", data: { text } });
}

/** Number of requests that run at the same time. */
const maxRunning = 4;

/** Runs the work for each item, also after failures. Throws one error that names each of them. */
export async function runForEach<T>(
  what: string,
  items: readonly T[],
  { nameOf, work }: { readonly nameOf: (item: T) => string; readonly work: (item: T) => Promise<unknown> },
): Promise<void> {
  const limit = concurrencyLimit(maxRunning);
  const { signal } = new AbortController();
  const ends = await Promise.allSettled(items.map((item) => limit(() => work(item), signal)));
  const failed = items.flatMap((item, index): Failed[] => {
    const end = ends[index];
    return end?.status === "rejected" ? [{ name: nameOf(item), message: messageOf(end.reason) }] : [];
  });
  const failure = failureOf(what, items.length, failed);
  if (failure !== undefined) throw failure;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
