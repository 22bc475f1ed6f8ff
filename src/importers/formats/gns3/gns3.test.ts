import { expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { sample } from "../../samples.fixture.ts";
import { imported } from "../../testing.fixture.ts";
import { textsOf } from "./drawings.ts";
import { interfacesCommands } from "./interfaces-file.ts";

const line = (lab: ReturnType<typeof imported>, path: string) => lab.report.find((each) => each.path === path);

test("routers, VLANs, PCs, filters, a suspended link and texts of a project become a lab", () => {
  const lab = imported(sample("gns3/projects/campus"), { substitute: "frr" });
  const { lab: read, diagnostics } = readIntent(lab.yaml, lab.files);
  expect([lab.format, diagnostics]).toEqual(["gns3", []]);
  const node = (key: string) => read?.nodes.find((each) => each.key === key);
  expect(node("SW1")?.switching?.interfaces).toEqual({
    eth1: { mode: "access", vlan: 10 },
    eth2: { mode: "access", vlan: 10 },
    eth5: { mode: "access", vlan: 20 },
    eth7: { mode: "trunk" },
  });
  expect(node("PC1")).toMatchObject({ template: "pc", startupConfig: expect.stringContaining("ip 192.168.10.11/24 192.168.10.1\n") });
  expect(node("R1")?.files?.["/root/imported/startup-config"]?.text).toContain("hostname R1");
  expect(node("R1")?.labels).toEqual({ "interface-eth1": "FastEthernet0/0", "interface-eth2": "GigabitEthernet1/0" });
  expect(read?.links.find(({ key }) => key === "R1:eth2 -- R2:eth2")?.quality?.b).toEqual({ delay: 20, jitter: 5, loss: 2 });
  expect(read?.links.find(({ key }) => key === "PC4:eth0 -- R2:eth1")?.suspended).toEqual({ a: true, b: true });
  expect(read?.networks).toEqual([{ key: "Internet", name: "Internet", type: "nat", position: { x: 300, y: -200 } }]);
  expect(read?.texts).toEqual([{ text: "Campus & WAN", x: -250, y: -200 }]);
  expect(lab.missing.map(({ image, nodes }) => [image, nodes])).toEqual([["c7200-adventerprisek9-mz.152-4.M7.image", ["R1", "R2"]]]);
  expect(read?.shapes).toEqual([
    { type: "rectangle", x: -380, y: 20, width: 400, height: 150, color: "#000000", thickness: 1, fill: "#e8f4ff" },
  ]);
  expect(line(lab, "/topology/drawings/1/svg")).toMatchObject({ level: "mapped", line: 33 });
});

test("a project of version 1.3 has its nodes by number, its links by port and its notes", () => {
  const lab = imported(sample("gns3/projects/old"));
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(lab.diagnostics).toEqual([]);
  expect(read?.links.map(({ key }) => key)).toEqual(["PC1:eth0 -- SW1:eth1", "PC2:eth0 -- SW1:eth2"]);
  expect(read?.nodes[0]?.startupConfig).toBe("set pcname PC1\nip 10.1.1.1/24\n");
  expect(read?.texts).toEqual([{ text: "10.1.1.0/24", x: -40, y: 80 }]);
});

test("containers bring their files, addresses and variables along, and loss is what a dropped frame in n amounts to", () => {
  const lab = imported(sample("gns3/projects/containers"), { substitute: "frr" });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  const node = (key: string) => read?.nodes.find((each) => each.key === key);
  expect(lab.diagnostics).toEqual([]);
  expect(node("frr-1")).toMatchObject({ template: "frr", startupConfig: expect.stringContaining(" ip address 10.2.0.1/24\n") });
  expect(node("host-a")?.exec.slice(0, 2)).toEqual(["ip addr add 10.1.0.2/24 dev eth0", "ip route add default via 10.1.0.1"]);
  expect(node("host-a")?.env).toEqual({ LANG: "C.UTF-8", TZ: "UTC" });
  expect(node("fw")?.labels).toEqual({ "interface-eth0": "em0", "interface-eth1": "em1" });
  expect(read?.networks.map(({ key, type }) => [key, type])).toEqual([
    ["Cloud1", "nat"],
    ["Hub1", "bridge"],
  ]);
  expect(read?.links.find(({ key }) => key === "frr-1:eth1 -- host-b:eth0")?.quality?.a).toEqual({ loss: 5 });
  expect(imported(sample("gns3/projects/containers"), { images: { qemu: ["pfSense-CE-2.7"] } }).yaml).toContain(
    "image: pfSense-CE-2.7\n    cpu: 2\n    ram: 1024",
  );
});

test("a drawing's text is found in one pass, also without an end", () => {
  expect(textsOf('<svg><text a="b">one &lt;1&gt;</text><g><text><tspan>two</tspan></text></g><text>')).toEqual(["one <1>", "two"]);
  expect(textsOf("<text".repeat(200_000))).toEqual([]);
});

test("only static interfaces of /etc/network/interfaces give commands, whose names and addresses are checked", () => {
  const text =
    "iface eth0 inet dhcp\niface eth1 inet static\n address 10.0.0.1/30\n gateway 10.0.0.2\niface eth2;reboot inet static\n address 1.1.1.1\niface eth3 inet6 static\n address 2001:db8::1\n netmask 64\n";
  expect(interfacesCommands(text)).toEqual([
    "ip addr add 10.0.0.1/30 dev eth1",
    "ip route add default via 10.0.0.2",
    "ip addr add 2001:db8::1/64 dev eth3",
  ]);
});

test("a router of Dynamips has the configuration that its folder contains under its number", () => {
  const id = "7a3f1f5e-0000-4000-8000-000000000001";
  const router = { node_id: id, node_type: "dynamips", name: "R1", properties: { dynamips_id: 3, platform: "c3725", image: "c3725.bin" } };
  const project = JSON.stringify({ type: "topology", revision: 9, project_id: "p", name: "p", topology: { nodes: [router], links: [] } });
  const folder = `project-files/dynamips/${id}/configs`;
  const files = { "p.gns3": project, [`${folder}/i3_startup-config.cfg`]: "hostname R1\nip route 10.9.0.0 255.255.0.0 10.0.0.9\n" };
  const lab = imported({ ...files, [`${folder}/i3_private-config.cfg`]: "secret" }, { substitute: "frr", translateConfigs: true });
  expect(Object.keys(lab.files)).toEqual(["configs/R1.cfg", "configs/R1.frr.conf"]);
  expect(lab.files["configs/R1.frr.conf"]).toContain("ip route 10.9.0.0/16 10.0.0.9");
  expect(lab.report.filter(({ file }) => file !== "p.gns3").map(({ file, level }) => [file, level])).toEqual([
    [`${folder}/i3_private-config.cfg`, "dropped"],
    [`${folder}/i3_startup-config.cfg`, "mapped"],
  ]);
  const renumbered = { ...files, "p.gns3": project.replace('"dynamips_id":3', '"dynamips_id":1') };
  expect(imported(renumbered, { substitute: "frr" }).files["configs/R1.cfg"]).toContain("hostname R1");
});
