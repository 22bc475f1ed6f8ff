import type { EventData } from "../contract/schemas/observe.ts";
import { LabwrightError } from "./error.ts";
import type { CallOptions, Stream } from "./methods.ts";
import { pause } from "./pause.ts";

/** Opens a stream of the events after an id. `signal` closes it. */
export type OpenEvents = (after: string | undefined, signal: AbortSignal) => Promise<Stream<EventData>>;

export interface EventTimes {
  /** A connection without an event for this time is considered dead, ms. The service sends at least a heartbeat every 15 s. */
  readonly silenceMs: number;
  /** Pauses before connecting again, ms. Each attempt uses the next one; the last one repeats. An event starts from the first again. */
  readonly pauses: readonly number[];
  /** The stream fails after this time without an event, ms. */
  readonly patienceMs: number;
}

const usual: EventTimes = { silenceMs: 45_000, pauses: [250, 500, 1_000, 2_000, 5_000], patienceMs: 120_000 };

/**
 * Returns an endless stream of events. A connection that breaks or falls silent is opened again after the last event, so that no event is lost or repeated.
 * If the service has dropped events meanwhile, the stream contains a gap event. An error of the first connection and a permanent refusal are thrown.
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
      // Ends the pending wait at once, and with it the generator.
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
  /** Aborted by the caller's signal, or when the stream is closed. */
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
    // A pause fails only if it is aborted. The next lines check by whom.
    await pause(times.pauses[Math.min(turn, times.pauses.length - 1)] ?? 0, ends.until).catch(() => {});
    turn += 1;
    if (ends.closed.aborted) return;
    ends.until.throwIfAborted();
    try {
      connection = await connectOnce(open, after, ends.until, times.silenceMs);
    } catch (error) {
      if (!isTemporary(error)) throw error;
      broken = error;
    }
  }
}

interface Connection {
  events(): AsyncIterable<EventData>;
  close(): void;
}

/** Opens one connection. It ends itself after `silenceMs` without an event. */
async function connectOnce(open: OpenEvents, after: string | undefined, until: AbortSignal, silenceMs: number): Promise<Connection> {
  const cut = new AbortController();
  const stream = await open(after, AbortSignal.any([until, cut.signal]));
  const silent = () => cut.abort(new LabwrightError(`no event for ${silenceMs / 1000} s`, { status: 0, code: "host_timeout" }));
  return {
    events: async function* () {
      let timer = setTimeout(silent, silenceMs);
      try {
        for await (const event of stream) {
          // No event is expected while the reader is busy.
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

/** Returns whether an error is temporary: no answer, or a refusal for the moment. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof LabwrightError)) return false;
  if (error.status === 0) return error.code === "host_unreachable" || error.code === "host_timeout";
  return error.status === 429 || error.status >= 502;
}
