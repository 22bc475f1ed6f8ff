import { expect, test } from "vitest";
import { pasteOf } from "./paste.ts";

test("line ends at the end do not make a line more", () => {
  expect(pasteOf("ls\n").lines).toBe(1);
  expect(pasteOf("ls\r\nid\r\n").lines).toBe(2);
  expect(pasteOf("ls\rid").lines).toBe(2);
  expect(pasteOf("ls\n\nid").lines).toBe(3);
});

test("a text cannot press keys: control characters are left out, tabs and letters of all scripts stay", () => {
  expect(pasteOf("\x1b[201~a\x03\tb\x7f\x9bé→漢").text).toBe("[201~a\tbé→漢");
});
