import { expect, test } from "vitest";
import { keepWarnings, keptWarnings } from "./deploy-warnings.ts";

test("the warnings of a deploy are kept for the page of its lab until they are closed or the lab is deployed without any", () => {
  const warning = { code: "config_refused", node: "r1", message: "unknown command: ip adress" };
  keepWarnings("/a", [warning]);
  keepWarnings("/b", [warning]);
  expect([keptWarnings("/a"), keptWarnings("/c")]).toEqual([[warning], []]);
  keepWarnings("/a");
  keepWarnings("/b", []);
  expect([keptWarnings("/a"), keptWarnings("/b")]).toEqual([[], []]);
});
