import { expect, test } from "vitest";
import exchanges from "../../scripts/pages/exchanges.json" with { type: "json" };
import { operations } from "../../src/contract/operations.ts";
import { recordExchanges } from "./record.ts";

test("what docs/api.md shows of each operation is what the service answers now: node scripts/record.ts", async () => {
  const now = await recordExchanges();
  expect(Object.keys(now)).toEqual(Object.keys(operations).sort());
  expect(now).toEqual(exchanges);
});
