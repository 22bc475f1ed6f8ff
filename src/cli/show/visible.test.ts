import { expect, test } from "vitest";
import { table } from "./table.ts";
import { visible } from "./visible.ts";

test("a text that a host or node sent moves no cursor, clears no screen and reverses no text", () => {
  const text = "a\u001b[2Jb\u0007\u009b31mc\u202ed\u2066e\u2028f\rg";
  expect(visible(text)).toBe("a\\u001b[2Jb\\u0007\\u009b31mc\\u202ed\\u2066e\\u2028f\\u000dg");
  expect(visible(text, true)).toBe(visible(text));
});

test("line ends, tabs, letters of all scripts and the terminal's own colours stay", () => {
  expect(visible("ü €\t😀\r\nשלום\n")).toBe("ü €\t😀\nשלום\n");
  expect(visible("\u001b[31mred\u001b[39m", true)).toBe("\u001b[31mred\u001b[39m");
  expect(visible("\u001b[31mred")).toBe("\\u001b[31mred");
});

test("JSON keeps its meaning", () => {
  const data = { name: "a\u202eb\u009bc\u001b" };
  const shown = visible(JSON.stringify(data));
  expect(shown).not.toMatch(/[\u009b\u202e]/);
  expect(JSON.parse(shown)).toEqual(data);
});

test("a cell of a table with a line end makes no row of its own", () => {
  const shown = table(["USER", "NAME"], [["admin", "x\nroot  y"]]);
  expect(shown.split("\n")).toHaveLength(2);
  expect(shown).toContain("x\\u000aroot  y");
});
