import { readdirSync, readFileSync } from "node:fs";
import { DOMParser } from "@xmldom/xmldom";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { packagePath } from "../files/program-path.ts";
import { arbitraryLab } from "../intent/lab/lab.arbitrary.ts";
import type { Lab } from "../intent/lab/lab.ts";
import { readKnownTemplates } from "../intent/places/known-templates.ts";
import { readIntent } from "../intent/read/read.ts";
import { graphFormats, labFormats } from "./format-names.ts";
import { exportLab, graphText } from "./formats.ts";
import { exportedKinds } from "./tools/kinds.ts";
import { exportedMachines } from "./tools/machines.ts";

function labOf(yaml: string, files: Readonly<Record<string, string>> = {}): Lab {
  const { lab, diagnostics } = readIntent(yaml, files);
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  return lab;
}

const office = labOf(
  `name: office
description: Two sites
management: {ipv4-subnet: 172.20.20.0/24}
nodes:
  r1: {template: frr, startup-config: r1.conf, position: {x: 10, y: 20}, depends-on: [h1]}
  h1: {template: linux, startup-config: "ip addr add 10.0.0.1/24 dev eth0\\n", exec: [ip link], ram: 64, mgmt-ipv4: 172.20.20.9, ssh-keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f]}
  pc1: {template: pc, startup-config: {text: ip 10.0.0.2/24}}
  sw1:
    template: switch
    switching: {interfaces: {eth1: {mode: access, vlan: 10}, eth2: {mode: trunk, native-vlan: 20}}}
  sw2: {template: switch}
networks: {lan: {type: bridge}, inet: {type: nat}}
links:
  - {endpoints: ["h1:eth0", "r1:eth0"], quality: {a: {delay: 20, loss: 1}, b: {delay: 30}}, mtu: 1400}
  - ["pc1:eth0", "sw1:eth1"]
  - ["sw1:eth2", "sw2:eth0"]
  - ["sw2:eth1", "lan"]
  - {endpoints: ["r1:eth1", "lan"], suspended: true}
  - ["r1:eth2", "inet"]
  - ["h1:eth1", "inet"]
texts: [{text: the core, x: 5, y: 6}]
`,
  { "r1.conf": "hostname r1\n" },
);

/** Returns the problems of a text as XML. */
function xmlProblems(text: string): readonly string[] {
  const problems: string[] = [];
  new DOMParser({ onError: (_level, message) => problems.push(message) }).parseFromString(text, "text/xml");
  return problems;
}

describe("containerlab", () => {
  const { files, main, notes } = exportLab(office, "containerlab");

  test("the topology has the nodes with the image and the files of their template", () => {
    // The language here has neither links between two bridges nor mgmt-net.
    const kept = ["h1:eth0 -- r1:eth0", "pc1:eth0 -- sw1:eth1", "lan -- r1:eth1"];
    const closed = { ...office, links: office.links.filter(({ key }) => kept.includes(key)) };
    const inner = exportLab(closed, "containerlab");
    const { lab } = readIntent(inner.files[main] ?? "", inner.files);
    expect(main).toBe("office.clab.yml");
    expect(files[main]).toContain('binds: ["configs/r1.conf:/etc/frr/frr.conf", "configs/daemons:/etc/frr/daemons"]');
    expect(files[main]).toContain("exec: [sh /startup-config.sh, ip link]");
    expect(files["configs/r1.conf"]).toBe("hostname r1\n");
    expect(files["configs/daemons"]).toContain("bgpd=yes");
    expect(lab?.nodes.map(({ key }) => key)).toEqual(["h1", "pc1", "r1"]);
    expect(lab?.networks.map(({ key }) => key)).toEqual(["lan", "sw1", "sw2"]);
    expect(lab?.links.map(({ key }) => key)).toEqual(["h1:eth0 -- r1:eth0", "lan -- r1:eth1", "pc1:eth0 -- sw1"]);
    expect(lab?.management).toEqual({ ipv4Subnet: "172.20.20.0/24" });
  });

  test("nodes of container templates have their kind, their startup-config and the kernel's names of interfaces", () => {
    const kindsLab = labOf(
      [
        "name: fabric",
        "nodes:",
        "  srl: {template: nokia_srlinux, startup-config: srl.cli}",
        "  json: {template: srl, image: 'ghcr.io/nokia/srlinux:24.10.1', startup-config: a.json}",
        "  leaf: {template: arista_ceos, image: 'ceos:4.32', startup-config: leaf.cfg}",
        "  xrd: {template: cisco_xrd, image: 'xrd:1'}",
        "  vm: {template: vrnetlab, image: 'vrnetlab/cisco_c8000v:17', attributes: {kind: cisco_c8000v}}",
        "  bird: {template: bird, startup-config: b.conf}",
        "links:",
        '  - ["srl:ethernet-1/3", "leaf:Et1"]',
        '  - ["xrd:Gi0/0/0/0", "vm:Gi2"]',
      ].join("\n"),
      { "srl.cli": "set / system\n", "a.json": "{}", "leaf.cfg": "hostname leaf\n", "b.conf": "router id 1.1.1.1;\n" },
    );
    const { files: made, notes: told } = exportLab(kindsLab, "containerlab");
    const { topology } = parse(made["fabric.clab.yml"]!);
    expect(topology.nodes).toEqual({
      srl: { kind: "nokia_srlinux", image: "ghcr.io/nokia/srlinux:latest", "startup-config": "configs/srl.cli" },
      json: { kind: "nokia_srlinux", image: "ghcr.io/nokia/srlinux:24.10.1", "startup-config": "configs/json.json" },
      leaf: { kind: "arista_ceos", image: "ceos:4.32", "startup-config": "configs/leaf.conf" },
      xrd: { kind: "cisco_xrd", image: "xrd:1" },
      vm: { kind: "cisco_c8000v", image: "vrnetlab/cisco_c8000v:17" },
      bird: { kind: "linux", image: "ghcr.io/srl-labs/bird:2.13", binds: ["configs/bird.conf:/etc/bird.conf"] },
    });
    expect(topology.links).toEqual([{ endpoints: ["srl:e1-3", "leaf:eth1"] }, { endpoints: ["xrd:Gi0-0-0-0", "vm:eth1"] }]);
    expect(told).toEqual([]);
  });

  test("the kinds are those of the templates for container images", () => {
    const folder = packagePath("templates/kinds");
    const texts = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8"));
    const formats = new Map(
      readKnownTemplates(texts).flatMap(({ id, also, format }) => [id, ...also].map((one) => [one, format] as const)),
    );
    expect(exportedKinds).toEqual(formats);
  });

  test("the interfaces of virtual machines are those of their templates", () => {
    const folder = packagePath("templates/vm");
    const known = readKnownTemplates([
      ...readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8")),
      readFileSync(packagePath("templates/qemu.yaml"), "utf8"),
    ]);
    const formats = known.flatMap(({ id, format }) => (id === "qemu" ? [] : [[id, format] as const]));
    expect([...exportedMachines].map(([id, { format }]) => [id, format]).sort()).toEqual(formats.sort());
  });

  test("a node that links eth0 has no management network, because containerlab's is eth0", () => {
    expect(files[main]).toMatch(/h1:\n(?: {6}.*\n)* {6}network-mode: none/);
    expect(exportLab(labOf("name: a\nnodes: {a: {template: linux}}"), "containerlab").files["a.clab.yml"]).not.toContain("network-mode");
  });

  test("impairments are commands, and everything without a place is in the notes", () => {
    expect(files["impairments.sh"]).toContain("containerlab tools netem set -n clab-office-h1 -i eth0 --delay 20ms --loss 1\n");
    expect(files["impairments.sh"]).toContain("-n clab-office-r1 -i eth1 --loss 100\n");
    expect(JSON.parse(files[`${main}.annotations.json`] ?? "").nodeAnnotations).toEqual([{ id: "r1", position: { x: 10, y: 20 } }]);
    expect(notes).toContain("containerlab has no place for ssh-keys: h1");
    expect(notes).toContain("containerlab has no place for switching: sw1");
    expect(notes.some((note) => note.startsWith("these bridges must exist on the machine") && note.endsWith("sw1, sw2, lan"))).toBe(true);
  });
});

test("EVE-NG: linked switches are one network, which keeps the name of a network among them", () => {
  const { files, notes } = exportLab(office, "unl");
  const xml = files["office.unl"] ?? "";
  expect(xmlProblems(xml)).toEqual([]);
  expect(
    [...xml.matchAll(/<network id="\d+" type="(\w+)" name="([^"]+)".* visibility="1"/g)].map(([, type, name]) => [type, name]),
  ).toEqual([
    ["nat0", "inet"],
    ["bridge", "lan"],
  ]);
  expect(xml).toContain('<interface id="0" name="eth0" type="ethernet" network_id="3" source_delay="30"/>');
  expect(xml).toContain(`<config id="3">${Buffer.from("hostname r1\n").toString("base64")}</config>`);
  expect(notes).toContain("EVE-NG has no place for mtu: h1:eth0 -- r1:eth0");
  expect(notes).toContain("EVE-NG impairs and suspends no interface of a network, only that of the node: lan -- r1:eth1");
});

test("EVE-NG: a drawing left of or above its corner moves as a whole, and the notes say so", () => {
  const lab = readIntent(
    `name: x
nodes: {a: {template: frr, position: {x: -300, y: 50}}, b: {template: frr, position: {x: 10, y: -20}}}
texts: [{text: here, x: -310, y: 0}]
shapes: [{type: line, x: -5, y: -30, x2: 5, y2: 10}]
`,
    {},
  ).lab!;
  const { files, notes } = exportLab(lab, "unl");
  const xml = files["x.unl"] ?? "";
  expect([...xml.matchAll(/left="(\d+)" top="(\d+)"/g)].map(([, left, top]) => [left, top])).toEqual([
    ["0", "70"],
    ["310", "0"],
  ]);
  const objects = [...xml.matchAll(/<data>(.*?)<\/data>/g)].map(([, data]) => Buffer.from(data ?? "", "base64").toString());
  expect(objects[0]).toContain("left:-10px;top:20px");
  expect(objects[1]).toContain("left:295px;top:-10px");
  expect(notes).toContain("the drawing is moved by 300, 20: nodes of EVE-NG have no places left of or above its corner");
});

test("GNS3: filters, VLANs, the files of nodes and a hub before a NAT with two links", () => {
  const { files, notes } = exportLab(office, "gns3");
  const { topology } = JSON.parse(files["office.gns3"] ?? "");
  const node = (name: string) => topology.nodes.find((one: { name: string }) => one.name === name);
  expect(node("sw1").properties.ports_mapping.slice(1)).toEqual([
    { name: "eth1", port_number: 1, type: "access", vlan: 10 },
    { name: "eth2", port_number: 2, type: "dot1q", vlan: 20 },
  ]);
  expect([node("inet").node_type, node("inet-nat").node_type, node("pc1").node_type]).toEqual(["ethernet_hub", "nat", "vpcs"]);
  expect(files[`project-files/vpcs/${node("pc1").node_id}/startup.vpc`]).toBe("ip 10.0.0.2/24");
  expect(files[`project-files/docker/${node("r1").node_id}/etc/frr/frr.conf`]).toBe("hostname r1\n");
  const impaired = topology.links.filter(({ filters }: { filters: object }) => Object.keys(filters).length > 0);
  expect(impaired.map(({ filters }: { filters: object }) => filters)).toEqual([{ delay: [30, 0], packet_loss: [1] }]);
  expect(topology.links.filter(({ suspend }: { suspend: boolean }) => suspend)).toHaveLength(1);
  expect(notes).toContain("GNS3 impairs both directions alike, by whole ms and percent; these links were adapted: h1:eth0 -- r1:eth0");
});

test("CML: node definitions, interfaces with slots and link conditioning", () => {
  const { files } = exportLab(office, "cml");
  const yaml = files["office.yaml"] ?? "";
  expect(yaml).toContain("node_definition: external_connector");
  expect(yaml).toContain("conditioning: {enabled: true, latency: 30, loss: 1}");
  expect(yaml).toMatch(/label: r1\n {4}node_definition: frr\n(?: {4}.*\n)* {4}configuration: \|\n {6}hostname r1\n/);
  expect(yaml).toContain("{id: i2, label: port2, slot: 2, type: physical}");
});

describe("drawings", () => {
  test("Mermaid has labels in quotes, and other ids for its own words", () => {
    const text = graphText(
      labOf('name: x\nnodes: {end: {template: frr, name: the "end"}, b: {template: linux}}\nlinks: [["end:eth1", "b:eth0"]]'),
      "mermaid",
    );
    expect(text).toContain('n_1("the #quot;end#quot;"):::frr');
    expect(text).toContain('n_1 ---|"eth1 - eth0"| b');
  });

  test("a suspended link is dashed in every drawing", () => {
    const dashed = { svg: 'class="link suspended"', mermaid: "-.-", d2: "stroke-dash", drawio: ";dashed=1", dot: 'style="dashed"' };
    for (const format of graphFormats) expect(graphText(office, format)).toContain(dashed[format]);
  });

  test("declared positions are kept", () => {
    expect(graphText(office, "dot")).toContain('"r1" [shape="ellipse", template="frr", pos="10,-20!"]');
    expect(graphText(office, "svg")).toContain('<g transform="translate(10 20)">');
  });
});

test("each lab is exported in each format, twice the same, and XML and JSON are well-formed", () => {
  fc.assert(
    fc.property(arbitraryLab(), (lab) => {
      for (const format of labFormats) {
        const exported = exportLab(lab, format);
        expect(exportLab(lab, format)).toEqual(exported);
        const text = exported.files[exported.main] ?? "";
        if (format === "gns3") expect(JSON.parse(text).topology.nodes.length).toBeGreaterThanOrEqual(lab.nodes.length);
        if (format === "unl") expect(xmlProblems(text)).toEqual([]);
        for (const path of Object.keys(exported.files)) expect(path).toMatch(/^[^/].*$/);
        for (const path of Object.keys(exported.files)) expect(path.split("/")).not.toContain("..");
      }
      for (const format of graphFormats) {
        const text = graphText(lab, format);
        if (format === "svg" || format === "drawio") expect(xmlProblems(text)).toEqual([]);
        for (const { key } of lab.nodes) if (format === "dot" || format === "d2") expect(text).toContain(`"${key}"`);
      }
    }),
    { numRuns: 30 },
  );
});

describe("shapes of the drawing", () => {
  const lab = labOf(`name: a
nodes: {r1: {template: frr, position: {x: 0, y: 0}}}
shapes:
  - {type: rectangle, x: -50, y: -40, width: 100, height: 80, color: "#2563eb80", style: dashed, fill: "#dbeafe80", layer: 4}
  - {type: ellipse, x: 300, y: 300, width: 20, height: 10, thickness: 0}
  - {type: line, x: 0, y: 0, x2: -200, y2: 50, color: red}
`);

  test("are below links and nodes in an SVG, which covers them", () => {
    const text = graphText(lab, "svg");
    expect(xmlProblems(text)).toEqual([]);
    expect(text).toContain('viewBox="-260 -100 640 470"');
    const rectangle =
      '<rect x="-50" y="-40" width="100" height="80" stroke="#2563eb" stroke-opacity="0.502" stroke-width="2" stroke-dasharray="8,6" fill="#dbeafe" fill-opacity="0.502"/>';
    expect(text.indexOf(rectangle)).toBeGreaterThan(0);
    expect(text.indexOf(rectangle)).toBeLessThan(text.indexOf("translate(0 0)"));
    expect(text).toContain('<ellipse cx="310" cy="305" rx="10" ry="5" fill="none"/>');
    expect(text).toContain('<line x1="0" y1="0" x2="-200" y2="50" stroke="#ff0000" stroke-width="2" fill="none"/>');
  });

  test("are cells of draw.io", () => {
    const text = graphText(lab, "drawio");
    expect(xmlProblems(text)).toEqual([]);
    expect(text).toContain(
      "strokeColor=#2563eb;strokeOpacity=50;strokeWidth=2;fillColor=#dbeafe;fillOpacity=50;dashed=1;fixDash=1;dashPattern=8 6",
    );
    expect(text).toContain('<mxPoint x="-200" y="50" as="targetPoint"/>');
  });

  test("have a place in every lab format", () => {
    for (const format of labFormats) expect(exportLab(lab, format).notes.filter((note) => note.includes("shapes"))).toEqual([]);
  });
});

test("containerlab has a tunnel to another machine as a link; other formats name what they lose", () => {
  const lab = labOf(
    `name: half
nodes: {h1: {template: linux}, h2: {template: linux}}
networks: {one: {vxlan: {remote: 192.0.2.7, vni: 1001}}, two: {vxlan: {remote: 192.0.2.7, vni: 1002}}}
links: [{endpoints: ["h1:eth0", one], mtu: 1450}, ["h1:eth1", two], ["h2:eth1", two]]
`,
  );
  const { main, files, notes } = exportLab(lab, "containerlab");
  const { nodes, links } = parse(files[main] ?? "").topology;
  const endpoint = { node: "h1", interface: expect.any(String) };
  expect(links[0]).toEqual({ type: "vxlan", endpoint, remote: "192.0.2.7", vni: 1001, "udp-port": 4789, mtu: 1450 });
  expect(Object.keys(nodes)).toEqual(["h1", "h2", "two"]);
  expect(notes.join("\n")).toMatch(/no place for vxlan/);
  expect(exportLab(lab, "gns3").notes.join("\n")).toMatch(/no place for vxlan/);
});
