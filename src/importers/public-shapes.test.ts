import { expect, test } from "vitest";
import { readIntent } from "../intent/read/read.ts";
import { imported, shortReport } from "./testing.fixture.ts";

// Forms that public lab files have, each in a lab of its own.

const noErrors = ({ diagnostics }: ReturnType<typeof imported>) => diagnostics.filter(({ severity }) => severity === "error");

test("a lab.conf with line ends of Windows, in Windows-1252, is read", () => {
  const text = Buffer.from('LAB_DESCRIPTION="Pr\xe1ctica"\r\nr1[0]="A" # a comment\r\npc1[0] = "A"\r\n', "latin1");
  const lab = imported({ "lab.conf": text }, { substitute: "frr" });
  expect([lab.format, noErrors(lab)]).toEqual(["kathara", []]);
  expect(lab.yaml).toContain("description: Práctica");
  expect(lab.yaml).toContain('["r1:eth0", "pc1:eth0"]');
});

test("bytes with control characters are no text in Windows-1252", () => {
  expect(() => imported({ "lab.conf": Buffer.from("r1[0]=A\n\x01\xff", "latin1") })).toThrow("the file is neither text");
});

test("a device whose settings all are dropped is not dropped itself", () => {
  const lab = imported({ "lab.conf": 'r1[image]="kathara/base"\nr1[ipv6]=false\nr2[0]=A\n' });
  expect(shortReport(lab)).toEqual(["dropped /r1/image", "dropped /r1/ipv6", "mapped /r2/0"]);
  const clab = imported({ "a.clab.yml": "topology:\n  nodes:\n    r1: {config: {vars: {a: 1}}}\n" });
  expect(shortReport(clab)).toEqual(["dropped /topology/nodes/r1/config"]);
});

test("topologies of old versions of containerlab have addresses with underscores; without mgmt, the usual network is the management network", () => {
  const node = (key: string, address: string) => `topology:\n  nodes:\n    r1: {kind: linux, image: x, ${key}: ${address}}\n`;
  const old = imported({ "a.yml": `mgmt: {ipv4_subnet: 10.9.0.0/24}\n${node("mgmt_ipv4", "10.9.0.7")}` });
  expect(old.yaml).toContain("mgmt-ipv4: 10.9.0.7");
  const usual = imported({ "a.yml": node("mgmt-ipv4", "172.20.20.9") });
  expect(usual.yaml).toContain("ipv4-subnet: 172.20.20.0/24");
  expect([usual.yaml.includes("mgmt-ipv4: 172.20.20.9"), noErrors(usual), noErrors(old)]).toEqual([true, [], []]);
  expect(imported({ "a.yml": node("mgmt-ipv4", "10.9.0.7") }).yaml).not.toContain("management");
});

test("a topology that is a template of Go is refused with the next step", () => {
  const text = "name: a\ntopology:\n  nodes:\n    r1: {kind: linux}\n{{- if .more }}\n    r2: {kind: linux}\n{{- end }}\n";
  expect(() => imported({ "a.clab.yml": text })).toThrow("template of Go");
});

const old = (topology: object) => JSON.stringify({ name: "p", project_id: "1", revision: 3, type: "topology", version: "1.4.6", topology });

test("a router of GNS3 1.3 without a type is found by its description", () => {
  const r1 = { id: 1, description: "Router c7200", x: 1, y: 2, properties: { name: "R1", image: "c7200.image", platform: "c7200" } };
  const lab = imported({ "p.gns3": old({ nodes: [r1] }) }, { substitute: "frr" });
  expect(lab.yaml).toMatch(/R1: \{template: frr/);
});

test("rectangles and ellipses of GNS3 1.x become shapes", () => {
  const nodes = [{ id: 1, type: "VPCSDevice", x: 1, y: 2, properties: { name: "PC1" } }];
  const shape = { x: 10, y: 20.5, width: 200, height: 100, z: -1 };
  const rectangles = [
    { ...shape, color: "#ffaaff7f", border_width: 3 },
    { ...shape, rotation: 45 },
  ];
  const lab = imported({ "p.gns3": old({ nodes, rectangles, ellipses: [shape] }) });
  expect(noErrors(lab)).toEqual([]);
  expect(lab.yaml).toMatch(/type: rectangle[^}]*?width: 200[^}]*?fill: "#aaff7f"/);
  expect(lab.yaml).toMatch(/type: ellipse, x: 10, y: 21, width: 200/);
  expect(shortReport(lab).filter((line) => line.includes("/rectangles/1"))).toContain("mapped /topology/rectangles/1/rotation");
});

test("devices and autonomous systems of a netlab fabric are those of its sides", () => {
  const lab = imported({
    "topology.yml":
      'defaults.device: frr\nmodule: [bgp]\nplugin: [fabric]\nfabric:\n  spines: 1\n  leafs: 2\n  spine.bgp.as: 65100\n  leaf.name: l{count}\n  leaf.bgp.as: "{65000 + count}"\n',
  });
  expect(Object.entries(lab.files).map(([path, text]) => [path, /router bgp (\d+)/.exec(text)?.[1]])).toEqual([
    ["configs/S1.conf", "65100"],
    ["configs/l1.conf", "65001"],
    ["configs/l2.conf", "65002"],
  ]);
  expect(shortReport(lab).filter((line) => line.startsWith("dropped"))).toEqual([]);
});

test("flowcharts have labels of several lines, ids of edges, and texts in edges with two heads", () => {
  const text =
    'flowchart LR\n  r1["Router 1\n10.0.0.1"] e1@--> r2\n  e1@{ animate: true }\n  r2 <-- to the hosts / all --> pc1\n  fw1[/"Firewall"/] --- r2\n';
  const lab = imported({ "a.mmd": text });
  expect([...lab.yaml.matchAll(/^ {2}(\w+): \{template/gm)].map(([, name]) => name)).toEqual(["r1", "r2", "pc1", "fw1"]);
  expect(lab.yaml).toContain("label: Router 1 10.0.0.1");
  expect(lab.yaml).toContain("label: Firewall}");
  expect(lab.yaml.match(/^ {2}- \[/gm)).toHaveLength(3);
});

test("containerlab: wait-for without stages is an order of starts, macvtap a way out, and a node without fields is in the lab", () => {
  const topology = `name: old
topology:
  nodes:
    a: {}
    b: {kind: linux, wait-for: [a, nobody]}
  links: [{endpoints: ["a:eth1", "b:eth1"]}, {endpoints: ["b:eth2", "macvtap:enp4s0"]}]
`;
  const lab = imported({ "old.clab.yml": topology });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(lab.yaml).toMatch(/^ {2}b: .*depends-on: (?:\{a: running\}|\[a\])/m);
  expect(read?.networks.map(({ key, type }) => [key, type])).toEqual([["enp4s0", "nat"]]);
  const levels = new Map(lab.report.map(({ path, level }) => [path, level]));
  expect(["/topology/nodes/a", "/topology/nodes/b/wait-for/0", "/topology/nodes/b/wait-for/1"].map((path) => levels.get(path))).toEqual([
    "kept",
    "mapped",
    "dropped",
  ]);
});

test("netlab: nodes and ends of links without fields are in the lab, also as empty maps", () => {
  const { report } = imported({ "t.yml": "defaults.device: frr\nnodes: {r1: {}, r2: }\nlinks: [{r1: {}, r2: }]\n" });
  expect(report.filter(({ level }) => level === "dropped")).toEqual([]);
});

test("the daemons of containerlab's kind frr are those of its container; what the template does not have is told", () => {
  const topology = (daemons: string) => `name: daemons
topology:
  groups: {routers: {kind: frr, image: "quay.io/frrouting/frr:10.5.1", extras: {frr: {daemons: ${daemons}}}}}
  nodes: {r1: {group: routers}, r2: {group: routers}}
  links: [{endpoints: ["r1:eth1", "r2:eth1"]}]
`;
  const lab = imported({ "daemons.clab.yml": topology("[ospfd, zebra, pimd, sharpd]") });
  expect(readIntent(lab.yaml, lab.files).lab?.nodes.map(({ template, attributes }) => [template, attributes])).toEqual([
    ["frr-container", { daemons: "ospfd pimd" }],
    ["frr-container", { daemons: "ospfd pimd" }],
  ]);
  const lines = (result: typeof lab) =>
    result.report.filter(({ path }) => path.includes("daemons/")).map(({ level, message }) => [level, message]);
  expect(lines(lab)).toEqual([
    ["mapped", "in the attribute daemons"],
    ["mapped", "it always runs"],
    ["mapped", "in the attribute daemons"],
    ["dropped", "template frr-container has no such daemon"],
  ]);
  const standIn = imported({ "daemons.clab.yml": topology("[ospfd]") }, { substitute: "frr" });
  expect(standIn.yaml).not.toContain("daemons:");
  expect(standIn.report).toContainEqual(
    expect.objectContaining({ level: "dropped", message: "template frr starts the daemons that its configuration uses" }),
  );
});

test("kinds of containerlab have the template of their software, its startup-config and their names of interfaces", () => {
  const topology = `name: kinds
topology:
  nodes:
    leaf: {kind: nokia_srlinux, image: "ghcr.io/nokia/srlinux:24.10", startup-config: leaf.cli, license: lic.key}
    spine: {kind: ceos, image: "ceos:4.32.0F", startup-config: spine.cfg}
    core: {kind: cisco_xrd, image: "xrd:24"}
    bird: {kind: linux, image: "ghcr.io/srl-labs/bird:2.13", binds: ["bird.conf:/etc/bird.conf"]}
  links:
    - endpoints: ["leaf:e1-49", "spine:eth3"]
    - endpoints: ["leaf:ethernet-1/2", "core:Gi0-0-0-1"]
    - endpoints: ["core:Gi0/0/0/2", "bird:eth1"]
`;
  const files = {
    "kinds.clab.yml": topology,
    "leaf.cli": "set / system\n",
    "lic.key": "a licence\n",
    "spine.cfg": "hostname spine\n",
    "bird.conf": "protocol device {}\n",
  };
  const lab = imported(files);
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(read?.nodes.map(({ key, template, image, startupConfig }) => [key, template, image, startupConfig])).toEqual([
    ["bird", "bird", "ghcr.io/srl-labs/bird:2.13", undefined],
    ["core", "cisco_xrd", "xrd:24", undefined],
    ["leaf", "nokia_srlinux", "ghcr.io/nokia/srlinux:24.10", "set / system\n"],
    ["spine", "arista_ceos", "ceos:4.32.0F", "hostname spine\n"],
  ]);
  expect(read?.nodes[0]?.files?.["/etc/bird.conf"]?.text).toBe("protocol device {}\n");
  expect(read?.nodes[2]?.files?.["/opt/srlinux/etc/license.key"]?.text).toBe("a licence\n");
  for (const ends of ['["leaf:e1-49", "spine:eth3"]', '["leaf:ethernet-1/2", "core:Gi0-0-0-1"]', '["core:Gi0/0/0/2", "bird:eth1"]'])
    expect(lab.yaml).toContain(ends);
  expect(lab.missing.map(({ template, file }) => [template, file]).sort()).toEqual([
    ["arista_ceos", "cEOS64-lab-*.tar.xz"],
    ["bird", undefined],
    ["cisco_xrd", "xrd-control-plane-container-x64.dockerv1*.tgz"],
    ["nokia_srlinux", undefined],
  ]);
  expect(imported(files, { substitute: "frr" }).yaml).toContain("template: frr");
});
