import { expect, test } from "vitest";
import { nearest } from "../../diagnostics/nearest.ts";
import { checkFiles } from "../../parse/files.ts";
import { checkLabPath } from "../lab-path.ts";

test("lab paths have 1–8 segments of letters, digits, spaces, dots, underscores and hyphens", () => {
  expect(checkLabPath("/courses/bgp-1")).toEqual({ path: "/courses/bgp-1" });
  expect(checkLabPath("My lab_2.0")).toEqual({ path: "/My lab_2.0" });
  expect(checkLabPath("/a/b/c/d/e/f/g/h")).toEqual({ path: "/a/b/c/d/e/f/g/h" });
  for (const text of ["", "/", "//a", "a/", "/a/../b", "/.", "/a/b/c/d/e/f/g/h/i", "/ä", "/a\0", "/a\n", `/${"a".repeat(65)}`, "/a\\b"]) {
    expect(checkLabPath(text), text).toHaveProperty("problem");
  }
});

test("files are identified by their normal path, and the others are reported with the problem", () => {
  const { files, problems } = checkFiles({
    "./a//b.conf": "1",
    c: "2",
    "/etc/x": "",
    "x/../../y": "",
    "a\0": "",
    "a/b.conf": "3",
    "": "",
    "..\\x": "",
    "C:/x": "",
  });
  expect([...files]).toEqual([
    ["a/b.conf", "1"],
    ["c", "2"],
  ]);
  expect(problems.map(({ path }) => path)).toEqual([
    "/files/",
    "/files/..\\x",
    "/files/~1etc~1x",
    "/files/C:~1x",
    "/files/a\0",
    "/files/a~1b.conf",
    "/files/x~1..~1..~1y",
  ]);
  expect(checkFiles({ __proto__: "x" } as never).problems).toEqual([]);
});

test("the nearest word is one that a user may have meant, or none", () => {
  expect(nearest("imgae", ["icon", "image"])).toBe("image");
  expect(nearest("startup_config", ["start", "startup-config"])).toBe("startup-config");
  expect(nearest("R1", ["r1", "r2"])).toBe("r1");
  expect(nearest("zebra", ["image", "icon"])).toBeUndefined();
  expect(nearest("", ["a"])).toBeUndefined();
});
