import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellWord } from "./shell-word.ts";

test.each(["/campus-1", "/Courses 2026/My First Lab", "it's", "$(id)", "`id`", 'a"b', "a\\b", "", "ü;|&"])(
  "a shell reads %j as one word",
  (text) => {
    expect(execFileSync("sh", ["-c", `printf '<%s>' ${shellWord(text)}`], { encoding: "utf8" })).toBe(`<${text}>`);
  },
);

test("a path without special characters is not quoted", () => {
  expect(shellWord("/courses/bgp-1")).toBe("/courses/bgp-1");
});
