import { expect, test } from "vitest";
import { batchedLines } from "./batched-lines.ts";

test("lines that arrive together are written together and in order, without a call of flush", async () => {
  const written: string[] = [];
  const lines = batchedLines((text) => written.push(text));
  for (const line of ["a\n", "b\n"]) lines.write(line);
  expect(written).toEqual([]);
  await expect.poll(() => written).toEqual(["a\nb\n"]);
  lines.write("c\n");
  await expect.poll(() => written).toEqual(["a\nb\n", "c\n"]);
});

test("waiting lines are written at once if they are long and at flush, and no line is written twice", () => {
  const written: string[] = [];
  const lines = batchedLines((text) => written.push(text));
  const long = `${"x".repeat(40_000)}\n`;
  lines.write(long);
  lines.write(long);
  expect(written).toEqual([long + long]);
  lines.write("last\n");
  lines.flush();
  lines.flush();
  expect(written).toEqual([long + long, "last\n"]);
});
