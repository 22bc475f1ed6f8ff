import { expect, test } from "vitest";
import { lastLine, renderText } from "./terminal.ts";

test.each([
  ["plain text stays", "a\r\nb\r\n", "a\nb\n"],
  ["colours and titles go", "\x1b]0;title\x07\x1b[1;32mok\x1b[0m", "ok"],
  ["a title that ends with ST goes", "\x1b]2;t\x1b\\x", "x"],
  ["a carriage return overwrites", "loading\rdone   ", "done   "],
  ["a backspace steps back", "ab\bc", "ac"],
  ["erasing to the end of the line", "--More--\r\x1b[Knext", "next"],
  ["erasing the whole line", "gone\x1b[2K\rhere", "here"],
  ["tabs stay tabs", "a\tb", "a\tb"],
  ["character sets and keypad modes go", "\x1b(B\x1b=\x1b>x", "x"],
  ["letters beyond ASCII stay", "é – 網", "é – 網"],
])("%s", (_name, raw, shown) => {
  expect(renderText(raw)).toBe(shown);
});

test("the last line is where the cursor stands", () => {
  expect(lastLine("one\r\ntwo\r\nr1# ")).toBe("r1# ");
  expect(lastLine("one\r\n")).toBe("");
});
