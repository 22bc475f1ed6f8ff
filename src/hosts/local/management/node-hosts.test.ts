import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { namesOf, updateScript } from "./node-hosts.ts";

const block = (...lines: readonly string[]) => ["# labwright nodes: begin", ...lines, "# labwright nodes: end", ""].join("\n");

/** Returns the file after the program of a node has changed it. @param text undefined: there is no file */
function after(text: string | undefined, update: string): string {
  const folder = mkdtempSync(join(tmpdir(), "node-hosts-"));
  const file = join(folder, "hosts");
  try {
    if (text !== undefined) writeFileSync(file, text);
    execFileSync("/bin/sh", ["-c", updateScript, "sh", file], { input: update });
    expect(readdirSync(folder)).toEqual(["hosts"]);
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const own = "127.0.0.1 localhost\n";

test.each([
  ["is added", own, block("192.0.2.1 r1"), own + block("192.0.2.1 r1")],
  [
    "is replaced",
    `${own}${block("192.0.2.1 r1")}192.0.2.9 mine\n`,
    block("192.0.2.2 r2"),
    `${own}192.0.2.9 mine\n${block("192.0.2.2 r2")}`,
  ],
  ["is removed", `${own}${block("192.0.2.1 r1")}192.0.2.9 mine\n`, "", `${own}192.0.2.9 mine\n`],
  ["makes a missing file", undefined, block("192.0.2.1 r1"), block("192.0.2.1 r1")],
  ["that has lost its end takes no other lines with it", `# labwright nodes: begin\n192.0.2.9 mine\n`, "", "192.0.2.9 mine\n"],
])("the block in a node's hosts file %s", (_what, before, update, expected) => {
  expect(after(before, update)).toBe(expected);
});

test("nodes have their short name and the lab's domain; names that hide others or are no host names are left out", () => {
  const nodes = ["r1", "R1", "localhost", "ip6-allnodes", "a b", "sw"].map((name, i) => ({ id: i + 1, name }));
  const addresses = new Map([1, 2, 3, 4, 5].map((id) => [id, [`198.18.0.${id}/24`, `fd00::${id}/64`]]));
  expect(namesOf({ path: "/team/campus", name: "x", nodes: nodes as never }, addresses)).toEqual([
    { name: "r1.campus r1", address: "198.18.0.1" },
    { name: "r1.campus r1", address: "fd00::1" },
    { name: "localhost.campus", address: "198.18.0.3" },
    { name: "localhost.campus", address: "fd00::3" },
    { name: "ip6-allnodes.campus", address: "198.18.0.4" },
    { name: "ip6-allnodes.campus", address: "fd00::4" },
  ]);
});
