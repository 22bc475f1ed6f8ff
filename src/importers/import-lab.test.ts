import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { packagePath } from "../files/program-path.ts";
import { importers } from "./importers.ts";
import { readMapping } from "./mapping/read-mapping.ts";
import { imported, silentLeaves, sourceOf } from "./testing.fixture.ts";

const formats = packagePath("src/importers/formats");
/** Every file below the samples folders. */
const samples = readdirSync(formats, { recursive: true, encoding: "utf8" })
  .filter((path) => path.includes("/samples/") && statSync(join(formats, path)).isFile())
  .filter((path) => !path.includes("/beside/"))
  .sort();

/** A lab of a sample, with everything in its folder. */
function sample(path: string): Readonly<Record<string, Buffer>> {
  const folder = join(formats, path, "..");
  const besides = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((each) => each.startsWith("beside/"));
  const files = [path.slice(path.lastIndexOf("/") + 1), ...besides].filter((each) => statSync(join(folder, each)).isFile());
  return Object.fromEntries(files.map((each) => [each.replace(/^beside\//, ""), readFileSync(join(folder, each))]));
}

const only = (error: unknown): string => {
  if (error instanceof Failure && error.code === "invalid_source") return error.message;
  throw error;
};

function outcome(files: Readonly<Record<string, string | Uint8Array>>, format?: string): string {
  try {
    return imported(files, { ...(format !== undefined && { format }) }).format;
  } catch (error) {
    return only(error);
  }
}

describe.each(samples)("%s", (path) => {
  const files = sample(path);
  const main = path.slice(path.lastIndexOf("/") + 1);
  const format = path.split("/")[0] ?? "";

  test("is found by its content alone, and makes a valid lab with and without stand-ins", () => {
    for (const substitute of [undefined, "frr", "linux"] as const) {
      const { [main]: bytes = Buffer.alloc(0), ...beside } = files;
      const lab = imported({ "some-file": bytes, ...beside }, { path: "some-file", ...(substitute && { substitute }) });
      expect(lab.format).toBe(format);
      expect(lab.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(lab.diagnostics.map(({ code }) => code)).not.toContain("ignored_key");
    }
  });

  test("has a report that covers each leaf of the source with exactly one line", () => {
    const lab = imported(files, { substitute: "frr" });
    const source = sourceOf(files);
    const reported = [...new Set(lab.report.map(({ file }) => file))];
    expect(reported).toContain(main);
    for (const file of reported) {
      const text = source.text(file)?.trimStart() ?? "";
      const tree = source.treeIf(file, text.startsWith("<") ? "xml" : text.startsWith("{") ? "json" : "yaml");
      if (tree !== undefined) expect(silentLeaves(lab.report, file, tree), file).toEqual([]);
    }
    expect(lab.report.every(({ line, message }) => line > 0 && message !== "")).toBe(true);
  });

  test("damaged at any place, is refused with the one error or makes a valid lab", () => {
    const text = files[main]?.toString("utf8") ?? "";
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(40),
        fc.constantFrom("", "{", "&a [*a]", "\0", "]]>", '"', "\n  - x: y\n", "<a>", "null", "-1"),
        (at, cut, put) => {
          outcome({ ...files, [main]: `${text.slice(0, at)}${put}${text.slice(at + cut)}` }, format);
        },
      ),
      { numRuns: 30 },
    );
  });
});

test("any bytes as any format are refused with the one error, or make a valid lab", () => {
  const trees = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 1, -1.5, "", "r1", "r1:eth1", "eth1", "10.0.0.1/24"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom("name", "nodes", "links", "topology", "lab", "kind", "id", "endpoints", "interfaces", "i1", "n1"),
        tie("value"),
        { maxKeys: 4 },
      ),
    ),
  }));
  const inputs = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }),
    trees.value.map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(inputs, fc.constantFrom(undefined, ...importers.map(({ format }) => format)), (input, format) => {
      outcome({ file: input }, format);
    }),
    { numRuns: 150 },
  );
});

describe("hostile files are refused with a clear error", () => {
  test.each([
    ["entities", '<!DOCTYPE lab [<!ENTITY a "b">]><lab name="&a;"/>', "a document type is not allowed"],
    [
      "aliases in aliases",
      `a: &a [x, x, x, x, x, x, x, x]\n${[..."bcdefghijk"].map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdefghij"[at]}`).join(", ")}]`).join("\n")}`,
      "the aliases make more values",
    ],
    ["tags that run code", "a: !!python/object/apply:os.system [id]", "unresolved tag"],
    ["deep JSON", `${'{"a":'.repeat(100)}1${"}".repeat(100)}`, "nested deeper than 64 levels"],
    ["deep YAML", `${"[".repeat(200)}`, "nested deeper than"],
    ["deep XML", `${"<a>".repeat(100)}${"</a>".repeat(100)}`, "nested deeper than"],
  ])("%s", (_name, text, message) => {
    expect(outcome({ file: text })).toContain(message);
  });

  test("paths that leave the folder", () => {
    expect(() => imported({ "../../etc/passwd": "x" })).toThrow('a file path has no ".."');
    expect(() => imported({ "/etc/passwd": "x" })).toThrow("a file path is relative");
  });

  test("more than the limits", () => {
    expect(() => imported({ big: Buffer.alloc(65 * 1024 * 1024) })).toThrow("more than 67108864 bytes");
    expect(() => imported(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, ""])))).toThrow("more than 4096 files");
  });
});

test("of two links at one interface the first is kept, by whichever name, and the second is dropped with the line of the first", () => {
  const clab = (links: readonly string[]) =>
    `name: x
topology:
  nodes:
    c: {kind: arista_ceos, image: "ceos:4"}
    a: {kind: linux, image: alpine}
    b: {kind: linux, image: alpine}
  links:
${links.map((link) => `    - endpoints: ${link}\n`).join("")}`;
  const links = ['["c:Et1", "a:eth1"]', '["c:eth1", "b:eth1"]', '["c:Et2", "b:eth2"]', '["c:Et2", "a:eth2"]', '["c:Et3", "c:eth3"]'];
  const lab = imported({ "x.clab.yml": clab(links) });
  expect(lab.yaml.split("links:")[1]?.trim().split("\n")).toEqual(['- ["c:Et1", "a:eth1"]', '  - ["c:Et2", "b:eth2"]']);
  const dropped = lab.report.filter(({ level }) => level === "dropped").map(({ line, message }) => `${line} ${message}`);
  expect(dropped).toEqual([
    "9 the link in line 8 uses the interface c:eth1 already",
    "11 the link in line 10 uses the interface c:Et2 already",
    "12 its ends are the same",
  ]);
});

test("tunnels of containerlab to other machines are networks", () => {
  const link = "{type: vxlan, endpoint: {node: r1, interface: eth1}, remote: 192.0.2.9, vni: 100";
  const text = (links: string) => `name: t\ntopology:\n  nodes: {r1: {kind: linux, image: alpine}}\n  links: [${links}]\n`;
  const { yaml } = imported({ "t.clab.yml": text(`${link}, udp-port: 4789, mtu: 1450}`) });
  expect(yaml).toContain("vxlan-100: {vxlan: {remote: 192.0.2.9, vni: 100}}");
  expect(yaml).toMatch(/mtu: 1450/);
  // Without a port, containerlab has its own.
  expect(imported({ "t.clab.yml": text(`${link}}`) }).yaml).toContain("{remote: 192.0.2.9, vni: 100, port: 14789}");
  // A host may allow no tunnel.
  const standIn = imported({ "t.clab.yml": text(`${link}}`) }, { substitute: "frr" }).yaml;
  expect(standIn).toContain("  # stands in for the tunnel to 192.0.2.9 with VNI 100\n  vxlan-100: {type: bridge}");
  const impossible = [
    `${link.replace("192.0.2.9", "lab2.example")}}`,
    `${link.replace("192.0.2.9", "127.0.0.1")}}`,
    `${link.replace("100", "0")}}`,
    `${link}, udp-port: 99999}`,
    `${link}, udp-port: 0}`,
    `${link}, udp-port: vxlan}`,
  ];
  for (const each of impossible) expect(imported({ "t.clab.yml": text(each) }).yaml).not.toContain("vxlan");
});

test("commands of a node name its interfaces as they are here", () => {
  const text = (exec: string) => `name: t
topology:
  nodes:
    h: {kind: linux, exec: [${exec}]}
    r: {kind: linux, image: frrouting/frr}
  links:
    - endpoints: ["h:et1", "r:eth1"]
    - endpoints: ["h:net-b", "r:eth2"]
`;
  const exec = (command: string) => /exec: \["?(.*?) \|\| true/.exec(imported({ "t.clab.yml": text(command) }).yaml)?.[1];
  expect(exec("ip address add 10.0.0.1/24 dev et1")).toBe("ip address add 10.0.0.1/24 dev eth1");
  expect(exec("ip link add link et1 name et1.100 type vlan id 100")).toBe("ip link add link eth1 name eth1.100 type vlan id 100");
  expect(exec("cat /sys/class/net/et1/mtu")).toBe("cat /sys/class/net/et1/mtu");
  expect(exec("ip link set net-b up")).toMatch(/^ip link set eth\d up$/);
  expect(exec("sysctl -w net.ipv4.ip_forward=1 || true")).toBe("sysctl -w net.ipv4.ip_forward=1");
});

test("a startup-config may be in a folder with the names of the lab and the node", () => {
  const text =
    "name: t\ntopology:\n  nodes:\n    r: {kind: cisco_xrd, image: x, startup-config: 'c/__clabLabName__/__clabNodeName__.cfg'}\n";
  expect(Object.values(imported({ "t.clab.yml": text, "c/t/r.cfg": "hostname r\n" }).files)).toEqual(["hostname r\n"]);
});

describe.each(["constructor", "__proto__", "toString"])("%s, a name that every object inherits", (name) => {
  const options = { images: { linux: ["default"] } };

  test("is an unknown device of netlab, and a pool of its own", () => {
    const text = `addressing: {${name}: {ipv4: 10.0.0.0/8}}\nnodes: {a: {device: ${name}}, b: {device: frr}}\nlinks: [{a: , b: , pool: ${name}}]\n`;
    expect(outcome({ "lab.yml": text }, "netlab")).toBe("netlab");
    expect(imported({ "lab.yml": text }, { ...options, format: "netlab" }).yaml).toContain("a:");
  });

  test("is an unknown type of GNS3", () => {
    const nodes = [{ node_id: "1", name: "a", node_type: name, x: 0, y: 0, properties: {} }];
    const text = JSON.stringify({ name: "x", type: "topology", version: "2.2.0", revision: 9, topology: { nodes, links: [] } });
    expect(imported({ "x.gns3": text }, options).yaml).toContain("a:");
  });

  test("is a template without images in a table of node types", () => {
    const mapping = readMapping([{ file: "own.yaml", text: `containerlab: [{types: [x], template: ${name}, config: ios}]` }]);
    const text = "name: c\ntopology:\n  nodes:\n    a: {kind: x, image: i, startup-config: a.cfg}\n";
    expect(imported({ "c.clab.yml": text, "a.cfg": "hostname a" }, { ...options, mapping }).yaml).toContain("a:");
  });
});

test("the report names the variables of containerlab without their values, which viewers of the lab may not see", () => {
  const text = `name: c\ntopology:\n  nodes:\n    a: {kind: linux, env: {PASSWORD: "\${PW:=hunter1}", KEY: "\${GIVEN}"}}\n`;
  const { report, yaml } = imported({ "c.clab.yml": text }, { variables: { GIVEN: "hunter2" } });
  expect(yaml).toContain("PASSWORD: hunter1");
  expect(JSON.stringify(report)).not.toMatch(/hunter/);
  expect(report.find(({ path }) => path.endsWith("/PASSWORD"))?.message).toBe(
    "as it is; the variable PW has its default; the variable GIVEN has the given value",
  );
});
