import { expect, test } from "vitest";
import { mayLeadTo, scopeOf } from "./address-scope.ts";

test.each([
  ["127.0.0.1", "loopback"],
  ["::1", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["10.1.2.3", "private"],
  ["192.168.0.1", "private"],
  ["fd12::1", "private"],
  ["169.254.169.254", "special"],
  ["::ffff:169.254.169.254", "special"],
  ["fe80::1%eth0", "special"],
  ["0.0.0.0", "special"],
  ["64:ff9b::a9fe:a9fe", "special"],
  ["fd00:ec2::254", "special"],
  ["224.0.0.1", "special"],
  ["93.184.216.34", "public"],
  ["2606:2800::1", "public"],
])("the address %s is %s", (address, scope) => {
  expect(scopeOf(address)).toBe(scope);
});

test("a registry leads only outwards, and never to a special address", () => {
  const targets = ["169.254.169.254", "127.0.0.1", "10.0.0.1", "93.184.216.34"];
  const led = (from: "public" | "private" | "loopback") => targets.filter((address) => mayLeadTo(from, address));
  expect(led("public")).toEqual(["93.184.216.34"]);
  expect(led("private")).toEqual(["10.0.0.1", "93.184.216.34"]);
  expect(led("loopback")).toEqual(["127.0.0.1", "10.0.0.1", "93.184.216.34"]);
});
