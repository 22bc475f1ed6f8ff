import fc from "fast-check";
import { expect, test } from "vitest";
import { ReadWindow } from "./read-window.ts";
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

test("the last line is the one with the cursor", () => {
  expect(lastLine("one\r\ntwo\r\nr1# ")).toBe("r1# ");
  expect(lastLine("one\r\n")).toBe("");
});

test("output in any division into pieces reads as in one piece", () => {
  const letter = fc.constantFrom(..."\x1b\x1b[]P?0;5HKGDmJ\\\x07\r\r\n\n\b\tab é", "\x1b[2K", "\x1b[5C", "\r\n");
  fc.assert(
    fc.property(fc.array(letter), fc.array(fc.integer({ min: 1, max: 5 })), (letters, cuts) => {
      // The number of blanks that moves to the right leave is limited by the length of the text so far. After this line, no move reaches the limit.
      const raw = `${"x".repeat(20_000)}\n${letters.join("")}`;
      const window = new ReadWindow(1 << 20);
      let at = 0;
      for (const cut of [20_001, ...cuts, raw.length]) {
        window.push(raw.slice(at, at + cut));
        at += cut;
      }
      // A sequence at the end of the text may be incomplete; its possible continuations are invisible, or a line end.
      window.push("\x18.");
      expect(window.text).toBe(renderText(`${raw}\x18.`));
    }),
    { numRuns: 700 },
  );
});

test("the end of output in pieces is kept", () => {
  const window = new ReadWindow(1000);
  for (let line = 1; line <= 1000; line++) window.push(`line ${line}\r\n`);
  window.push("$ ");
  expect(window.text.length).toBeLessThan(3000);
  expect(window.text).toMatch(/line 999\nline 1000\n\$ $/);
  window.clear();
  expect(window.text).toBe("");
});
