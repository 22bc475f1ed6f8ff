import { expect, test } from "vitest";
import { table } from "./table.ts";
import { visible } from "./visible.ts";

test("text of a host or a node cannot move the cursor, clear the screen or reverse text", () => {
  const text = "a\u001b[2Jb\u0007\u009b31mc\u202ed\u2066e\u2028f\rg";
  expect(visible(text)).toBe("a\\u001b[2Jb\\u0007\\u009b31mc\\u202ed\\u2066e\\u2028f\\u000dg");
  expect(visible(text, true)).toBe(visible(text));
});

test("line ends, tabs, letters of all scripts and the colours of paint() are unchanged", () => {
  expect(visible("ü €\t😀\r\nשלום\n")).toBe("ü €\t😀\nשלום\n");
  expect(visible("\u001b[31mred\u001b[39m", true)).toBe("\u001b[31mred\u001b[39m");
  expect(visible("\u001b[31mred")).toBe("\\u001b[31mred");
});

test("escaped JSON has the same value", () => {
  const data = { name: "a\u202eb\u009bc\u001b" };
  const shown = visible(JSON.stringify(data));
  expect(shown).not.toMatch(/[\u009b\u202e]/);
  expect(JSON.parse(shown)).toEqual(data);
});

test("a line end in a table cell does not start a new row", () => {
  const shown = table(["USER", "NAME"], [["admin", "x\nroot  y"]]);
  expect(shown.split("\n")).toHaveLength(2);
  expect(shown).toContain("x\\u000aroot  y");
});
