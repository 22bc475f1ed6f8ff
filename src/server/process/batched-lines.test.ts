import { expect, test } from "vitest";
import { batchedLines } from "./batched-lines.ts";

test("lines that come together are written together, in their order and without being asked", async () => {
  const written: string[] = [];
  const lines = batchedLines((text) => written.push(text));
  for (const line of ["a\n", "b\n"]) lines.write(line);
  expect(written).toEqual([]);
  await expect.poll(() => written).toEqual(["a\nb\n"]);
  lines.write("c\n");
  await expect.poll(() => written).toEqual(["a\nb\n", "c\n"]);
});

test("what waits is written at once where it is much, and when it is asked for, and no line twice", () => {
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
