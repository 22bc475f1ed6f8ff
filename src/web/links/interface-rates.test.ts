import { expect, test } from "vitest";
import type { TrafficRate } from "../traffic/feed/traffic-rates.ts";
import { withRates } from "./interface-rates.ts";

const rate = (from: string, to: string, bits: number): TrafficRate => ({ link: "l", from, to, kind: "", packets: 1, bits, last: "" });

test("the rates of a node are summed by its interface and direction, and idle interfaces get zero", () => {
  const first = withRates(
    new Map(),
    "r1",
    [rate("r1:eth0", "r2:eth0", 80), rate("r1:eth0", "r2:eth0", 20), rate("r2:eth0", "r1:eth0", 7)],
    1_000,
  );
  expect(first.get("eth0")).toEqual([{ at: 1_000, sent: 100, received: 7 }]);
  const second = withRates(first, "r1", [], 2_000);
  expect(second.get("eth0")!.at(-1)).toEqual({ at: 2_000, sent: 0, received: 0 });
  expect([...second.keys()]).toEqual(["eth0"]);
});

test("a node whose name begins with that of another is not mixed with it", () => {
  expect(withRates(new Map(), "r1", [rate("r10:eth0", "r2:eth0", 5)], 0).size).toBe(0);
});
