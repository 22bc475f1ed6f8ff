import { expect, test, vi } from "vitest";
import type { JobFinish, Store } from "../store/store.ts";
import { JobEnds } from "./job-ends.ts";

test("ends that wait are written once each, also if another one comes while the database does not answer", async () => {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const finish = (id: string) =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      written.push(id);
    });
  const ends = new JobEnds({ jobs: { finish } } as unknown as Store, () => {});
  const end: JobFinish = { status: "failed", outcome: "rolled_back", finishedAt: 1 };
  ends.later("one", end);
  const first = ends.write();
  ends.later("two", end);
  const second = ends.write();
  expect(written).toEqual(["one"]);
  waiting.shift()!();
  await vi.waitUntil(() => waiting.length > 0);
  waiting.shift()!();
  await Promise.all([first, second]);
  expect(written).toEqual(["one", "two"]);
  expect(["one", "two"].map((id) => ends.unwritten(id))).toEqual([undefined, undefined]);
  ends.close();
});
