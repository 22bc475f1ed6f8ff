import { expect, test } from "vitest";
import { findImages } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import { checkConfigs } from "./check-configs.ts";
import { commandHint } from "./command-hints.ts";

const image = (await findImages(localPaths(process.env, process.getuid!()).images)).find(({ name }) => name === "frr")!;

test("wrong lines of several configurations are found by one check, each in its own configuration and with FRR's words", async () => {
  const wrong = `interface eth1
 ip adress 10.0.0.1/24
!
rotuer ospf
exit
exit
router ospf
 network 10.0.0.0/8
 network 10.0.0.0/33 area 0
${"x".repeat(5000)}
`;
  const right =
    "hostname r2\nrouter bgp 65000\n neighbor 10.0.0.1 remote-as 65001\nmpls ldp\n router-id 10.0.0.1\n address-family ipv4\n  interface eth0\n exit-address-family\nip route 10.0.0.0/8 blackhole\n";
  // `output file` is a command of vtysh: it must not write, and not disturb the lists behind the hints.
  const secret = "output file /tmp/x\nlist\nrouter bgp 65000\n neighbor 10.0.0.1 pasword GEHEIM\n neighbor 10.0.0.1 password GEHEIM more";
  const [first, second, third, again] = await checkConfigs(image, [wrong, right, secret, wrong], "ann");
  expect(first).toEqual([
    { line: 2, column: 5, problem: expect.stringContaining("does not know"), hint: 'did you mean "address"?' },
    { line: 4, column: 1, problem: expect.stringContaining("does not know"), hint: 'did you mean "router"?' },
    { line: 8, problem: expect.stringContaining("not complete"), hint: "expected here: area" },
    { line: 9, column: 10, problem: expect.stringContaining("does not know"), hint: "expected here: A.B.C.D/M" },
    { line: 10, problem: expect.stringContaining("4000 bytes") },
  ]);
  expect(second).toEqual([]);
  expect(third).toMatchObject([
    { line: 4, hint: 'did you mean "password"?' },
    { line: 5, column: 36 },
  ]);
  expect(JSON.stringify(third)).not.toContain("GEHEIM");
  expect(again).toEqual(first);
});

test.each([
  [" ip address 10.0.0.1", 3, "expected here: A.B.C.D/M, the address with its prefix length, such as /24"],
  [" ip address 10.0.0.1 255.255.254.0", 3, "expected here: A.B.C.D/M, the address with its prefix length instead of a mask: /23"],
  [" ip address 10.0.0.1 paer 10.0.0.2/32", 3, 'did you mean "peer"?'],
  [" ipv6 address 2001:db8::1", 3, "expected here: X:X::X:X/M, the address with its prefix length, such as /64"],
])(
  "the hint for %j, in a configuration without unknown lines, is the missing prefix length or the misspelt word",
  async (line, at, hint) => {
    const [found] = await checkConfigs(image, [`hostname r1\ninterface eth1\n${line}\nrouter ospf\n network 10.0.0.0/24 area 0\n`], "ann");
    expect(found).toEqual([{ line: at, column: expect.any(Number), problem: expect.any(String), hint }]);
  },
);

test.each(["neighbor 10.0.0.2 remote-as", "ip route 10.0.0.0/8", "hostname", "interface", "router isis", "access-list 1 permit"])(
  "the incomplete command %j is reported at its line, also as the only mistake",
  async (line) => {
    const [found, right] = await checkConfigs(image, [`router bgp 65000\n ${line}\nrouter ospf\n`, "router ospf\n"], "ann");
    expect(found).toMatchObject([{ line: 2, problem: expect.stringContaining("not complete") }]);
    expect(right).toEqual([]);
  },
);

test("an interface after OSPFv3 is a section of its own", async () => {
  const text = (end: string) => `router ospf6\n ospf6 router-id 1.1.1.1\n${end}!\ninterface eth1\n ipv6 ospf6 area 0\n descripton x\n`;
  const [exited, plain] = await checkConfigs(image, [text("exit\n"), text("")], "ann");
  expect([exited, plain]).toMatchObject([[{ line: 7, hint: 'did you mean "description"?' }], [{ line: 6 }]]);
});

test("a configuration is checked without privileges: also abbreviated commands of vtysh write no file", async () => {
  const [found] = await checkConfigs(image, ["outpu file /etc/labwright-was-here\nlis\n"], "ann");
  expect(found).toEqual([]);
  const { access } = await import("node:fs/promises");
  await expect(access(`${image.rootfs}/etc/labwright-was-here`)).rejects.toThrow("ENOENT");
});

test.each([
  ["ip ospf cots 10", ["ip ospf cost (1-65535) [A.B.C.D]", "ip ospf area <A.B.C.D|(0-4294967295)>"], 2, 'did you mean "cost"?'],
  ["ip ospf cost 70000", ["ip ospf cost (1-65535) [A.B.C.D]"], 3, "expected here: (1-65535)"],
  ["no shutdwon", ["[no] shutdown"], 1, 'did you mean "shutdown"?'],
  ["completely other", ["[no] shutdown"], 0, undefined],
])("the hint for %j is FRR's word at the place where the line goes wrong", (line, commands, word, hint) => {
  expect(commandHint(line.split(" "), commands)).toEqual({ word, ...(hint === undefined ? {} : { hint }) });
});
