import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { Pulse, patienceMs } from "./pulse.ts";

/** With a clock of the test: a holder that does not answer, and the process of this test as the holder's. */

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

const silentHolder = ({ deadlineMs }: { readonly deadlineMs?: number }) =>
  new Promise<never>((_resolve, reject) => {
    if (deadlineMs !== undefined) setTimeout(() => reject(new Failure("host_timeout", "late")), deadlineMs);
  });

/** A request that ends only when it is cut. */
const endless = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

const stat = readFileSync("/proc/self/stat", "utf8");
const start = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
const identity = { lab: "a", pid: process.pid, start, version: 0 };

test("a request to a silent holder fails before the answer of the service is due, and the next one at once", async () => {
  const pulse = new Pulse(identity, silentHolder);
  const waiting = pulse.during(endless).catch((error: unknown) => error);
  let ended: unknown;
  void waiting.then((error) => {
    ended = error;
  });
  await vi.advanceTimersByTimeAsync(patienceMs + 3_000);
  expect(ended).toMatchObject({
    code: "host_timeout",
    message: expect.stringContaining(`the lab's holder, process ${process.pid}, has not answered for 8 s`),
  });
  await expect(pulse.during(endless)).rejects.toMatchObject({ code: "host_timeout" });
});

test("a request may take any time while its holder answers", async () => {
  const pulse = new Pulse(identity, async () => undefined);
  let end: (value: string) => void = () => {};
  const answer = pulse.during(
    () =>
      new Promise<string>((resolve) => {
        end = resolve;
      }),
  );
  await vi.advanceTimersByTimeAsync(20 * patienceMs);
  end("done");
  expect(await answer).toBe("done");
  expect(pulse.hanging()).toBeUndefined();
});
