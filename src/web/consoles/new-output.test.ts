import { expect, test } from "vitest";
import { unseenPart } from "./new-output.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const unseen = (shown: string, scrollback: string) => {
  const part = unseenPart(bytes(shown), bytes(scrollback));
  return part && new TextDecoder().decode(part);
};

test("what was shown already is not shown again", () => {
  expect(unseen("the last line that was seen\n", "older\nthe last line that was seen\nnew\n")).toBe("new\n");
});

test("what a console asked of its terminal is no difference: scrollback is without it", () => {
  expect(unseen("root@h1:/# ls\r\nroot@h1:/# \x1b[6n", "root@h1:/# ls\r\nroot@h1:/# new")).toBe("new");
});

test("nothing new is nothing", () => {
  expect(unseen("the last line that was seen\n", "older\nthe last line that was seen\n")).toBe("");
});

test("where the scrollback has nothing of it, it cannot be told", () => {
  expect(unseen("a console before its restart", "booting\n")).toBeUndefined();
  expect(unseen("", "booting\n")).toBeUndefined();
});

test("a few bytes, as of a prompt, tell nothing", () => {
  expect(unseen("h1:~# ", "h1:~# ls\nh1:~# ")).toBeUndefined();
});
