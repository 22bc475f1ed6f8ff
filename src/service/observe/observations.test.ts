import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession, LiveStatus } from "../../hosts/host.ts";
import { Observations } from "./observations.ts";

/** A host whose reads the test ends by itself, and a clock that it moves. */
function bench(statusMs: number) {
  const clock = { time: 0, now: () => clock.time };
  const reads: { resolve: (status: LiveStatus) => void; reject: (error: Error) => void }[] = [];
  const host = {
    status: () => new Promise<LiveStatus>((resolve, reject) => void reads.push({ resolve, reject })),
  } as Partial<HostSession> as HostSession;
  const observations = new Observations(
    clock as never,
    statusMs,
    () => true,
    () => undefined,
  );
  return { clock, reads, ask: () => observations.status(host, "/lab"), forget: () => observations.forget("/lab") };
}

const statusOf = (name: string): LiveStatus => ({ nodes: [{ id: "1", name, status: "running" }], links: [] });

test("a hundred pollers of one interval cost one read and get the same answer", async () => {
  const { reads, ask } = bench(250);
  const answers = Promise.all(Array.from({ length: 100 }, ask));
  expect(reads.length).toBe(1);
  reads[0]!.resolve(statusOf("a"));
  expect(new Set(await answers).size).toBe(1);
});

test("in the interval after, pollers get the last answer while one new read runs, and then the new one", async () => {
  const { clock, reads, ask } = bench(250);
  const first = ask();
  reads[0]!.resolve(statusOf("a"));
  await first;
  clock.time = 300;
  expect(await ask()).toEqual(statusOf("a"));
  expect(await ask()).toEqual(statusOf("a")); // a copy of its own: no caller waits for the read either
  expect(reads.length).toBe(2);
  reads[1]!.resolve(statusOf("b"));
  await expect.poll(ask).toEqual(statusOf("b"));
  expect(reads.length).toBe(2);
});

test("a status that is older than two intervals is not shown", async () => {
  const { clock, reads, ask } = bench(250);
  const first = ask();
  reads[0]!.resolve(statusOf("a"));
  await first;
  clock.time = 500;
  const second = ask();
  reads[1]!.resolve(statusOf("b"));
  expect(await second).toEqual(statusOf("b"));
});

test("after a change nothing old is shown, and a failed read is shared", async () => {
  const { reads, ask, forget } = bench(250);
  const first = ask();
  reads[0]!.resolve(statusOf("a"));
  await first;
  forget();
  const both = Promise.allSettled([ask(), ask()]);
  expect(reads.length).toBe(2);
  reads[1]!.reject(new Failure("host_unreachable", "gone"));
  expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("the structure is shown during its next read, up to twice its maximum age", async () => {
  const clock = { time: 0, now: () => clock.time };
  const reads: ((name: string) => void)[] = [];
  const host = {
    observe: () => new Promise<ObservedLab>((resolve) => void reads.push((name) => resolve({ name } as ObservedLab))),
  } as Partial<HostSession> as HostSession;
  const observations = new Observations(
    clock as never,
    250,
    () => true,
    () => undefined,
  );
  const ask = () => observations.recentStructure(host, "/lab", 1000).then((lab) => lab?.name);
  const first = ask();
  reads[0]!("a");
  expect(await first).toBe("a");
  clock.time = 1500;
  expect(await ask()).toBe("a");
  const waits = observations.structure(host, "/lab", 1000);
  expect(reads.length).toBe(2);
  reads[1]!("b");
  expect((await waits)?.name).toBe("b");
  clock.time = 3500;
  const late = ask();
  reads[2]!("c");
  expect(await late).toBe("c");
});

test("while nodes start the host is read more often, a slow host less often", async () => {
  const { clock, reads, ask } = bench(250);
  const starting: LiveStatus = { nodes: [{ id: "1", name: "a", status: "starting" }], links: [] };
  const readAt = async (time: number, takes: number, status: LiveStatus) => {
    clock.time = time;
    const before = reads.length;
    void ask();
    expect(reads.length).toBe(before + 1);
    clock.time += takes;
    reads.at(-1)!.resolve(status);
    await expect.poll(ask).toBe(status);
  };
  const countAt = (time: number) => {
    clock.time = time;
    void ask();
    return reads.length;
  };
  await readAt(0, 1, starting);
  expect(countAt(19)).toBe(1);
  await readAt(50, 40, starting);
  expect(countAt(50 + 79)).toBe(2);
  await readAt(50 + 80, 1, statusOf("a"));
  expect(countAt(130 + 249)).toBe(3);
});

test("while nodes start no caller gets an earlier answer", async () => {
  const { clock, reads, ask } = bench(250);
  const first = ask();
  reads[0]!.resolve({ nodes: [{ id: "1", name: "a", status: "starting" }], links: [] });
  await first;
  clock.time = 25;
  const second = ask();
  reads[1]!.resolve(statusOf("a"));
  expect(await second).toEqual(statusOf("a"));
});
