import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { ChangeWatch } from "./change-watch.ts";

test("a change that is cancelled while it waits, for example for a pull, fails with cancelled", async () => {
  const abort = new AbortController();
  const watch = new ChangeWatch(abort, { stallMs: 60_000, graceMs: 60_000 });
  const work = watch.limit(delay(60_000, undefined, { signal: abort.signal }));
  abort.abort();
  await expect(work).rejects.toMatchObject({ code: "cancelled", message: "the change was cancelled" });
  watch.end();
});

test("a change that fails after its cancel keeps its own error", async () => {
  const abort = new AbortController();
  const watch = new ChangeWatch(abort, { stallMs: 60_000, graceMs: 60_000 });
  const failure = new Failure("host_error", "no room");
  const work = watch.limit(
    delay(1).then(() => {
      throw failure;
    }),
  );
  abort.abort();
  await expect(work).rejects.toBe(failure);
  watch.end();
});
