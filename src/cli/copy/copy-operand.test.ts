import { expect, test } from "vitest";
import { copyOperand } from "./copy-operand.ts";

test("a path in nodes has a colon before a slash; one that begins with a dot or a slash is of this machine", () => {
  expect(["r1:/etc/frr", "r*:/tmp/", "kind=frr:/etc", "./a:/b", "/x:/y", "../x", "-", "x.tar"].map(copyOperand)).toEqual([
    { nodes: "r1", path: "/etc/frr" },
    { nodes: "r*", path: "/tmp/" },
    { nodes: "kind=frr", path: "/etc" },
    { path: "./a:/b" },
    { path: "/x:/y" },
    { path: "../x" },
    { path: "-" },
    { path: "x.tar" },
  ]);
});

test("a relative path in a node is refused with both corrections", () => {
  expect(() => copyOperand("r1:etc")).toThrow('"r1:etc" is not an absolute path in a node');
  expect(() => copyOperand("r1:")).toThrow("not an absolute path");
  expect(() => copyOperand("")).toThrow("empty");
});
