import { expect, test } from "vitest";
import { templateTexts } from "../../files/template-texts.ts";
import { shippedMachines, shippedMapping } from "../testing.fixture.ts";
import { chooseTemplate } from "./choose-template.ts";

test.each([
  ["gns3", "dynamips router c3725", "c3725.bin", /emulator of its own.*--substitute/],
  ["gns3", "iou router", "i86bi-linux-l3.bin", /emulator of its own/],
  ["eve", "iol", "i86bi-linux-l2.bin", /emulator of its own/],
  ["eve", "c7200", "c7200.image", /emulator of its own/],
  ["cml", "ioll2-xe", undefined, /emulator of its own/],
  ["netlab", "iol", undefined, /made from vios.*labwright image add FILE$/],
  [
    "eve",
    "vios",
    "vios-15",
    /is template vios; it needs the image vios-15, made from vios-adventerprisek9-m\*.qcow2.*labwright image add FILE$/,
  ],
  ["eve", "isrv", "isrv-17", /template qemu; .*labwright image add FILE --name isrv-17$/],
  ["containerlab", "linux", "alpine:3", /alpine:3, which was not looked for: it is pulled from its registry before the first start$/],
  ["containerlab", "ceos", "ceos:4.32", /labwright image add FILE --name ceos:4.32$/],
])("the report of %s names how a node of type %s gets its image", (tool, type, image, message) => {
  expect(chooseTemplate({ mapping: shippedMapping, machineOf: shippedMachines }, tool, type, image).message).toMatch(message);
});

const options = { mapping: shippedMapping, machineOf: shippedMachines };

test("a node of known software has its own image, or else the one of the software that is there, or its name and file are reported", () => {
  const choose = (images: Readonly<Record<string, readonly string[]>>, more = {}) =>
    chooseTemplate({ ...options, images, ...more }, "eve", "vios", "vios-15.6");
  expect(choose({ vios: ["vios-15.6", "vios-15.9"] })).toMatchObject({ template: "vios", image: "vios-15.6" });
  const other = choose({ vios: ["vios-15.9"], qemu: ["vios-15.9"] });
  expect(other).toMatchObject({
    template: "vios",
    message: expect.stringContaining("the first image of it that was added; vios-15.6 is not there"),
  });
  expect([other.image, other.missing]).toEqual([undefined, undefined]);
  expect(choose({ vios: [], qemu: ["vios-15.6"] })).toMatchObject({ template: "qemu", image: "vios-15.6", machine: { id: "qemu" } });
  const none = choose({ vios: [] });
  expect(none.image).toBeUndefined();
  expect(none.missing).toEqual({ template: "vios", image: "vios-15.6", vendor: "Cisco vIOS", file: "vios-adventerprisek9-m*.qcow2" });
  expect(choose({ vios: [] }, { substitute: "frr" })).toMatchObject({ template: "frr", isStandIn: true });
  // A host without the template.
  expect(choose({}, { machineOf: () => undefined, substitute: "frr" })).toMatchObject({ template: "frr", isStandIn: true });
});

test("a node of containerlab has the image that vrnetlab made of its software, if it is there", () => {
  const choose = (images: Readonly<Record<string, readonly string[]>>) =>
    chooseTemplate({ ...options, images }, "containerlab", "cisco_vios", "vrnetlab/cisco_vios:15.9");
  expect(choose({ vrnetlab: ["vrnetlab/cisco_vios:15.9"], vios: ["vios-15"] })).toMatchObject({
    template: "vrnetlab",
    image: "vrnetlab/cisco_vios:15.9",
  });
  expect(choose({ vrnetlab: ["vrnetlab/cisco_c8000v:17"], vios: ["vios-15"] })).toMatchObject({ template: "vios" });
});

test("the tables name the first file that templates of software have, and only templates that ship", async () => {
  const texts = await templateTexts();
  const files = new Map(texts.map((text) => [/^id: (.*)$/m.exec(text)?.[1], /^ {2}files: \["([^"]+)"/m.exec(text)?.[1]]));
  for (const rule of Object.values(shippedMapping).flat()) {
    if (rule.template === undefined) continue;
    expect(files.has(rule.template), rule.template).toBe(true);
    const file = files.get(rule.template);
    if (file !== undefined) expect([rule.template, rule.file]).toEqual([rule.template, file]);
  }
});

test.each([
  ["cisco_iol", "vrnetlab/cisco_iol:L2-17.12.01", "switch"],
  ["cisco_iol", "vrnetlab/cisco_iol:17.12.01", "frr"],
  ["veesix_osvbng", "veesixnetworks/osvbng:v0.3.1", "frr"],
])("kind %s with image %s has template %s as its stand-in", (type, image, template) => {
  expect(chooseTemplate({ ...options, substitute: "frr" }, "containerlab", type, image)).toMatchObject({ template, isStandIn: true });
});

test.each([
  ["vmxvfp-fpc0", "vmx-vfp"],
  ["vmxvcp-re1", "vmx-vcp"],
  ["timos-ng", "sros"],
  ["csr1000vng", "csr1000v"],
])("template %s of EVE-NG is template %s", (type, template) => {
  expect(chooseTemplate(options, "eve", type, `${type}-1`)).toMatchObject({ template });
});

test("a switch of Huawei has a switch as its stand-in", () => {
  expect(chooseTemplate({ ...options, substitute: "frr" }, "eve", "huaweice6800", "huaweice6800-ce6800").template).toBe("switch");
});
