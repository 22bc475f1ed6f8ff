import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { readXml } from "../../../formats/xml/xml.ts";
import { anyUnlLab } from "./unl.arbitrary.ts";
import { readUnl, type UnlLab, writeUnl } from "./unl.ts";
import { guessedInterfaceAttributes } from "./unl-attributes.ts";

const demo = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<lab name="demo" id="7f1c0b0e-6a0b-4a53-9b7e-0d7d3a6d2c11" version="1" scripttimeout="300" lock="0" author="me" countdown="5">
  <description>two routers &amp; one PC</description>
  <body>free text</body>
  <topology>
    <nodes>
      <node id="1" name="R1" type="qemu" template="vios" image="vios-15.6" console="telnet" cpu="1" cpulimit="1" ram="1024" ethernet="4"
            uuid="0b4f0c5e-8c0f-4ef5-9a55-3c1d8f2c9a01" qemu_options="-machine type=pc,accel=kvm" qemu_version="2.4.0" qemu_arch="x86_64"
            qemu_nic="e1000" delay="0" icon="Router.png" config="1" left="300" top="25%" sat="2">
        <interface id="0" name="Gi0/0" type="ethernet" network_id="1" color="#3e7089" source_delay="10"/>
      </node>
      <node id="2" name="SW" type="iol" template="iol" image="i86bi.bin" ethernet="1" nvram="1024" ram="256" serial="1" delay="0"
            icon="Switch.png" config="0" left="500" top="200">
        <interface id="0" name="e0/0" type="ethernet" network_id="1"/>
        <interface id="1" name="s1/0" type="serial" remote_id="3" remote_if="1"/>
      </node>
      <node id="3" name="R3" type="dynamips" template="c3725"><slot id="1" module="NM-4T"/></node>
    </nodes>
    <networks><network id="1" type="bridge" name="R1-SW" left="400" top="150" visibility="0"/></networks>
  </topology>
  <objects><textobjects><textobject id="1" name="t1" type="text"><data>PGRpdj5oaTwvZGl2Pg==</data></textobject></textobjects></objects>
  <objects>
    <pictures><picture id="1" name="map" type="image/png" width="640" height="480"><data>aGk=</data><map>&lt;area&gt;</map></picture></pictures>
    <configs><config id="1">aG9zdG5hbWUgUjEK</config></configs>
    <configsets><set name="alt"/></configsets>
  </objects>
  <tasks><task id="7">do  it</task></tasks>
</lab>
`;

describe("a file", () => {
  const lab = readUnl(demo);

  test("gives nodes, interfaces, slots and networks with typed attributes", () => {
    expect(lab).toMatchObject({ name: "demo", lock: 0, scripttimeout: 300, version: "1", description: "two routers & one PC" });
    expect(lab.nodes[0]).toMatchObject({ id: 1, template: "vios", ram: 1024, config: "1", left: 300 });
    expect(lab.nodes[0]?.interfaces).toEqual([
      { id: 0, name: "Gi0/0", type: "ethernet", network_id: 1, source_delay: 10, otherAttributes: [["color", "#3e7089"]] },
    ]);
    expect(lab.nodes[1]?.interfaces[1]).toEqual({ id: 1, name: "s1/0", type: "serial", remote_id: 3, remote_if: 1 });
    expect(lab.nodes[2]?.slots).toEqual([{ id: 1, module: "NM-4T" }]);
    expect(lab.networks).toEqual([{ id: 1, type: "bridge", name: "R1-SW", left: 400, top: 150, visibility: 0 }]);
  });

  test("gives what several objects elements have as one", () => {
    expect(lab.textObjects).toEqual([{ id: 1, name: "t1", type: "text", data: "PGRpdj5oaTwvZGl2Pg==" }]);
    expect(lab.pictures).toEqual([{ id: 1, name: "map", type: "image/png", width: 640, height: 480, data: "aGk=", map: "<area>" }]);
    expect(lab.configs).toEqual([{ id: 1, text: "hostname R1\n" }]);
  });

  test("keeps what is not known, and values that are not of their type", () => {
    expect(lab.otherAttributes).toEqual([["countdown", "5"]]);
    expect(lab.nodes[0]?.otherAttributes).toEqual([
      ["top", "25%"],
      ["sat", "2"],
    ]);
    expect(lab.otherElements).toEqual([
      { name: "tasks", attributes: [], children: [{ name: "task", attributes: [["id", "7"]], children: ["do  it"] }] },
    ]);
    expect(lab.containers?.objects?.otherElements).toEqual([
      { name: "configsets", attributes: [], children: [{ name: "set", attributes: [["name", "alt"]], children: [] }] },
    ]);
  });

  test("reads the same after it was written", () => {
    expect(readUnl(writeUnl(lab))).toEqual(lab);
    expect(writeUnl(readUnl(writeUnl(lab)))).toBe(writeUnl(lab));
  });

  test("has the value that was given, not the one that could not be read", () => {
    const changed = { ...lab, nodes: lab.nodes.map((node) => ({ ...node, top: 7 })) };
    expect(readUnl(writeUnl(changed)).nodes[0]).toMatchObject({ top: 7, otherAttributes: [["sat", "2"]] });
  });
});

test("any lab reads back the same after it was written", () => {
  fc.assert(
    fc.property(anyUnlLab, (lab) => {
      expect(readUnl(writeUnl(lab))).toEqual(lab);
    }),
    { numRuns: 100 },
  );
});

test("an empty lab has no topology and no objects", () => {
  const lab: UnlLab = { name: "empty", nodes: [], networks: [], textObjects: [], pictures: [], configs: [] };
  expect(writeUnl(lab)).toBe('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<lab name="empty"/>\n');
  expect(readUnl(writeUnl(lab))).toEqual(lab);
});

test("guessed attributes are known by name", () => {
  expect(guessedInterfaceAttributes).toHaveLength(10);
});

describe("refused", () => {
  const laughs = `<!DOCTYPE lab [<!ENTITY a "ha"><!ENTITY b "${"&a;".repeat(20)}">]><lab name="&b;"/>`;
  const outside = `<!doctype lab [<!ENTITY a SYSTEM "file:///etc/hostname">]><lab>&a;</lab>`;
  const attributes = Array.from({ length: 300 }, (_, index) => ` a${index}=">"`).join("");
  const deep = `${"<a>".repeat(100)}${"</a>".repeat(100)}`;

  test.each([
    ["a document type with entities", laughs, /document type/],
    ["a document type with an external entity", outside, /document type/],
    ["an entity that nobody declared", "<lab>&a;</lab>", /entity/],
    ["elements nested without end", `<lab>${deep}</lab>`, /nested deeper/],
    [
      "a giant startup config",
      `<lab><objects><configs><config id="1">${"QUFB".repeat(600_000)}</config></configs></objects></lab>`,
      /2400000 characters in base64/,
    ],
    ["elements without number", `<lab>${"<a/>".repeat(1_000_000)}</lab>`, /more than 20000 elements/],
    ["attributes without number", `<lab><a${attributes}/></lab>`, /more than 200 attributes/],
    ["a comment without an end", "<lab><!-- <a/></lab>", /"-->" is missing/],
    ["a tag without an end", '<lab><a b="c>"', /a tag does not end/],
    ["a tag that is not closed", "<lab><topology></lab>", /cannot be read/],
    ["an attribute without quotes", "<lab name=x/>", /cannot be read/],
    ["an attribute twice", '<lab name="a" name="b"/>', /cannot be read/],
    ["two roots", "<lab/><lab/>", /cannot be read/],
    ["nothing", "", /cannot be read/],
    ["another root", "<clab/>", /root element is clab/],
    ["a control character", "<lab>\u0001</lab>", /U\+0001/],
    ["a node without an id", "<lab><topology><nodes><node name='x'/></nodes></topology></lab>", /node "?.*has the id .* not a number/],
  ])("%s", (_what, text, message) => {
    expect(() => readUnl(text)).toThrow(Failure);
    expect(() => readUnl(text)).toThrow(message);
  });

  test("a text that XML cannot carry, in writing", () => {
    const lab: UnlLab = { name: "a\0b", nodes: [], networks: [], textObjects: [], pictures: [], configs: [] };
    expect(() => writeUnl(lab)).toThrow(/U\+0000/);
  });
});

test("signs in comments, CDATA and values do not count as elements", () => {
  const signs = "<a><".repeat(30_000);
  const read = readXml(`<?xml version="1.0"?><lab><!-- ${signs} --><b c="/>"/><d><![CDATA[${signs}]]></d></lab>`);
  expect(read.children).toMatchObject([
    { name: "b", attributes: [["c", "/>"]] },
    { name: "d", children: [signs] },
  ]);
});

test("indentation is not text, text is", () => {
  expect(readXml("<a>\n  <b> </b>\n  <c>x <d/> y</c>\n</a>").children).toEqual([
    { name: "b", attributes: [], children: [" "] },
    { name: "c", attributes: [], children: ["x ", { name: "d", attributes: [], children: [] }, " y"] },
  ]);
});
