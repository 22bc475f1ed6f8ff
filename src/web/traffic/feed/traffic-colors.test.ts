import { expect, test } from "vitest";
import { trafficColors } from "./traffic-colors.ts";

test("a filter has its own colour if it is valid, otherwise a different one of the palette", () => {
  const isColor = (text: string) => /^#[0-9a-f]{6}$/.test(text);
  const colors = trafficColors([{ name: "a", color: "#ff8800" }, { name: "b" }, { name: "c", color: "no colour" }], isColor);
  expect([...colors.keys()]).toEqual(["a", "b", "c", null]);
  expect(colors.get("a")).toBe("#ff8800");
  expect(new Set(colors.values()).size).toBe(4);
  expect([...colors.values()].every(isColor)).toBe(true);
});
