import { expect, test } from "vitest";
import { RecentReads } from "./recent-reads.ts";
import type { ShownReading } from "./tasks.ts";

/** Reads that the test ends by itself, in the order they began. */
function bench(...bounds: readonly number[]) {
  const begun: { readonly text: string; end(reading: ShownReading): void; fail(error: Error): void }[] = [];
  const recent = new RecentReads(...bounds);
  const ask = (yaml: string, files: Readonly<Record<string, string>> = {}) =>
    recent.get(yaml, files, () => new Promise((end, fail) => void begun.push({ text: yaml, end, fail })));
  return { ask, begun, texts: () => begun.map(({ text }) => text) };
}

const reading = (shown: string): ShownReading => ({ lab: undefined, diagnostics: [], shown });

test("one text is parsed once for concurrent and later callers", async () => {
  const { ask, begun } = bench();
  const both = [ask("a"), ask("a")];
  expect(begun.length).toBe(1);
  begun[0]!.end(reading("first"));
  expect(new Set([...(await Promise.all(both)), await ask("a")]).size).toBe(1);
  expect(begun.length).toBe(1);
});

test("another text, another file, or one more or less, is another reading", () => {
  const { ask, texts } = bench();
  for (const files of [{}, { "r1.conf": "x" }, { "r1.conf": "y" }, { "r2.conf": "x" }, { "r1.conf": "x", "r2.conf": "x" }]) {
    void ask("a", files);
    void ask("a", files);
    void ask("b", files);
  }
  expect(texts().length).toBe(10);
});

test("a read that failed is begun again", async () => {
  const { ask, begun } = bench();
  const failed = ask("a");
  begun[0]!.fail(new Error("too many wait"));
  await expect(failed).rejects.toThrow("too many wait");
  void ask("a");
  expect(begun.length).toBe(2);
});

test("the least recently used result is dropped first, by number and by size", () => {
  const few = bench(2);
  for (const text of ["a", "b", "a", "c", "a", "b"]) void few.ask(text);
  expect(few.texts()).toEqual(["a", "b", "c", "b"]);
  const lean = bench(9, 10);
  for (const text of ["four", "five5", "four", "six666", "four", "much longer than that", "four"]) void lean.ask(text);
  expect(lean.texts()).toEqual(["four", "five5", "six666", "much longer than that", "four"]);
});
