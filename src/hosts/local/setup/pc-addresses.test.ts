import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const script = readFileSync(fileURLToPath(new URL("rootfs/base/usr/lib/labwright/pc", import.meta.url)), "utf8");

/** Runs the function of template pc that reads the words behind "ip". */
function addressOf(words: string): string {
  const functions = ["prefix_length", "address_of"].map((name) => new RegExp(`^${name}\\(\\) \\{$.*?^\\}$`, "ms").exec(script)?.[0]);
  return execFileSync("sh", ["-c", `${functions.join("\n")}\naddress_of "$@"`, "sh", ...words.split(" ")], {
    encoding: "utf8",
    stdio: "pipe",
  }).trim();
}

test("template pc reads all forms of addresses that a VPCS reads and saves", () => {
  const forms = {
    "192.168.9.10 192.168.9.1 24": "192.168.9.10/24 192.168.9.1",
    "10.0.0.2 255.255.255.0 10.0.0.254": "10.0.0.2/24 10.0.0.254",
    "10.0.0.2 20 10.0.0.254": "10.0.0.2/20 10.0.0.254",
    "10.0.0.2/30 10.0.0.1": "10.0.0.2/30 10.0.0.1",
    "10.0.0.2/255.255.252.0": "10.0.0.2/22",
    "10.0.0.2 10.0.0.1": "10.0.0.2/24 10.0.0.1",
    "10.0.0.2": "10.0.0.2/24",
    "2001:db8::1": "2001:db8::1/64",
    "2001:db8::1/48 2001:db8::ff": "2001:db8::1/48 2001:db8::ff",
  };
  for (const [words, expected] of Object.entries(forms)) expect([words, addressOf(words)]).toEqual([words, expected]);
  expect(() => addressOf("10.0.0.2/x")).toThrow(/"x" is no length of a prefix and no mask/);
  expect(() => addressOf("10.0.0.2 24 10.0.0.1 eui")).toThrow(/unknown "eui"/);
});
