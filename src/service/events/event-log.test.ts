import { expect, test } from "vitest";
import type { EventData } from "../../contract/schemas/observe.ts";
import { EventLog, type Following } from "./event-log.ts";

function logWith(events: number, limit = 10): EventLog {
  const log = new EventLog({ now: () => 0 }, limit);
  for (let number = 1; number <= events; number++) publish(log, number);
  return log;
}

const publish = (log: EventLog, number: number) => log.publish({ type: "lab", lab: "/x", data: { number } }, undefined);

function follow(log: EventLog, options: Partial<Following> & { readonly after?: string } = {}): AsyncGenerator<EventData, void> {
  const { after, ...rest } = options;
  return log.follow({
    from: log.place(after),
    accepts: () => true,
    alive: () => true,
    heartbeatMs: 60_000,
    signal: new AbortController().signal,
    ...rest,
  });
}

async function take(events: AsyncGenerator<EventData, void>, count: number): Promise<unknown[]> {
  const taken: unknown[] = [];
  while (taken.length < count) {
    const { value, done } = await events.next();
    if (done || value === undefined) return [...taken, "end"];
    taken.push(value.type === "lab" ? (value.data as { number: number }).number : value.type === "gap" ? value.data : value.type);
  }
  return taken;
}

const idAt = async (log: EventLog) => (await follow(log).next()).value?.id ?? "";

test("a new reader starts at the end, with a heartbeat that contains its position", async () => {
  const log = logWith(3);
  const events = follow(log);
  expect(await take(events, 1)).toEqual(["heartbeat"]);
  publish(log, 4);
  expect(await take(events, 1)).toEqual([4]);
});

test("a reader that reconnects gets the missed events once", async () => {
  const log = logWith(3);
  const after = await idAt(log);
  publish(log, 4);
  publish(log, 5);
  expect(await take(follow(log, { after }), 3)).toEqual(["heartbeat", 4, 5]);
});

test("a gap is reported before the remaining events", async () => {
  const log = logWith(3);
  const after = await idAt(log);
  for (let number = 4; number <= 14; number++) publish(log, number);
  expect(await take(follow(log, { after }), 3)).toEqual([{ after, reason: "history" }, 5, 6]);
});

test("the oldest event that is kept leaves no gap", async () => {
  const log = logWith(3);
  const after = await idAt(log);
  for (let number = 4; number <= 13; number++) publish(log, number);
  expect(await take(follow(log, { after }), 2)).toEqual(["heartbeat", 4]);
});

test.each([
  ["of another life of the service", "0123456789ab-2"],
  ["from the future", undefined],
  ["that is none", "../etc/passwd"],
])("an id %s gives a gap and all that is kept", async (_name, id) => {
  const log = logWith(2);
  const after = id ?? (await idAt(log)).replace(/\d+$/, "99");
  expect(await take(follow(log, { after }), 3)).toEqual([{ after, reason: "restart" }, 1, 2]);
});

test("a reader that falls behind the oldest event is ended, and finds a gap", async () => {
  const log = logWith(0);
  const events = follow(log);
  const { value } = await events.next();
  for (let number = 1; number <= 11; number++) publish(log, number);
  expect(await take(events, 1)).toEqual(["end"]);
  expect(log.dropped).toBe(1);
  expect((await take(follow(log, { after: value!.id }), 1))[0]).toMatchObject({ reason: "history" });
});

test("events that a reader filters out still advance its position", async () => {
  const log = logWith(0);
  const odd = follow(log, { accepts: ({ event }) => (event.data as { number: number }).number % 2 === 1, heartbeatMs: 30 });
  await odd.next();
  for (let number = 1; number <= 4; number++) publish(log, number);
  expect(await take(odd, 3)).toEqual([1, 3, "heartbeat"]);
  const { value } = await odd.next();
  expect(value?.id).toMatch(/-4$/);
});

test("it is never quiet for longer than the heartbeat, and ends when its session has", async () => {
  let alive = true;
  const events = follow(logWith(0), { heartbeatMs: 20, alive: () => alive });
  expect(await take(events, 3)).toEqual(["heartbeat", "heartbeat", "heartbeat"]);
  alive = false;
  expect((await take(events, 3)).at(-1)).toBe("end");
});

test("a reader ends with its session, even if there are always new events", async () => {
  const log = logWith(0);
  let alive = true;
  const events = follow(log, { heartbeatMs: 20, alive: () => alive });
  await events.next();
  alive = false;
  const began = performance.now();
  let number = 0;
  for (let done = false; !done; done = (await events.next()).done === true) {
    publish(log, ++number);
    expect(performance.now() - began).toBeLessThan(20_000);
  }
  expect(number).toBeGreaterThan(1);
});

test("an abort ends a reader that waits, and it is counted no more", async () => {
  const log = logWith(0);
  const leaving = new AbortController();
  const events = follow(log, { signal: leaving.signal });
  await events.next();
  const waiting = events.next();
  expect(log.followers).toBe(1);
  leaving.abort();
  expect((await waiting).done).toBe(true);
  expect(log.followers).toBe(0);
});
