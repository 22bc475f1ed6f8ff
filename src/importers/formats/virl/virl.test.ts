import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { imported } from "../../testing.fixture.ts";

const campus = readFileSync(new URL("./samples/campus.virl", import.meta.url));

test("nodes, interfaces, segments and places become a lab, and a configuration is carried along", () => {
  const lab = imported({ "campus.virl": campus }, { substitute: "frr" });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(read?.nodes.map(({ key, name, template }) => [key, name, template])).toEqual([
    ["core-1", "core 1", "frr"],
    ["edge", "edge", "frr"],
    ["lan", "lan", "switch"],
    ["pc", "pc", "linux"],
  ]);
  expect(read?.links.map(({ key }) => key)).toEqual([
    "core-1:eth1 -- edge:eth0",
    "core-1:eth2 -- lan:eth0",
    "lan:eth1 -- pc:eth1",
    "lan:eth2 -- out",
  ]);
  const core = read?.nodes[0];
  expect(core?.files?.["/root/imported/startup-config"]?.text).toContain("hostname core-1");
  expect(core?.labels).toEqual({ "interface-eth1": "GigabitEthernet0/1", "interface-eth2": "GigabitEthernet0/2" });
  expect(core?.position).toEqual({ x: 360, y: 130 });
});

test("an image that is there is used, and one that is not is named with its file", () => {
  const lab = imported({ "campus.virl": campus }, { images: { qemu: ["IOSv"] } });
  expect(lab.yaml).toContain("template: qemu\n    name: core 1\n    image: IOSv");
  expect(lab.missing).toEqual([
    { template: "xrv", image: "IOS XRv", vendor: "Cisco IOS XRv", file: "iosxrv-k9-demo*.qcow2", nodes: ["edge"] },
  ]);
});

test("links of a machine of known software have the names of its guest", () => {
  const lab = imported({ "campus.virl": campus }, { images: { vios: ["iosv"], xrv: ["xrv-6"] } });
  expect(lab.missing).toEqual([]);
  expect(lab.yaml).toContain("template: vios\n    name: core 1\n    image: iosv");
  expect(lab.yaml).toContain('- ["core-1:GigabitEthernet0/1", "edge:GigabitEthernet0/0/0/0"]');
});

test("annotations become shapes and texts, with the defaults of the format", () => {
  const lab = imported({ "campus.virl": campus }, { substitute: "frr" });
  const { lab: read } = readIntent(lab.yaml, lab.files);
  expect(read?.shapes).toEqual([
    { type: "rectangle", x: 300, y: 90, width: 300, height: 120, color: "#000080", style: "dashed", fill: "#eeeeff80" },
    { type: "ellipse", x: 280, y: 200, width: 160, height: 120, color: "#000000", thickness: 3, fill: "#cccccc" },
    { type: "line", x: 600, y: 90, x2: 600, y2: 300, color: "#ff0000", style: "dotted", thickness: 3 },
  ]);
  expect(read?.texts).toEqual([{ text: "Core & edge", x: 310, y: 70 }]);
});
