import { once } from "node:events";
import { expect, test } from "vitest";
import { linkRates, type NamedCounters, RatesStream } from "./rates-stream.ts";

const link = (packets: readonly [number, number], bytes: readonly [number, number], key = "a:eth0 -- b:eth0"): NamedCounters => ({
  key,
  ends: key.split(" -- ") as [string, string],
  counters: { packets, bytes },
});

test("rates are the differences of counters over time, for each direction with packets", () => {
  expect(linkRates([link([10, 10], [1_000, 1_000])], [link([30, 10], [3_000, 1_000])], 2)).toEqual([
    { link: "a:eth0 -- b:eth0", from: "a:eth0", to: "b:eth0", packets: 10, bits: 8_000 },
  ]);
});

test("counters that were reset count from zero, and a new link counts from the next read on", () => {
  const rates = linkRates([link([10, 10], [1_000, 1_000])], [link([4, 12], [400, 1_100]), link([9, 9], [900, 900], "c:eth0 -- d:eth0")], 1);
  expect(rates).toEqual([
    { link: "a:eth0 -- b:eth0", from: "a:eth0", to: "b:eth0", packets: 4, bits: 3_200 },
    { link: "a:eth0 -- b:eth0", from: "b:eth0", to: "a:eth0", packets: 2, bits: 800 },
  ]);
});

test("a failed read ends the stream with its error, and a destroyed stream reads no more", async () => {
  let reads = 0;
  const failing = new RatesStream(async () => {
    reads++;
    throw new Error("no lab");
  });
  expect(await once(failing, "error")).toEqual([new Error("no lab")]);
  expect(failing.destroyed).toBe(true);
  expect(reads).toBe(1);
});
