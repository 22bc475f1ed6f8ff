import { describe, expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { sample } from "../../samples.fixture.ts";
import { imported } from "../../testing.fixture.ts";
import { addressText, parseAddress, Subnet } from "./subnet.ts";

function topology(yaml: string) {
  const lab = imported({ "topology.yml": yaml }, { substitute: "frr" });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(lab.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return { ...lab, lab: read };
}

test("a topology gets netlab's addresses, and OSPF and BGP in configurations of FRR", () => {
  const lab = imported(sample("netlab/projects/ospf-bgp.yml"), { substitute: "frr" });
  expect([lab.format, lab.diagnostics]).toEqual(["netlab", []]);
  const r1 = lab.files["configs/r1.conf"];
  expect(r1).toContain("interface eth2\n ip address 172.20.0.11/24\n ip ospf area 0\n ip ospf cost 5\n ip ospf passive\n");
  expect(r1).toContain("interface eth3\n ip address 10.9.0.4/31\n ip ospf area 0\n ip ospf network point-to-point\n ip ospf cost 100\n");
  expect(r1).toContain(" neighbor 10.255.0.1 remote-as 65000\n neighbor 10.255.0.1 update-source lo\n");
  expect(lab.files["configs/r2.conf"]).toContain("interface eth2\n ip address 10.9.0.2/31\n!\n");
  expect(lab.files["configs/x1.conf"]).toMatch(
    /ip route 192.0.2.0\/24 blackhole\nrouter bgp 65100\n(?:.*\n)* neighbor 10.9.0.2 remote-as 65000\n/,
  );
  expect(lab.yaml).toContain("h1: {template: linux, exec: [ip addr add 172.20.0.3/24 dev eth1, ip route add default via 172.20.0.11]}");
  expect(lab.yaml).toContain("quality: {delay: 10, loss: 0.5}");
  expect(lab.report.find(({ path }) => path === "/module/2")).toMatchObject({ level: "dropped", line: 7 });
  expect(lab.missing).toEqual([
    { template: "arista_ceos", image: "ceos:4.32.0F", vendor: "Arista cEOS", file: "cEOS64-lab-*.tar.xz", nodes: ["r1"] },
    { template: "arista_ceos", image: "ceos:latest", vendor: "Arista cEOS", file: "cEOS64-lab-*.tar.xz", nodes: ["r2", "x1"] },
  ]);
});

test("the snapshot of netlab keeps the addresses that netlab has chosen", () => {
  const lab = imported(sample("netlab/projects/snapshot.yml"));
  expect([lab.format, lab.diagnostics]).toEqual(["netlab", []]);
  expect(lab.files["configs/r2.conf"]).toContain("interface eth2\n ip address 172.16.0.2/24\n");
  expect(lab.yaml).toContain("ip addr add 172.16.0.3/24 dev eth1, ip route add default via 172.16.0.2");
});

test("nodes as a list, a LAN of three and a stub become networks, and an MTU is kept", () => {
  const { lab } = topology(Buffer.from(sample("netlab/projects/lan.yml")["lan.yml"] ?? "").toString());
  expect(lab?.networks.map(({ key }) => key)).toEqual(["lan1", "lan3"]);
  expect(lab?.links.find(({ key }) => key === "h2:eth1 -- s1:eth2")?.mtu).toBe(1400);
});

describe("links", () => {
  test.each<[string, string, readonly string[]]>([
    ["texts with spaces", "- r1 - r2", ["r1:eth1 -- r2:eth1"]],
    ["names with hyphens", "- r-1-r2", ["r-1:eth1 -- r2:eth1"]],
    ["lists", "- [r1, r2]", ["r1:eth1 -- r2:eth1"]],
    ["maps by node", "- {r1: {ospf.cost: 3}, r2: , name: a}", ["r1:eth1 -- r2:eth1"]],
    ["interfaces as names", "- {interfaces: [r1, r2]}", ["r1:eth1 -- r2:eth1"]],
    ["interfaces as maps", "- {interfaces: [{node: r1}, {node: r2}]}", ["r1:eth1 -- r2:eth1"]],
    ["by group", "  g1: [r1-r2]\n  g2: r2-r3", ["r1:eth1 -- r2:eth1", "r2:eth2 -- r3:eth1"]],
    ["a chain of three as a LAN", "- r1-r2-r3", ["lan1 -- r1:eth1", "lan1 -- r2:eth1", "lan1 -- r3:eth1"]],
    ["a node with itself", "- {interfaces: [r1, r1]}", ["lan1 -- r1:eth1", "lan1 -- r1:eth2"]],
    ["disabled ones", "- {r1: , r2: , disable: true}\n- r2-r3", ["r2:eth1 -- r3:eth1"]],
    ["no tunnels", "- {r1: , r2: , type: tunnel}\n- r1-r2", ["r1:eth1 -- r2:eth1"]],
    ["single nodes", "[r1, r1-r2]", ["lan1 -- r1:eth1", "r1:eth2 -- r2:eth1"]],
    ["unknown nodes", "- r1-r9\n- r2-r3", ["r2:eth1 -- r3:eth1"]],
  ])("%s", (_name, links, keys) => {
    const { lab } = topology(
      `provider: clab\ndefaults.device: frr\nnodes: [r1, r2, r3, r-1]\nlinks:${links.startsWith("[") ? " " : "\n"}${links}\n`,
    );
    expect(lab?.links.map(({ key }) => key)).toEqual(keys);
  });

  test("prefixes of a link, of a pool, of a name, and none", () => {
    const { files } = topology(`provider: clab
defaults.device: frr
nodes: [r1, r2]
prefix: {dmz: {ipv4: 192.0.2.0/24}}
addressing.core: {ipv4: 10.77.0.0/16, ipv6: "2001:db8::/48", prefix: 30}
links:
- {r1: , r2: , prefix: 198.51.100.0/24}
- {r1: , r2: , pool: core}
- {r1: , r2: , prefix: dmz}
- {r1: , r2: , prefix: false}
- {r1: {ipv4: 203.0.113.5/29}, r2: {ipv4: 3}, prefix: 203.0.113.0/29}
`);
    expect(files["configs/r2.conf"]?.match(/ address .*/g)).toEqual([
      " address 10.0.0.2/32",
      " address 198.51.100.2/24",
      " address 10.77.0.2/30",
      " address 2001:db8::2/64",
      " address 192.0.2.2/24",
      " address 203.0.113.3/29",
    ]);
    expect(files["configs/r1.conf"]).toContain("interface eth4\n!\ninterface eth5\n ip address 203.0.113.5/29\n");
  });
});

test("groups give devices and modules, also groups of groups, and create their members", () => {
  const { lab, files } = topology(`provider: clab
groups:
  all: {members: [edge, core], device: frr}
  edge: {_auto_create: true, members: [a, b], module: [isis]}
  core: [c]
nodes: {c: {device: frr, module: [isis, vlan]}}
links: [a-c, b-c]
`);
  expect(lab?.nodes.map(({ key, template }) => [key, template])).toEqual([
    ["a", "frr"],
    ["b", "frr"],
    ["c", "frr"],
  ]);
  expect(files["configs/c.conf"]).toContain("router isis lab\n net 49.0001.0000.0000.0001.00\n");
});

test("addresses are parsed and written in their shortest form", () => {
  expect(Subnet.parse("2001:db8:0:1::5/64")?.host(17n)).toBe("2001:db8:0:1::11/64");
  expect(Subnet.parse("10.0.0.0/30")?.host(4n)).toBeUndefined();
  expect(Subnet.parse("10.0.0.0/8")?.child(24, 300n)?.text).toBe("10.1.44.0/24");
  expect(addressText(0n, 128)).toBe("::");
  for (const wrong of ["1.2.3", "256.0.0.1", "::1::", "1:2:3", "10.0.0.0/33", "x"]) expect(parseAddress(wrong)).toBeUndefined();
});

test("components, aggregated links and the fabric of its plugin become nodes and links", () => {
  const { lab } = topology(`provider: clab
defaults.device: frr
groups: {_auto_create: true, hosts: {members: [h1, h2], device: linux}}
components:
  pod: {nodes: {s1: {include: rack}, c: }, links: [s1_leaf-c]}
  rack: {nodes: [leaf, srv], links: [leaf-srv]}
nodes: {p1: {include: pod}}
plugin: [fabric]
fabric: {spines: 1, leafs: 2, leaf.name: "l{count}"}
links:
- lag: {members: [h1-h2, h1-h2]}
- h1-l1
`);
  expect(lab?.nodes.map(({ key }) => key)).toEqual(["S1", "h1", "h2", "l1", "l2", "p1_c", "p1_s1_leaf", "p1_s1_srv"]);
  expect(lab?.links.map(({ key }) => key)).toEqual([
    "S1:eth1 -- l1:eth1",
    "S1:eth2 -- l2:eth1",
    "h1:eth1 -- h2:eth1",
    "h1:eth2 -- h2:eth2",
    "h1:eth3 -- l1:eth2",
    "p1_c:eth1 -- p1_s1_leaf:eth2",
    "p1_s1_leaf:eth1 -- p1_s1_srv:eth1",
  ]);
});

test("the sides of a fabric are groups, and its nodes and links come first, as netlab numbers them", () => {
  const { lab, report } = topology(`defaults.device: frr
plugin: [fabric]
fabric: {spines: 1, leafs: 2, spine.group: core}
bgp.as: 65000
groups:
  leafs: {module: [ospf, bgp]}
  core: {module: [ospf, bgp], bgp.rr: true}
nodes: {h1: {device: linux}, L2: {ospf.area: 7}}
links: [h1-L1]
`);
  expect(lab?.links.map(({ key }) => key)).toEqual(["L1:eth1 -- S1:eth1", "L1:eth2 -- h1:eth1", "L2:eth1 -- S1:eth2"]);
  const configs = Object.fromEntries((lab?.nodes ?? []).map(({ key, startupConfig }) => [key, startupConfig ?? ""]));
  expect(configs["L1"]).toContain("ip address 10.0.0.1/32");
  expect(configs["S1"]).toContain("ip address 10.0.0.3/32");
  expect(configs["S1"]).toContain("route-reflector-client");
  expect(configs["L2"]).toContain("ip ospf area 7");
  for (const name of ["L1", "L2", "S1"]) expect(configs[name]).toMatch(/^router bgp 65000$/m);
  expect(report.filter(({ level, path }) => level === "dropped" && path.startsWith("/groups"))).toEqual([]);
});

test("keys with dots, qualities with units and defaults of modules are read", () => {
  const { lab, files, report } = topology(`provider: clab
defaults.device: frr
defaults.ospf.area: 0.0.0.7
module: [ospf]
nodes: [r1, r2]
links:
- {r1: , r2: , prefix.ipv4: 198.51.100.0/24, prefix.ipv6: "2001:db8:1::/64", tc.delay: 10, tc.rate: 2M}
- {r1: , r2: , tc: {delay: 1.5s, jitter: 500us, loss: 1%}}
- {r1: , r2: , tc.delay: soon}
`);
  expect(files["configs/r1.conf"]).toContain(
    "interface eth1\n ip address 198.51.100.1/24\n ipv6 address 2001:db8:1::1/64\n ip ospf area 0.0.0.7\n",
  );
  expect(lab?.links.map(({ quality }) => quality?.a)).toEqual([
    { delay: 10, bandwidth: 2000 },
    { delay: 1500, jitter: 0.5, loss: 1 },
    undefined,
  ]);
  expect(report.filter(({ level }) => level === "dropped").map(({ path }) => path)).toEqual(["/links/2/tc.delay"]);
});

test("OSPF and IS-IS do not run between autonomous systems, unless the link has a role of its own", () => {
  const text = (role: string) =>
    `module: [ospf, isis, bgp]\nnodes: {a: {bgp.as: 65000}, b: {bgp.as: 65000}, x: {bgp.as: 65100}}\nlinks:\n- a-b\n- {a: , x: ${role}}\n`;
  const inside = " ip ospf area 0\n ip ospf network point-to-point\n ip router isis lab\n isis network point-to-point\n!\n";
  const a = topology(text("")).files["configs/a.conf"];
  expect(a).toContain(`interface eth1\n ip address 10.1.0.1/30\n${inside}`);
  expect(a).toMatch(/interface eth2\n ip address 10\.1\.0\.5\/30\n!\n/);
  expect(topology(text(", role: internal")).files["configs/a.conf"]).toMatch(/interface eth2\n ip address \S+\n ip ospf area 0\n/);
  expect(topology(text(", role: external")).files["configs/a.conf"]).toMatch(/interface eth2\n ip address \S+\n!\n/);
});

test("modules of groups and settings of an end are reported one by one", () => {
  const { report } = topology(
    "groups: {pe: {members: [a], module: [ospf, vrf]}}\nnodes: {a: , b: , c: }\nlinks:\n- {a: , b: {isolated: true}, c: {}}\n",
  );
  const lines = report.map(({ level, path, message }) => `${level} ${path}: ${message}`);
  expect(lines).toContain("mapped /groups/pe/module/0: in the configurations of template frr");
  expect(lines).toContain("dropped /groups/pe/module/1: the module vrf is not configured: netlab create makes its configurations");
  expect(lines).toContain("dropped /links/0/b/isolated: has no counterpart here");
  expect(lines.filter((line) => line.startsWith("dropped /links/0/b:"))).toEqual([]);
});

test("pools and fabrics may be written with dots", () => {
  const { yaml, files } = topology(
    "nodes: {a: , b: }\nmodule: [bgp]\nbgp.as_list: {1: {members: [a]}, 2: {members: [b]}}\naddressing.isp.ipv4: 169.254.9.0/24\naddressing.isp.prefix: 30\nlinks:\n- {a: , b: , pool: isp}\n",
  );
  expect(yaml).toContain('["a:eth1", "b:eth1"]');
  expect(files["configs/a.conf"]).toMatch(/ip address 169\.254\.9\.1\/30[\s\S]*neighbor 169\.254\.9\.2 remote-as 2/);
  const fabric = topology("plugin: [fabric]\nfabric.spines: 2\nfabric.leafs: 2\n").yaml;
  expect(fabric.match(/"[LS]\d:eth\d", "[LS]\d:eth\d"/g)).toHaveLength(4);
});

test("hosts at access ports of one VLAN share its network, which no address of the switch is in", () => {
  const { yaml, files } = topology(
    `vlans: {red: {id: 10, links: [s-h4]}, blue: {prefix: 10.9.9.0/24}}
module: [vlan]
nodes: {h1: {device: linux}, h2: {device: linux}, h3: {device: linux}, s: , h4: {device: linux}}
links:
- {s: , h1: , vlan.access: red}
- {s: {vlan: {access: red}}, h2: }
- {s: , h3: , vlan: {access: blue}}
- {s: , h3: }
`,
  );
  expect(yaml.match(/ip addr add \S+/g)).toEqual([
    "ip addr add 172.16.0.1/24",
    "ip addr add 172.16.0.2/24",
    "ip addr add 10.9.9.3/24",
    "ip addr add 172.16.1.3/24",
    "ip addr add 172.16.0.5/24",
  ]);
  expect(files["configs/s.conf"]?.match(/ip address \S+/g)).toEqual(["ip address 10.0.0.4/32", "ip address 172.16.1.4/24"]);
});

test("a prefix with a name and a pool is one network for all links that name it", () => {
  const { files } = topology("prefix: {p: {pool: lan}}\nnodes: {a: , b: }\nlinks:\n- {a: , prefix: p}\n- {b: , prefix: p}\n");
  expect(files["configs/a.conf"]).toContain("ip address 172.16.0.1/24");
  expect(files["configs/b.conf"]).toContain("ip address 172.16.0.2/24");
});

test("software that gets no configuration here does not claim one in the report", () => {
  const text =
    "module: [ospf]\nbgp.as: 65000\ndefaults.devices.eos.image: ceos:4.33\nprovider: clab\nnodes: {a: {device: srlinux}, b: {device: eos, module: [isis]}}\nlinks: [a-b]\n";
  const { yaml, report } = imported({ "topology.yml": text });
  expect(yaml).toContain("template: nokia_srlinux");
  expect(yaml).toContain('b: {template: arista_ceos, image: "ceos:4.33"}');
  expect(report.filter(({ level, message }) => level === "mapped" && message.includes("template frr"))).toEqual([]);
  // Also without a provider, whose default has no such software.
  const virtual = imported({ "topology.yml": text.replace("provider: clab\n", "") }).yaml;
  expect(virtual).toMatch(/a:\s+template: nokia_srlinux/);
  expect(virtual).toContain('["a:e1-1", "b:eth1"]');
});
