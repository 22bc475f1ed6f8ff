import fc from "fast-check";
import { expect, test } from "vitest";
import { interfaceAddress, networkOf } from "../../addresses/interface-address.ts";
import { placeOfName, placeOfPair } from "../../addresses/stable-place.ts";
import { editIntent } from "../../edit/edit.ts";
import { arbitraryLab } from "../../lab/lab.arbitrary.ts";
import type { Lab, LabNode } from "../../lab/lab.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const triangle = `name: triangle
addressing: true   # usual pools
nodes:
  r{1..3}: {template: frr}
  h1: {template: linux, exec: [ip link show]}
  h2: {template: linux}
  sw1: {template: switch}
links:
  - full-mesh: r{1..3}   # the core
  - r1-h1
  - [r2:eth5, sw1:eth1]
  - [h2:eth1, sw1:eth2]
`;

function read(yaml: string): Lab {
  const { lab, diagnostics } = readIntent(yaml);
  expect(diagnostics).toEqual([]);
  const { inherited: _inherited, ...structure } = lab as Lab;
  return structure;
}

const problems = (yaml: string) => readIntent(yaml).diagnostics.map(({ code, line, message, hint }) => ({ code, line, message, hint }));
const nodeOf = ({ nodes }: Lab, key: string) => nodes.find((node) => node.key === key) as LabNode;

/** Returns node → addresses in the order of interfaces, without the names of interfaces, which follow the order of links. */
function addressesOf(lab: Lab): ReadonlyMap<string, readonly string[]> {
  return new Map(
    lab.nodes.map(({ key, startupConfig = "", exec }) => {
      const texts = [startupConfig, ...exec].join("\n").matchAll(/(?:ip|ipv6) addr(?:ess)?(?: add)? (\S+\/\d+)/g);
      return [key, [...texts].map(([, address = ""]) => address).sort()];
    }),
  );
}

test("routers, hosts and links get addresses of the usual pools; hosts get a route to their router", () => {
  const lab = read(triangle);
  const addresses = addressesOf(lab);
  const network = (text = "") => networkOf(interfaceAddress(text)!);
  // The places of names are a part of the language: other ones would change the addresses of all labs.
  expect(addresses.get("r1")).toEqual(["10.255.25.111/32", "10.29.39.196/31", "10.29.39.200/31", "10.9.151.39/31"]);
  expect(nodeOf(lab, "r1").startupConfig).toMatch(
    /^interface lo\n ip address 10\.255\.\d+\.\d+\/32\nexit\n!\ninterface eth1\n ip address 10\.\d+\.\d+\.\d+\/31\nexit\n/,
  );
  expect(nodeOf(lab, "h1").exec).toEqual([
    expect.stringMatching(/^ip addr add 10\.\d+\.\d+\.\d+\/31 dev eth1$/),
    expect.stringMatching(/^ip route add default via 10\./),
    "ip link show",
  ]);
  const [own] = addresses.get("h2") ?? [];
  expect(own).toMatch(/\/22$/);
  expect(addresses.get("r2")?.some((one) => one.endsWith("/22") && network(one).address === network(own).address)).toBe(true);
  expect(addresses.get("sw1")).toEqual([]);
});

test("an address does not change if nodes and links are added, removed or reordered", () => {
  const names = ["r1", "r2", "r3", "core", "leaf1", "leaf2", "h1", "h2"];
  const pairs = names.flatMap((a, index) => names.slice(0, index).map((b) => `${b}-${a}`));
  const text = (nodes: readonly string[], links: readonly string[]) =>
    [
      "name: x",
      "addressing: true",
      "nodes:",
      ...nodes.map((node) => `  ${node}: {template: ${node.startsWith("h") ? "linux" : "frr"}, exec: ["ip route show default"]}`),
      "links:",
      ...links.map((link) => `  - ${link}`),
    ].join("\n");
  const all = addressesOf(read(text(names, pairs)));
  fc.assert(
    fc.property(fc.shuffledSubarray(names, { minLength: 2 }), fc.shuffledSubarray(pairs), (nodes, links) => {
      const some = links.filter((link) => link.split("-").every((node) => nodes.includes(node)));
      for (const [node, addresses] of addressesOf(read(text(nodes, some)))) {
        for (const address of addresses) expect(all.get(node)).toContain(address);
      }
    }),
    { numRuns: 25 },
  );
});

test("names that differ in their number, and the pairs of such names, never have the same place", () => {
  const numbers = Array.from({ length: 40 }, (_, index) => index + 1);
  const places = new Set(numbers.map((number) => placeOfName(`r${number}`, 64n)));
  expect(places.size).toBe(40);
  const mesh = numbers.slice(0, 12).flatMap((a) => numbers.slice(0, a - 1).map((b) => placeOfPair(`r${a}`, `r${b}`, 128n)));
  expect(new Set(mesh).size).toBe(66);
  const clos = numbers.slice(0, 9).flatMap((a) => numbers.slice(0, 4).map((b) => placeOfPair(`leaf${a}`, `spine${b}`, 128n)));
  expect(new Set(clos).size).toBe(36);
  expect(placeOfPair("leaf1", "spine2", 4096n)).toBe(placeOfPair("spine2", "leaf1", 4096n));
});

test("a written address wins over the pools, and the other end of its link gets an address of its network", () => {
  const lab = read(`name: x
addressing: {p2p: {ipv4: 10.0.0.0/16, prefix: 30, ipv6: "fd00:1::/64"}, loopback: {ipv6: "fd00:ff::/64"}}
nodes:
  r1: {template: frr, addresses: {lo: 10.255.0.1/32, eth1: 192.0.2.2/30}}
  r2: {template: frr}
  h1: {template: linux, addresses: {eth1: []}}
links: [r1-r2, r2-h1]
`);
  const addresses = addressesOf(lab);
  expect(addresses.get("r1")).toEqual([
    "10.255.0.1/32",
    "192.0.2.2/30",
    expect.stringMatching(/^fd00:1::.*\/127$/),
    expect.stringMatching(/^fd00:ff::.*\/128$/),
  ]);
  expect(addresses.get("r2")).toContain("192.0.2.1/30");
  expect(addresses.get("h1")).toEqual([]);
});

test("an address in a node's own configuration or commands counts as written", () => {
  const lab = read(`name: x
addressing: {p2p: {ipv4: 10.0.0.0/16}}
nodes:
  r1:
    template: frr
    startup-config: |
      frr defaults datacenter
      interface eth1
       ip address 192.0.2.1/31
      exit
  h1: {template: linux, exec: ["ip addr add 192.0.2.10/24 dev eth1"]}
  h2: {template: linux}
  r2: {template: frr}
links: [r1-r2, h1-h2]
`);
  expect(nodeOf(lab, "r1").startupConfig).toBe("frr defaults datacenter\ninterface eth1\n ip address 192.0.2.1/31\nexit\n");
  expect(addressesOf(lab).get("r2")).toEqual(["192.0.2.0/31"]);
  expect(nodeOf(lab, "h1").exec).toEqual(["ip addr add 192.0.2.10/24 dev eth1"]);
  expect(addressesOf(lab).get("h2")).toEqual(["192.0.2.2/24"]);
});

test("generated text is behind the first lines of a node's configuration and in front of the others", () => {
  const lab = read(`name: x
nodes:
  r1:
    template: frr
    addresses: {lo: 10.0.0.1/32}
    startup-config: |
      frr defaults datacenter
      !
      router ospf
       passive-interface default
`);
  expect(nodeOf(lab, "r1").startupConfig).toBe(
    "frr defaults datacenter\n!\ninterface lo\n ip address 10.0.0.1/32\nexit\n!\nrouter ospf\n passive-interface default\n",
  );
});

test("equal places, equal addresses and small pools are errors with the next step", () => {
  const small = (range: string) => `name: x
addressing:
  loopback: {ipv4: ${range}}
nodes:
  a: {template: frr}
  b: {template: frr}
  c: {template: frr}
`;
  expect(problems(small("10.0.0.0/31"))).toEqual([
    {
      code: "pool_exhausted",
      line: 3,
      message: "the pool loopback, 10.0.0.0/31, has 2 addresses: the lab needs 3",
      hint: "write a range with a shorter prefix",
    },
  ]);
  const crowded = Array.from({ length: 16 }, (_, n) => `  n${String.fromCharCode(97 + n)}: {template: frr}`).join("\n");
  const [first] = problems(`name: x\naddressing: {loopback: {ipv4: 10.0.0.0/27}}\nnodes:\n${crowded}\n`);
  expect(first).toMatchObject({
    code: "address_conflict",
    message: expect.stringMatching(/^node n[a-p] cannot have 10\.0\.0\.\d+\/32: node n[a-p] has the same place in its pool$/),
  });
  expect(first?.hint).toMatch(/^write an address at node n[a-p]: addresses: \{lo: "10\.0\.0\.\d+\/32"\}$/);
  const same = `name: x
addressing: {p2p: {ipv4: 10.0.0.0/31}}
nodes:
  r1: {template: frr}
  r2: {template: frr}
  r3: {template: frr, addresses: {lo: 10.0.0.1/32}}
links:
  - r1-r2
`;
  expect(problems(same)).toEqual([
    {
      code: "address_conflict",
      line: 8,
      message: "link r1:eth1 -- r2:eth1 cannot have 10.0.0.0/31: node r3 has 10.0.0.1/32 already",
      hint: 'write an address at node r1: addresses: {eth1: "ADDRESS/LENGTH"}',
    },
  ]);
});

test("each written network is kept free of the pools", () => {
  const yaml = `name: x
addressing: {p2p: {ipv4: 10.0.0.0/30}}
nodes:
  r{1..2}: {template: frr}
  r3: {template: frr, addresses: {eth1: [192.0.2.1/30]}}
  r4: {template: frr, addresses: {eth1: 10.0.0.1/30}}
links: [r1-r2, r3-r4]
`;
  expect(problems(yaml)).toMatchObject([
    {
      code: "address_conflict",
      line: 7,
      message: expect.stringMatching(
        /^link r1:eth1 -- r2:eth1 cannot have 10\.0\.0\.[02]\/31: link r3:eth1 -- r4:eth1 has 10\.0\.0\.0\/30 already$/,
      ),
    },
  ]);
});

test("wrong pools and addresses are errors at their line", () => {
  const lines = (yaml: string) => problems(yaml).map(({ code, line }) => `${line} ${code}`);
  const pools = `name: x
addressing:
  p2p: {ipv4: 10.0.0.1/16, prefix6: 64}
  lan: {ipv4: 10.1.0.0/16, prefix: 8}
  loopback: {ipv4: 127.0.0.0/24, ipv6: 10.0.0.0/8}
nodes:
  r1: {template: frr, addresses: {lo: 10.0.0.1, eth1: 10.9.0.0/24}}
`;
  expect(lines(pools)).toEqual([
    "3 invalid_value",
    "3 invalid_value",
    "4 invalid_value",
    "5 invalid_value",
    "5 invalid_value",
    "7 invalid_value",
    "7 invalid_value",
  ]);
  const both = problems("name: x\naddressing: {p2p: {ipv4: 10.0.0.0/8}, lan: {ipv4: 10.1.0.0/16}}\n");
  expect(both[0]?.message).toBe('"ipv4": 10.1.0.0/16 overlaps the pool p2p, 10.0.0.0/8');
  const nodes = `name: x
nodes:
  r1: {template: frr, addresses: {eth2: 10.0.0.1/24}}
  h1: {template: pc, addresses: {eth0: 10.0.0.1/24}}
links: [["r1:eth1", "h1:eth0"]]
`;
  expect(lines(nodes)).toEqual(["3 unknown_interface", "4 invalid_value"]);
  const twice = `name: x
nodes:
  h1: {template: linux, addresses: {eth1: 10.0.0.1/24}}
  h2: {template: linux, addresses: {eth1: 10.0.0.1/24}}
links: [h1-h2]
`;
  expect(problems(twice)).toMatchObject([
    { code: "address_conflict", line: 5, message: "link h1:eth1 -- h2:eth1: h1 and h2 have the same address, 10.0.0.1" },
  ]);
});

test("a printed lab has the addresses as commands and configurations", () => {
  const lab = read(triangle);
  const { yaml } = printLab(lab);
  expect(yaml).not.toContain("addressing");
  expect(read(yaml)).toEqual(lab);
});

test("an edit changes the text around addresses, and does not write them", () => {
  const lab = read(triangle);
  const nodes = lab.nodes.map((node) => (node.key === "h1" ? { ...node, exec: [...node.exec, "uptime"], ram: 64 } : node));
  expect(editIntent(triangle, {}, { ...lab, nodes }).yaml).toBe(
    triangle.replace("exec: [ip link show]", "exec: [ip link show, uptime], ram: 64"),
  );
  const added: LabNode = { ...nodeOf(lab, "h1"), key: "h9", name: "h9" };
  const copied = editIntent(triangle, {}, { ...lab, nodes: [...lab.nodes, added] }).yaml;
  expect(copied).toContain("h9: {template: linux, exec: [ip link show]}");
  const config = `${nodeOf(lab, "r1").startupConfig}ip route 10.1.0.0/16 blackhole\n`;
  const saved = lab.nodes.map((node) => (node.key === "r1" ? { ...node, startupConfig: config } : node));
  const text = editIntent(triangle, {}, { ...lab, nodes: saved }).yaml;
  expect(text).toContain("ip route 10.1.0.0/16 blackhole");
  expect(text).not.toContain("ip address");
  expect(nodeOf(read(text), "r1").startupConfig).toBe(config);
});

test("an edit of a generated address is refused with its source", () => {
  const lab = read(triangle);
  const without = lab.nodes.map((node) => (node.key === "h2" ? { ...node, exec: [] } : node));
  expect(() => editIntent(triangle, {}, { ...lab, nodes: without })).toThrow(
    /line 2: node h2: addressing makes the part of its commands that would change/,
  );
  const config = (nodeOf(lab, "r1").startupConfig ?? "").replace("ip address 10.255", "ip address 10.254");
  const other = lab.nodes.map((node) => (node.key === "r1" ? { ...node, startupConfig: config } : node));
  expect(() => editIntent(triangle, {}, { ...lab, nodes: other })).toThrow(
    /line 2: node r1: addressing makes the part of its startup-config that would change/,
  );
});

test("a lab with addressing and routing prints as the lab that it stands for, and an edit to that lab changes nothing", () => {
  fc.assert(
    fc.property(
      arbitraryLab(),
      fc.constantFrom("{ospf: true}", "{isis: true, bgp: true}", "{ospf: true, bgp: {as: 1}}"),
      (plain, routing) => {
        const printed = printLab(plain);
        const text = `addressing: true\nrouting: ${routing}\n${printed.yaml}`;
        const { lab, diagnostics } = readIntent(text, printed.files);
        expect(diagnostics.filter(({ code }) => !["address_conflict", "invalid_value"].includes(code))).toEqual([]);
        if (lab === undefined) return;
        const again = printLab(lab);
        const { inherited: _inherited, ...structure } = lab;
        expect(readIntent(again.yaml, again.files).lab).toEqual(structure);
        expect(editIntent(text, printed.files, lab).yaml).toBe(text);
      },
    ),
    { numRuns: 50 },
  );
});
