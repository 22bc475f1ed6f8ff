import { expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { sample } from "../../samples.fixture.ts";
import { imported } from "../../testing.fixture.ts";

function graph(text: string, file: string) {
  const lab = imported({ [file]: text });
  expect(lab.diagnostics).toEqual([]);
  const { lab: read } = readIntent(lab.yaml, lab.files);
  return {
    ...lab,
    nodes: read?.nodes.map(({ key, template }) => `${key} ${template}`),
    networks: read?.networks.map(({ key, type }) => `${key} ${type}`),
    links: read?.links.map(({ key }) => key),
  };
}

const textOf = (name: string) => Buffer.from(Object.values(sample(`graphs/projects/${name}`))[0] ?? "").toString();

test("Graphviz: ports are interfaces and functions are types, as Cumulus's tools write them", () => {
  const { nodes, links, name, yaml } = graph(textOf("clos.dot"), "clos.dot");
  expect(name).toBe("fabric");
  expect(nodes).toEqual(["leaf01 frr", "leaf02 frr", "server01 linux", "spine01 frr"]);
  expect(links).toEqual(["leaf01:eth1 -- server01:eth1", "leaf01:eth51 -- spine01:eth1", "leaf02:eth51 -- spine01:eth2"]);
  expect(yaml).toContain("interface-eth51: swp51");
});

test("Graphviz: chains, subgraphs as ends, labels as interfaces, sides, networks and places", () => {
  const { nodes, networks, links, report } = graph(textOf("wan.gv"), "wan.gv");
  expect(nodes).toEqual(["h4 linux", "pc1 pc", "pc2 pc", "r1 frr", "r2 frr", "r3 frr"]);
  expect(networks).toEqual(["internet nat", "lan bridge"]);
  expect(links).toEqual([
    "h4:eth1 -- lan",
    "internet -- r2:eth1",
    "lan -- r3:eth1",
    "pc1:eth1 -- r1:eth1",
    "pc2:eth1 -- r1:eth2",
    "r1:eth3 -- r2:eth3",
    "r2:eth2 -- r3:eth2",
  ]);
  expect(report.filter(({ level }) => level === "dropped").map(({ path }) => path)).toContain("/statements/0");
});

test.each([
  ["texts that are joined", 'graph { "a" + "b" -- c }', ["ab:eth1 -- c:eth1"]],
  ["labels in HTML", "graph { a [label=<<b>Core</b> <i>1</i>>]; a -- b }", ["Core-1:eth1 -- b:eth1"]],
  ["comments and a byte order mark", "\ufeff// one\n/* two\n*/ strict graph x { a1 -- b1 /* ; */ }", ["a1:eth1 -- b1:eth1"]],
  ["a loop", "graph { r1 -- r1; r1 -- r2 }", ["r1:eth1 -- r2:eth1"]],
  ["names with all letters", "digraph { größe -> π2 }", ["gr-e:eth1 -- 2:eth1"]],
])("Graphviz: %s", (_name, text, links) => {
  const read = graph(text, "x.dot");
  expect(read.links?.map((key) => key.split(" -- ").sort().join(" -- "))).toEqual(
    links.map((key) => key.split(" -- ").sort().join(" -- ")),
  );
});

test("Mermaid: shapes, classes, chains, groups, texts on links and subgraphs", () => {
  const { nodes, networks, links, name } = graph(textOf("office.mmd"), "office.mmd");
  expect(name).toBe("office");
  expect(nodes).toEqual(["pc1 pc", "pc2 pc", "r1 frr", "r2 frr", "sw1 switch"]);
  expect(networks).toEqual(["internet nat"]);
  expect(links).toEqual([
    "internet -- r2:eth1",
    "pc1:eth1 -- sw1:eth1",
    "pc2:eth1 -- sw1:eth2",
    "r1:eth1 -- r2:eth2",
    "r1:eth2 -- sw1:eth3",
  ]);
});

test("Mermaid: a statement with too many links is refused at its line, not left out", () => {
  const all = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index}`).join(" & ");
  expect(() => graph(`flowchart LR\n  ${all("r", 101)} --- ${all("s", 100)}\n`, "x.mmd")).toThrow(
    "x.mmd:2: a statement with more than 10000 links",
  );
});

test("Mermaid: a single interface on a link to a network is that of the node", () => {
  const text =
    "flowchart LR\n  h1 ---|eth7| lan\n  lan ---|trunk| h2\n  h1 ---|eth5| h2\n  h1:::linux\n  h2:::linux\n  lan{{lan}}:::bridge\n";
  expect(graph(text, "x.mmd").links).toEqual(["h1:eth1 -- h2:eth2", "h1:eth7 -- lan", "h2:eth1 -- lan"]);
});

test("Mermaid: the first flowchart of a Markdown page; a letter has the name of its label", () => {
  const { nodes, links } = graph(textOf("page.md"), "page.md");
  expect(nodes).toEqual(["C linux", "Core frr", "Edge frr", "Server-one- linux"]);
  expect(links).toEqual(["C:eth1 -- Core:eth2", "Core:eth1 -- Edge:eth1", "Edge:eth2 -- Server-one-:eth1"]);
});

test.each([
  ["A -- text --> B", 1],
  ["A -->|text| B", 1],
  ["A == text ==> B", 1],
  ["A -. text .-> B", 1],
  ["A o--o B x--x C", 2],
  ["A <--> B ----> C ---- D", 3],
  ["A & B --> C & D", 4],
  ["A ~~~ B", 0],
  ["A e1@--> B", 1],
  ['A@{ shape: rect, label: "x y" } --> B', 1],
  ["A[/one/] --> B{{two}} --> C>three]", 2],
])("Mermaid: %s has %i links", (text, count) => {
  expect(graph(`flowchart TD\n  ${text}\n`, "x.mmd").links).toHaveLength(count);
});

test("Mermaid: a class that colours the members of a VLAN makes them no networks, and a refused link is reported as dropped", () => {
  const text = "graph TD\n  ISP --- Modem\n  Modem --- Router\n  Laptop --- Router\n  class ISP,Modem wan\n  class Laptop vlan10\n";
  expect(graph(text, "x.mmd").nodes).toEqual(["Laptop linux", "Router frr"]);
  const { report } = imported({ "x.mmd": text });
  expect(report.filter(({ line, level }) => line === 2 && level !== "kept").map(({ message }) => message)).toContain(
    "a link joins no two networks that lead out of the lab",
  );
});

test("Graphviz: both directions of a link in a digraph are one link, with the interface of each edge", () => {
  const text = (kind: string) =>
    `${kind} { a -- b [label=eth3]; b -- a [label=eth4]; a -- b; }`.replaceAll("--", kind === "graph" ? "--" : "->");
  expect(graph(text("digraph"), "x.dot").links).toEqual(["a:eth1 -- b:eth1", "a:eth3 -- b:eth4"]);
  expect(graph(text("graph"), "x.dot").links).toHaveLength(3);
});

test("Graphviz: a word of the name gives the type, the first line of an id the name; addresses are no interfaces", () => {
  const text = 'graph { "net-1\\n10.0.0.0/24" -- E1_switch [headlabel="10.0.0.2/255.255.255.0"]; E1_switch -- internal_router; }';
  const { nodes, links } = graph(text, "x.dot");
  expect(nodes).toEqual(["E1_switch switch", "internal_router frr"]);
  expect(links).toContain("E1_switch:eth1 -- net-1");
});

test("Mermaid: the class of a node without a label, and shapes in braces after `graph`", () => {
  const { nodes, links, format } = graph("graph TD\n  A1:::router --> B1:::host\n  A1 --> D{Decision}\n", "x.mmd");
  expect([format, nodes, links]).toEqual([
    "mermaid",
    ["A1 frr", "B1 linux", "Decision linux"],
    ["A1:eth1 -- B1:eth1", "A1:eth2 -- Decision:eth1"],
  ]);
  for (const text of ["graph {a--b}", "strict graph x // y\n{a--b}", 'digraph "a {b" {a->b}', "graph\n{\na--b}"])
    expect(graph(text, "x").format).toBe("dot");
});

test("Graphviz: a node that is linked with itself is no link in the report either", () => {
  const { report } = imported({ "x.dot": "graph { r1 -- r1; r1 -- r2; }" });
  expect(report.filter(({ level }) => level === "dropped").map(({ message }) => message)).toContain(
    "both ends are the same node of the graph",
  );
});
