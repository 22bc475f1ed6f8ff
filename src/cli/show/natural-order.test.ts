import { expect, test } from "vitest";
import { inNaturalOrder } from "./natural-order.ts";

test("names are counted, not spelled: r2 stands before r10, whatever the order was", () => {
  const names = ["r10", "sw1", "r2", "r1", "h1"];
  expect(inNaturalOrder(names, (name) => name)).toEqual(["h1", "r1", "r2", "r10", "sw1"]);
  expect(names[0]).toBe("r10");
});
