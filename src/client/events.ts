import type { EventData } from "../contract/schemas/observe.ts";
import { LabwrightError } from "./error.ts";
import type { CallOptions, Stream } from "./methods.ts";
import { pause } from "./pause.ts";

/** Opens a stream of events after an id; `signal` closes it. */
export type OpenEvents = (after: string | undefined, signal: AbortSignal) => Promise<Stream<EventData>>;

export interface EventTimes {
  /** The service is never quiet for longer than 15 s: after this a connection counts as dead, ms. */
  readonly silenceMs: number;
  /** Pauses before connecting again, ms: the first after each event that came, then on to the last. */
  readonly pauses: readonly number[];
  /** Without an event for so long it is given up, ms. */
  readonly patienceMs: number;
}

const usual: EventTimes = { silenceMs: 45_000, pauses: [250, 500, 1_000, 2_000, 5_000], patienceMs: 120_000 };

/**
 * Events without end: a connection that breaks or falls silent is opened again after the last event, so that nothing is missed and nothing
 * comes twice; what cannot be made up for comes as a gap event. The first connection, and a refusal that will not pass, are the caller's errors.
 */
export async function resumingEvents(
  open: OpenEvents,
  after: string | undefined,
  { signal }: Pick<CallOptions, "signal">,
  times: EventTimes = usual,
): Promise<Stream<EventData>> {
  const closed = new AbortController();
  const until = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]);
  const first = await connectOnce(open, after, until, times.silenceMs);
  const items = eventsFrom(first, open, { after, until, closed: closed.signal }, times);
  const close = () => closed.abort();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => items.next(),
      // What is waited for ends at once, and with it the generator.
      return: () => {
        close();
        return items.return();
      },
    }),
    [Symbol.dispose]: close,
  };
}

interface Ends {
  readonly after: string | undefined;
  /** The caller's signal, or the stream was closed. */
  readonly until: AbortSignal;
  readonly closed: AbortSignal;
}

async function* eventsFrom(first: Connection, open: OpenEvents, ends: Ends, times: EventTimes): AsyncGenerator<EventData, void, undefined> {
  let connection: Connection | undefined = first;
  let { after } = ends;
  let turn = 0;
  let heardAt = performance.now();
  let broken: unknown;
  while (true) {
    try {
      if (connection !== undefined) {
        for await (const event of connection.events()) {
          after = event.id;
          turn = 0;
          heardAt = performance.now();
          yield event;
        }
      }
    } catch (error) {
      broken = error;
    } finally {
      connection?.close();
      connection = undefined;
    }
    if (ends.closed.aborted) return;
    ends.until.throwIfAborted();
    if (performance.now() - heardAt > times.patienceMs) throw broken ?? new LabwrightError("the service sends no events", { status: 0 });
    // A pause fails only where it is cut short: the next lines look at why.
    await pause(times.pauses[Math.min(turn, times.pauses.length - 1)] ?? 0, ends.until).catch(() => {});
    turn += 1;
    if (ends.closed.aborted) return;
    ends.until.throwIfAborted();
    try {
      connection = await connectOnce(open, after, ends.until, times.silenceMs);
    } catch (error) {
      if (!passes(error)) throw error;
      broken = error;
    }
  }
}

interface Connection {
  events(): AsyncIterable<EventData>;
  close(): void;
}

/** One connection, which ends itself when it is silent. */
async function connectOnce(open: OpenEvents, after: string | undefined, until: AbortSignal, silenceMs: number): Promise<Connection> {
  const cut = new AbortController();
  const stream = await open(after, AbortSignal.any([until, cut.signal]));
  const silent = () => cut.abort(new LabwrightError(`no event for ${silenceMs / 1000} s`, { status: 0, code: "host_timeout" }));
  return {
    events: async function* () {
      let timer = setTimeout(silent, silenceMs);
      try {
        for await (const event of stream) {
          // While the reader is busy nothing is expected.
          clearTimeout(timer);
          yield event;
          timer = setTimeout(silent, silenceMs);
        }
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => stream[Symbol.dispose](),
  };
}

/** No answer came, or one that only says: not now. */
function passes(error: unknown): boolean {
  if (!(error instanceof LabwrightError)) return false;
  if (error.status === 0) return error.code === "host_unreachable" || error.code === "host_timeout";
  return error.status === 429 || error.status >= 502;
}
