import { expect, test } from "vitest";
import { newOutput } from "./new-output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const newText = (shown: string, scrollback: string) => {
  const part = newOutput(bytes(shown), bytes(scrollback));
  return part && new TextDecoder().decode(part);
};

test("output that was shown is not shown again", () => {
  expect(newText("the last line that was seen\n", "older\nthe last line that was seen\nnew\n")).toBe("new\n");
});

test("terminal queries in the shown bytes are ignored: the scrollback does not contain them", () => {
  expect(newText("root@h1:/# ls\r\nroot@h1:/# \x1b[6n", "root@h1:/# ls\r\nroot@h1:/# new")).toBe("new");
});

test("without new output the result is empty", () => {
  expect(newText("the last line that was seen\n", "older\nthe last line that was seen\n")).toBe("");
});

test("a scrollback without the shown bytes gives undefined", () => {
  expect(newText("a console before its restart", "booting\n")).toBeUndefined();
  expect(newText("", "booting\n")).toBeUndefined();
});

test("a few bytes, such as a prompt, give undefined", () => {
  expect(newText("h1:~# ", "h1:~# ls\nh1:~# ")).toBeUndefined();
});
