import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { arbitraryLab } from "../lab/lab.arbitrary.ts";
import type { Lab, LabLink, LabNode } from "../lab/lab.ts";
import { readIntent } from "../read/read.ts";
import { printLab } from "../write/print.ts";
import { editIntent } from "./edit.ts";

function read(yaml: string, files: Readonly<Record<string, string>> = {}): Lab {
  const { lab, diagnostics } = readIntent(yaml, files);
  if (lab === undefined) throw new Error(JSON.stringify(diagnostics));
  // An edit may write a value at a node that the node inherited before.
  const { inherited: _inherited, ...structure } = lab;
  return structure;
}

/** The text after a change of its lab, which must read as the changed lab. */
function edited(yaml: string, change: (lab: Lab) => Lab, files: Readonly<Record<string, string>> = {}): string {
  const wanted = change(read(yaml, files));
  const result = editIntent(yaml, files, wanted);
  expect(read(result.yaml, result.files)).toStrictEqual(wanted);
  return result.yaml;
}

function withNode(key: string, change: (node: LabNode) => LabNode): (lab: Lab) => Lab {
  return (lab) => ({ ...lab, nodes: lab.nodes.map((node) => (node.key === key ? change(node) : node)) });
}

function without<T extends object, K extends keyof T>(value: T, key: K): T {
  const { [key]: _, ...rest } = value;
  return rest as T;
}

function withLink(key: string, change: (link: LabLink) => LabLink): (lab: Lab) => Lab {
  return (lab) => ({ ...lab, links: lab.links.map((link) => (link.key === key ? change(link) : link)) });
}

const newNode: LabNode = { key: "z9", name: "z9", template: "frr", exec: [], env: {}, attributes: {}, labels: {} };

const campus = `# The campus lab.
name: campus   # its name

defaults: {template: frr, ram: 256, env: {TZ: UTC, A: a}}
kinds:
  router: {image: v1}
groups:
  core: {icon: Router.png}

nodes:
  # the border
  r1:
    kind: router
    group: core     # in the core
    env: {A: b}

  r2: {kind: router, memory: 512MiB}   # small

  # all hosts
  h1: {template: linux, exec: ["ip link set eth1 up"]}
  h2:
    template: linux
    image: 'quoted'
    exec:
      - one   # first
      - two
networks:
  lan: {type: bridge}   # for hosts
links:
  # main
  - ["r1:eth1", "r2:eth1"]
  - endpoints: ['lan', 'h1:eth1']
    quality: {a: {delay: 20}}   # slow
  # the end
tests: [{from: h1, ping: r1}]   # kept
`;

/** Expects two texts that differ in exactly one line, by the expected change. */
function expectLines(after: string, before: string, changes: readonly (readonly [string, string])[]): void {
  expect(after).toBe(changes.reduce((text, [from, to]) => text.replace(from, () => to), before));
}

describe("in a text with comments, only the necessary bytes change", () => {
  test("when a scalar changes", () => {
    expectLines(
      edited(
        campus,
        withNode("h2", (node) => ({ ...node, image: "v7" })),
      ),
      campus,
      [["'quoted'", "'v7'"]],
    );
  });

  test("when an inherited value is overridden", () => {
    const after = edited(
      campus,
      withNode("r1", (node) => ({ ...node, ram: 1024 })),
    );
    expectLines(after, campus, [["    env: {A: b}\n", "    env: {A: b}\n    ram: 1024\n"]]);
  });

  test("when a value becomes equal to the inherited one", () => {
    const after = edited(
      campus,
      withNode("r2", (node) => ({ ...node, ram: 256 })),
    );
    expectLines(after, campus, [["{kind: router, memory: 512MiB}", "{kind: router}"]]);
  });

  test("when an inherited value is reset", () => {
    const after = edited(
      campus,
      withNode("r2", (node) => without(node, "image")),
    );
    expectLines(after, campus, [["memory: 512MiB}", "memory: 512MiB, image: null}"]]);
  });

  test("when one variable changes and an inherited one is reset", () => {
    const after = edited(
      campus,
      withNode("r1", (node) => ({ ...node, env: { A: "c" } })),
    );
    expectLines(after, campus, [["env: {A: b}", "env: {A: c, TZ: null}"]]);
  });

  test("when a command is added between others", () => {
    const after = edited(
      campus,
      withNode("h2", (node) => ({ ...node, exec: ["one", "between", "two"] })),
    );
    expectLines(after, campus, [["      - one   # first\n", "      - one   # first\n      - between\n"]]);
  });

  test("when a node is added: at the end, in the style of its neighbour, without what it inherits", () => {
    const node = { ...newNode, ram: 256, cpu: 2, env: { A: "a", TZ: "UTC" } };
    const after = edited(campus, (lab) => ({ ...lab, nodes: [...lab.nodes, node] }));
    expectLines(after, campus, [["      - two\n", "      - two\n  z9:\n    cpu: 2\n"]]);
  });

  test("when a node is removed, with its own comment and without its neighbours' comments", () => {
    const remove = (key: string) => (lab: Lab) => ({
      ...lab,
      nodes: lab.nodes.filter((node) => node.key !== key),
      links: lab.links.filter(({ endpoints }) => endpoints.every((end) => !("node" in end) || end.node !== key)),
    });
    const r1 = "  # the border\n  r1:\n    kind: router\n    group: core     # in the core\n    env: {A: b}\n";
    const link = '  # main\n  - ["r1:eth1", "r2:eth1"]\n';
    expectLines(edited(campus, remove("r1")), campus, [
      [r1, ""],
      [link, "  # main\n"],
    ]);
    const h1 = '  h1: {template: linux, exec: ["ip link set eth1 up"]}\n';
    const last = "  - endpoints: ['lan', 'h1:eth1']\n    quality: {a: {delay: 20}}   # slow\n";
    expectLines(edited(campus, remove("h1")), campus, [
      [h1, ""],
      [last, ""],
    ]);
  });

  test("when a short link gets a quality", () => {
    const after = edited(
      campus,
      withLink("r1:eth1 -- r2:eth1", (link) => ({ ...link, quality: { a: { delay: 5 }, b: { delay: 5 } } })),
    );
    expectLines(after, campus, [['  - ["r1:eth1", "r2:eth1"]\n', '  - endpoints: ["r1:eth1", "r2:eth1"]\n    quality: {delay: 5}\n']]);
  });

  test("when the quality changes of a link that is written network first", () => {
    const key = "h1:eth1 -- lan";
    expect(read(campus).links.find((link) => link.key === key)?.quality).toEqual({ b: { delay: 20 } });
    const after = edited(
      campus,
      withLink(key, (link) => ({ ...link, quality: { b: { delay: 30 } } })),
    );
    expectLines(after, campus, [["delay: 20", "delay: 30"]]);
  });

  test("when a link is added in the form and quotes of the last one", () => {
    const link: LabLink = { key: "h2:eth1 -- lan", endpoints: [{ node: "h2", interface: "eth1" }, { network: "lan" }] };
    const after = edited(campus, (lab) => ({ ...lab, links: [link, ...lab.links].sort((a, b) => (a.key < b.key ? -1 : 1)) }));
    expectLines(after, campus, [["# slow\n", "# slow\n  - endpoints: ['h2:eth1', 'lan']\n"]]);
  });

  test("when a link moves to another node or network, which keeps its place and its comment", () => {
    const commented = campus.replace('["r1:eth1", "r2:eth1"]', '["r1:eth1", "r2:eth1"]   # uplink');
    const moved: LabLink = { key: "lan -- r1:eth1", endpoints: [{ node: "r1", interface: "eth1" }, { network: "lan" }] };
    const toLan = edited(commented, (lab) => {
      const links = lab.links.map((link) => (link.key === "r1:eth1 -- r2:eth1" ? moved : link));
      return { ...lab, links: links.sort((a, b) => (a.key < b.key ? -1 : 1)) };
    });
    expectLines(toLan, commented, [['["r1:eth1", "r2:eth1"]', '["r1:eth1", "lan"]']]);
  });

  test("when the name, the description and a new section change", () => {
    const after = edited(campus, (lab) => ({ ...lab, name: "site", description: "two\nlines\n", texts: [{ text: "hi", x: 1, y: 2 }] }));
    expectLines(after, campus, [
      ["name: campus   #", "name: site   #"],
      ["# its name\n", "# its name\ndescription: |\n  two\n  lines\n"],
      ["# slow\n  # the end\n", "# slow\n  # the end\n\ntexts:\n  - {text: hi, x: 1, y: 2}\n"],
    ]);
  });
});

test("the wrapper, ignored keys and deep indents of containerlab stay", () => {
  const yaml = `name: clab
topology:
    kinds:
        linux: {image: alpine}
    nodes:
        r1: {kind: linux, binds: [a:b]}
        br: {kind: bridge}
    links:
        - endpoints: ["r1:eth1", "br:eth1"]
`;
  const node = { ...newNode, template: "linux" };
  expectLines(
    edited(yaml, (lab) => ({ ...lab, nodes: [...lab.nodes, node] })),
    yaml,
    [["        br: {kind: bridge}\n", "        br: {kind: bridge}\n        z9: {template: linux}\n"]],
  );
  const moved = edited(yaml, (lab) => ({ ...lab, networks: [{ key: "br", name: "br", type: "nat" }] }));
  expectLines(moved, yaml, [["        br: {kind: bridge}\n    links", "    networks:\n        br: {type: nat}\n    links"]]);
});

test("an alias is written out if only its place changes, and the anchor's other places follow if the anchor changes", () => {
  const yaml = `name: a
nodes:
  r1: &base {template: frr, ram: 128}   # the pattern
  r2: *base
  r3:
    <<: *base   # and more
    image: v2
`;
  expectLines(
    edited(
      yaml,
      withNode("r2", (node) => ({ ...node, cpu: 2 })),
    ),
    yaml,
    [["r2: *base", "r2: {template: frr, ram: 128, cpu: 2}"]],
  );
  expectLines(
    edited(
      yaml,
      withNode("r3", (node) => ({ ...node, ram: 64 })),
    ),
    yaml,
    [["image: v2\n", "image: v2\n    ram: 64\n"]],
  );
  expectLines(
    edited(
      yaml,
      withNode("r3", (node) => without(node, "ram")),
    ),
    yaml,
    [["image: v2\n", "image: v2\n    ram: null\n"]],
  );
  const without1 = edited(yaml, (lab) => ({ ...lab, nodes: lab.nodes.filter(({ key }) => key !== "r1") }));
  expect(without1).toContain("# and more");
});

test("a startup configuration that came from a file is changed in the file", () => {
  const yaml = "name: a\nnodes:\n  r1: {template: frr, startup-config: ./conf/r1.conf} # r1\n";
  const files = { "./conf/r1.conf": "hostname old\n", "notes.txt": "mine" };
  const wanted = withNode("r1", (node) => ({ ...node, startupConfig: "hostname new\n" }))(read(yaml, files));
  expect(editIntent(yaml, files, wanted)).toEqual({ yaml, files: { ...files, "./conf/r1.conf": "hostname new\n" } });
});

test("a node of one line that gets a configuration becomes a node of several lines, and keeps the text of its other keys", () => {
  const yaml = "name: a\nnodes:\n  r1: {template: frr, position: {x: 1,  y: 2}, env: {A: 'b'}}\n  r2: {template: frr} # kept\nlinks: []\n";
  const configured = withNode("r1", (node) => ({ ...node, startupConfig: "hostname r1\n!\n" }));
  const wanted = `name: a
nodes:
  r1:
    template: frr
    position: {x: 1,  y: 2}
    env: {A: 'b'}
    startup-config: |
      hostname r1
      !
  r2: {template: frr} # kept
links: []
`;
  expect(edited(yaml, configured)).toBe(wanted);
  // With a comment behind it, the line stays.
  const commented = edited(
    yaml,
    withNode("r2", (node) => ({ ...node, startupConfig: "hostname r2\n!\n" })),
  );
  expect(commented).toContain("} # kept\n");
});

test("two nodes that share a file and want different texts get a file each", () => {
  const yaml =
    "name: a\nnodes:\n  r1: {template: frr, startup-config: conf/all.conf}\n  r2: {template: frr, startup-config: conf/all.conf}\n";
  const files = { "conf/all.conf": "same\n" };
  const wanted = withNode("r1", (node) => ({ ...node, startupConfig: "other\n" }))(read(yaml, files));
  const result = editIntent(yaml, files, wanted);
  expect(result).toEqual({
    yaml: yaml.replace("r1: {template: frr, startup-config: conf/all.conf", "r1: {template: frr, startup-config: conf/r1.conf"),
    files: { "conf/all.conf": "same\n", "conf/r1.conf": "other\n" },
  });
  expect(printLab(wanted).files).toEqual({ "conf/all.conf": "other\n", "conf/r2.conf": "same\n" });
});

test("windows line ends and a missing last line end are kept", () => {
  const yaml = "name: a # x\r\nnodes:\r\n  r1: {template: frr}";
  expect(edited(yaml, (lab) => ({ ...lab, nodes: [...lab.nodes, newNode] }))).toBe(`${yaml}\r\n  z9: {template: frr}`);
});

test("JSON stays JSON", () => {
  const yaml = '{"name": "x", "nodes": {"r1": {"template": "frr", "cpu": 1}}}\n';
  expect(
    edited(
      yaml,
      withNode("r1", (node) => ({ ...node, cpu: 2 })),
    ),
  ).toBe(yaml.replace("1}", "2}"));
});

test("a text that cannot be read, or a lab that cannot be written, is refused as invalid_intent", () => {
  const lab = read(campus);
  const refused = (run: () => unknown) => {
    expect(run).toThrow(Failure);
    expect(run).toThrow(expect.objectContaining({ code: "invalid_intent" }));
  };
  refused(() => editIntent("name: [", {}, lab));
  refused(() => editIntent(campus, {}, { ...lab, nodes: [] }));
  refused(() => editIntent(campus, {}, { ...lab, name: "not a name" }));
});

/** Texts of every style. The comment at the top is lost only if the whole text is printed again. */
const styles: Readonly<Record<string, string>> = {
  inheritance: `# top\n${campus}`,
  anchors:
    "# top\nname: a\nnodes:\n  r1: &r\n    template: frr\n    env: &e {A: x}\n  r2: *r\n  r3:\n    <<: *r\n    image: z\n  h2: {template: linux, env: {<<: *e, tz: q}}\nlinks:\n  - &l {endpoints: [r1:eth1, r2:eth1], quality: &q {delay: 20}}\n  - <<: *l\n    endpoints: [r1:eth2, r2:eth2]\n  - {endpoints: [r3:eth1, h2:eth1], quality: *q}\n",
  wrapper:
    "# top\nname: b\ntopology:\n  nodes:\n    r1: {kind: linux, binds: [a:b]}\n    b: {kind: bridge}\n  links:\n    - endpoints: [r1:eth1, b:eth1]\n",
  json: '{"name": "x", "nodes": {"r1": {"template": "frr", "env": {"A": "b"}}, "r2": {"template": "pc"}}, "links": [["r1:eth1", "r2:eth1"]]} # top\n',
  bare: "# top\nname: x",
  blocks:
    '# top\nname: x\nnodes:\n  r1:\n    template: frr\n    startup-config: |\n      hostname r1\n      !\n\n  r2:\n    startup-config: |+\n      hostname r2\n\n    template: frr\nlinks:\n- endpoints:\n  - r1:eth1\n  - r2:eth1\n  mtu: 1400\n- endpoints: [\n    "r1:eth2",\n    "r2:eth2",   # c\n  ]\n- r1-r2\n',
};

test.each(Object.keys(styles))("a text with %s is edited to any lab in place", (style) => {
  const text = styles[style] as string;
  fc.assert(
    fc.property(arbitraryLab({ hasShapes: true }), fc.boolean(), (wanted, windows) => {
      const yaml = windows ? text.replaceAll("\n", "\r\n") : text;
      const result = editIntent(yaml, {}, wanted);
      const { tests } = read(text, {});
      expect(read(result.yaml, result.files)).toStrictEqual({ ...wanted, ...(tests === undefined ? {} : { tests }) });
      expect(result.yaml).toContain("# top");
    }),
    { numRuns: 15 },
  );
});

test("an intent that is edited to another lab reads as that lab", () => {
  fc.assert(
    fc.property(arbitraryLab({ hasShapes: true }), arbitraryLab({ hasShapes: true }), (a, b) => {
      const from = printLab(a);
      const { yaml, files } = editIntent(`# top\n${from.yaml}`, from.files, b);
      expect(readIntent(yaml, files)).toStrictEqual({ lab: b, diagnostics: [] });
      expect(yaml).toContain("# top");
    }),
    { numRuns: 40 },
  );
});

test("an intent that is edited to its own lab is the same, byte for byte", () => {
  fc.assert(
    fc.property(arbitraryLab({ hasShapes: true }), (lab) => {
      const from = printLab(lab);
      expect(editIntent(from.yaml, from.files, lab)).toStrictEqual(from);
    }),
    { numRuns: 20 },
  );
  for (const yaml of Object.values(styles)) expect(editIntent(yaml, {}, read(yaml)).yaml).toBe(yaml);
});
