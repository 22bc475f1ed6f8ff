import { expect, test } from "vitest";
import { pasteOf } from "./paste.ts";

test("line ends at the end of the text do not count as a line", () => {
  expect(pasteOf("ls\n").lines).toBe(1);
  expect(pasteOf("ls\r\nid\r\n").lines).toBe(2);
  expect(pasteOf("ls\rid").lines).toBe(2);
  expect(pasteOf("ls\n\nid").lines).toBe(3);
});

test("control characters are removed, tabs and letters of all scripts are kept", () => {
  expect(pasteOf("\x1b[201~a\x03\tb\x7f\x9bé→漢").text).toBe("[201~a\tbé→漢");
});
