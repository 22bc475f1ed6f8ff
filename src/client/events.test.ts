import { describe, expect, test } from "vitest";
import type { EventData } from "../contract/schemas/observe.ts";
import { LabwrightError } from "./error.ts";
import { type EventTimes, type OpenEvents, resumingEvents } from "./events.ts";

/** With patience: a busy machine notices a silence late. */
const times: EventTimes = { silenceMs: 200, pauses: [1, 5], patienceMs: 60_000 };
const event = (id: number): EventData => ({ id: String(id), at: "2026-01-01T00:00:00Z", type: "node" });

/** The behaviour of each connection in turn: a list of events, an error of opening, or a function that gets the signal. */
type Turn = readonly EventData[] | Error | ((signal: AbortSignal) => AsyncGenerator<EventData>);

function service(turns: readonly Turn[]): { readonly open: OpenEvents; readonly asked: (string | undefined)[]; closed: number } {
  const rest = [...turns];
  const state = {
    asked: [] as (string | undefined)[],
    closed: 0,
    open: async (after: string | undefined, signal: AbortSignal) => {
      state.asked.push(after);
      const turn = rest.shift() ?? [];
      if (turn instanceof Error) throw turn;
      const items =
        typeof turn === "function"
          ? turn(signal)
          : (async function* () {
              yield* turn;
            })();
      return { [Symbol.asyncIterator]: () => items, [Symbol.dispose]: () => void state.closed++ };
    },
  };
  return state;
}

const away = new LabwrightError("away", { status: 0, code: "host_unreachable" });
const gone = new LabwrightError("gone", { status: 404, code: "lab_not_found" });

/** Yields one event, then nothing until it is closed. */
const quiet = (id: number) =>
  async function* (signal: AbortSignal): AsyncGenerator<EventData> {
    yield event(id);
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };

async function take(open: OpenEvents, count: number, signal?: AbortSignal, limits = times): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of await resumingEvents(open, undefined, { signal }, limits)) {
    ids.push(id);
    if (ids.length === count) break;
  }
  return ids;
}

describe("events", () => {
  test("events continue after the last one when a connection ends or breaks", async () => {
    const broken = async function* () {
      yield event(3);
      throw new Error("reset");
    };
    const { open, asked } = service([[event(1), event(2)], broken, [event(4)]]);
    expect(await take(open, 4)).toEqual(["1", "2", "3", "4"]);
    expect(asked).toEqual([undefined, "2", "3"]);
  });

  test("events continue when the service is available again", async () => {
    const restarting = new LabwrightError("bad gateway", { status: 502 });
    const { open, asked } = service([[event(1)], away, restarting, [event(2)]]);
    expect(await take(open, 2)).toEqual(["1", "2"]);
    expect(asked).toEqual([undefined, "1", "1", "1"]);
  });

  test("events continue after a connection that fell silent", async () => {
    const { open, asked } = service([quiet(1), [event(2)]]);
    const began = performance.now();
    expect(await take(open, 2)).toEqual(["1", "2"]);
    expect(performance.now() - began).toBeGreaterThan(150);
    expect(asked).toEqual([undefined, "1"]);
  });

  test("events begin after the given id", async () => {
    const { open, asked } = service([[event(8)]]);
    for await (const { id } of await resumingEvents(open, "7", {}, times)) {
      expect(id).toBe("8");
      break;
    }
    expect(asked).toEqual(["7"]);
  });

  test("a refusal of the first connection is thrown at once, and a later permanent refusal too", async () => {
    await expect(take(service([away]).open, 1)).rejects.toBe(away);
    const { open, asked } = service([[event(1)], gone, [event(2)]]);
    await expect(take(open, 2)).rejects.toBe(gone);
    expect(asked).toEqual([undefined, "1"]);
  });

  test("the stream fails if the service stays unavailable", async () => {
    const { open, asked } = service([[event(1)], ...Array.from({ length: 1_000 }, () => away)]);
    await expect(take(open, 2, undefined, { ...times, patienceMs: 300 })).rejects.toBe(away);
    // A busy machine tries less often in the same time.
    expect(asked.length).toBeGreaterThan(2);
  });

  test("the stream ends with the reason of the caller's signal", async () => {
    const leaving = new AbortController();
    const reason = new Error("enough");
    const { open } = service([quiet(1)]);
    const taken = take(open, 2, leaving.signal);
    setTimeout(() => leaving.abort(reason), 20);
    await expect(taken).rejects.toBe(reason);
  });

  test("a stream that is disposed ends without an error, also during a wait, and closes the connection", async () => {
    const state = service([quiet(1)]);
    const events = await resumingEvents(state.open, undefined, {}, times);
    const ids: string[] = [];
    for await (const { id } of events) {
      ids.push(id);
      setTimeout(() => events[Symbol.dispose](), 10);
    }
    expect([ids, state.asked.length, state.closed]).toEqual([["1"], 1, 1]);
  });
});
