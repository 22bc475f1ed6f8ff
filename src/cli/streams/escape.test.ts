import { expect, test } from "vitest";
import { Escape } from "./escape.ts";

function typed(...chunks: string[]): [string, boolean] {
  const finder = new Escape();
  let sent = "";
  for (const chunk of chunks) {
    const { send, leave } = finder.take(Buffer.from(chunk));
    sent += send.toString();
    if (leave) return [sent, true];
  }
  return [sent, false];
}

test("Ctrl-] closes the console anywhere, and the input before it is still sent", () => {
  expect(typed("show ver\u001dmore")).toEqual(["show ver", true]);
});

test("~. closes the console only at the beginning of a line, even if typed slowly", () => {
  expect(typed("~.")).toEqual(["", true]);
  expect(typed("exit\r", "~", ".")).toEqual(["exit\r", true]);
  expect(typed("cat ~.profile\r")).toEqual(["cat ~.profile\r", false]);
});

test("~~ at the beginning of a line sends one ~, and ~ before another character is sent too", () => {
  expect(typed("~~.")).toEqual(["~.", false]);
  expect(typed("~/bin/x\r")).toEqual(["~/bin/x\r", false]);
});
