import { expect, test } from "vitest";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const read = (management: string, addresses: readonly string[] = []) => {
  const nodes = addresses.map((address, i) => `  h${i}: {template: linux, mgmt-ipv4: ${address}}\n`).join("");
  return readIntent(`name: x\n${management}\nnodes:\n  h: {template: linux}\n${nodes}`);
};
const problems = (management: string, addresses: readonly string[] = []) =>
  read(management, addresses).diagnostics.map(({ severity, code, message }) => `${severity} ${code}: ${message}`);

test("a lab has a management network if it asks for one, in the notation of containerlab too", () => {
  const found = ["", "management: false", "management: true", "management: {}", "management: {ipv4-subnet: auto}", "mgmt: true"].map(
    (text) => read(text).lab?.management,
  );
  expect(found).toEqual([undefined, undefined, {}, {}, {}, {}]);
  for (const key of ["management", "mgmt"])
    expect(read(`${key}: {ipv4-subnet: 172.20.20.0/24}`).lab?.management).toEqual({ ipv4Subnet: "172.20.20.0/24" });
  expect(problems("mgmt: {network: a, ipv6-gw: 'fd00::1'}").map((text) => text.slice(0, 30))).toEqual([
    'warning ignored_key: "network"',
    'warning ignored_key: "ipv6-gw"',
  ]);
  expect(problems("management: true\nmgmt: true")).toEqual([
    'error duplicate_key: "management" and "mgmt" mean the same: write one of them',
  ]);
});

test("a network has a prefix length from 16 to 29, and no reserved addresses", () => {
  const bad = ["10.0.0.0/8", "10.0.0.0/30", "10.0.0.1/24", "10.0.0.0", "10.0.0.256/24", "nonsense"];
  for (const subnet of bad) expect(problems(`management: {ipv4-subnet: ${subnet}}`)[0]).toContain("prefix length from 16 to 29");
  for (const subnet of ["127.0.0.0/24", "0.1.0.0/16", "169.254.0.0/16", "224.0.0.0/24", "255.255.255.0/24"])
    expect(problems(`management: {ipv4-subnet: ${subnet}}`)).toEqual([`error invalid_value: "ipv4-subnet": ${subnet} is reserved`]);
  for (const subnet of ["10.0.0.0/16", "10.0.0.248/29", "198.18.4.0/22"])
    expect(problems(`management: {ipv4-subnet: ${subnet}}`)).toEqual([]);
  expect(problems("management: 5")[0]).toContain("it must be true, false or a map");
});

test("an address of a node is in the network, its own, and not the machine's", () => {
  const network = "management: {ipv4-subnet: 10.0.0.0/29}";
  const { lab } = read(network, ["10.0.0.2", "10.0.0.6"]);
  expect(lab?.nodes.map(({ mgmtIpv4 }) => mgmtIpv4)).toEqual([undefined, "10.0.0.2", "10.0.0.6"]);
  expect(readIntent(printLab(lab!).yaml).lab).toEqual(lab);
  for (const address of ["10.0.0.0", "10.0.0.7", "10.0.1.2"])
    expect(problems(network, [address])).toEqual([
      `error invalid_value: ${address} is not an address of a node in 10.0.0.0/29: it has 10.0.0.2 to 10.0.0.6`,
    ]);
  expect(problems(network, ["10.0.0.1"])[0]).toContain("is the machine's address");
  expect(problems(network, ["10.0.0.2", "10.0.0.2"])).toEqual(["error invalid_value: node h0 has the address 10.0.0.2 too"]);
  expect(problems(network, ["10.0.0.2/29"])[0]).toContain("is not an IPv4 address");
  expect(problems("management: true", ["10.0.0.2"])).toEqual(["error invalid_value: an address needs the network that it is in"]);
});

test("IPv6 has rules of its own", () => {
  const of = (subnet: string, ...addresses: readonly string[]) => {
    const nodes = addresses.map((address, i) => `  h${i}: {template: linux, mgmt-ipv6: "${address}"}\n`).join("");
    return readIntent(`name: x\nmanagement: {ipv6-subnet: "${subnet}"}\nnodes:\n  h: {template: linux}\n${nodes}`);
  };
  const messages = (...given: readonly [string, ...string[]]) => of(...given).diagnostics.map(({ message }) => message);
  const { lab } = of("FD00:0::/64", "fd00::0a", "fd00:0:0:0:ff::");
  expect(lab?.management).toEqual({ ipv6Subnet: "fd00::/64" });
  expect(lab?.nodes.map(({ mgmtIpv6 }) => mgmtIpv6)).toEqual([undefined, "fd00::a", "fd00::ff:0:0:0"]);
  expect(readIntent(printLab(lab!).yaml).lab).toEqual(lab);
  expect(of("auto").lab?.management).toEqual({ ipv6Subnet: "auto" });
  expect(messages("fd00::/48")[0]).toContain("prefix length from 64 to 96");
  for (const subnet of ["::/64", "fe80::/64", "ff02::/64"]) expect(messages(subnet)[0]).toContain("is reserved");
  for (const address of ["fd00::", "fd00:0:0:1::5"])
    expect(messages("fd00::/64", address)[0]).toContain("is not an address of a node in fd00::/64");
  expect(messages("fd00::/64", "fd00::1")[0]).toContain("is the machine's address");
  expect(messages("fd00::/64", "fd00::5", "fd00:0::5")).toEqual(["node h0 has the address fd00::5 too"]);
  expect(messages("auto", "fd00::5")).toEqual(["an address needs the network that it is in"]);
  expect(messages("fd00::/64", "10.0.0.1")[0]).toContain("is not an IPv6 address");
});

test("an address without a management network has no effect, and a warning names it", () => {
  expect(problems("", ["10.0.0.2"])).toEqual(['warning ignored_key: "mgmt-ipv4" has no effect: the lab has no management network']);
  expect(read("", ["10.0.0.2"]).lab?.nodes.map((node) => "mgmtIpv4" in node)).toEqual([false, false]);
});
