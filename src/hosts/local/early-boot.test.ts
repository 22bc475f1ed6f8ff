import { expect, test } from "vitest";
import { EarlyBoot } from "./early-boot.ts";

test("while some boot the next gather, and all have booted when it is done", async () => {
  const booted: (readonly number[])[] = [];
  const letGo: (() => void)[] = [];
  const boots = new EarlyBoot((ids) => {
    booted.push(ids);
    return new Promise((resolve) => letGo.push(resolve));
  });
  boots.add([]);
  expect(booted).toEqual([]);
  boots.add([1, 2]);
  boots.add([3]);
  boots.add([4]);
  expect(booted).toEqual([[1, 2]]);
  const done = boots.done();
  letGo[0]!();
  await expect
    .poll(() => booted)
    .toEqual([
      [1, 2],
      [3, 4],
    ]);
  letGo[1]!();
  await done;
  boots.add([5]);
  expect(booted[2]).toEqual([5]);
  letGo[2]!();
  await boots.done();
});

test("a failure is told, and no more boot", async () => {
  const booted: (readonly number[])[] = [];
  const boots = new EarlyBoot(async (ids) => {
    booted.push(ids);
    throw new Error("refused");
  });
  boots.add([1]);
  await expect(boots.done()).rejects.toThrow("refused");
  boots.add([2]);
  await expect(boots.done()).rejects.toThrow("refused");
  expect(booted).toEqual([[1]]);
});
