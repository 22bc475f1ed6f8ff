import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { Lab } from "../lab/lab.ts";
import { readIntent } from "./read.ts";

function lab(yaml: string, files: Readonly<Record<string, string>> = {}): Lab {
  const { lab: read, diagnostics } = readIntent(yaml, files);
  if (read === undefined) throw new Error(JSON.stringify(diagnostics));
  return read;
}

function problems(yaml: string, files: Readonly<Record<string, string>> = {}): readonly Diagnostic[] {
  return readIntent(yaml, files).diagnostics;
}

/** Code, place and hint of each problem, for short comparisons. */
function short(yaml: string, files: Readonly<Record<string, string>> = {}): readonly string[] {
  return problems(yaml, files).map(
    ({ code, path, line, column, hint }) => `${code} ${path} ${line}:${column}${hint === undefined ? "" : ` ${hint}`}`,
  );
}

const two = "name: x\nnodes: {r1: {template: frr}, r2: {template: frr}}\n";

test("the example of the language reads as the expected lab", () => {
  const yaml = `name: campus
description: text
defaults: {ram: 256, env: {TZ: UTC, A: a}, exec: [one]}
kinds:   {router: {template: frr, cpu: 1}}
groups:  {core: {icon: Router.png, cpu: 2}}
nodes:
  r1:
    kind: router
    group: core
    image: default
    name: R1
    startup-config: r1.conf
    exec: ["ip addr add 10.0.0.1/24 dev eth1"]
    ethernet: 4
    start: true
    position: {x: 100, y: 50}
    env: {A: b}
    attributes: {console: telnet, slots: 2, kvm: false}
    labels: {site: north}
  h1: {template: linux, memory: 1GiB, env: {TZ: null}, exec: null}
networks:
  lan: {type: bridge}
  inet: {type: nat, name: Internet}
links:
  - endpoints: ["r1:eth1", "h1:eth1"]
    quality: {a: {delay: 20, jitter: 2, loss: 0}, b: {loss: 0.5, bandwidth: 10000}}
    suspended: false
    mtu: 1500
  - ["lan", "h1:eth0"]
traffic_filters: [{name: bgp, match: tcp port 179, nodes: [r1], links: [["h1:eth1", "r1:eth1"], "h1:eth0"]}]
texts: [{text: hi, x: 1, y: 2}]
tests: []
`;
  expect(readIntent(yaml, { "./r1.conf": "hostname r1\n" })).toStrictEqual({
    diagnostics: [],
    lab: {
      name: "campus",
      description: "text",
      nodes: [
        { key: "h1", name: "h1", template: "linux", ram: 1024, exec: [], env: { A: "a" }, attributes: {}, labels: {} },
        {
          key: "r1",
          name: "R1",
          template: "frr",
          image: "default",
          icon: "Router.png",
          cpu: 2,
          ram: 256,
          ethernet: 4,
          start: true,
          position: { x: 100, y: 50 },
          startupConfig: "hostname r1\n",
          startupConfigFile: "r1.conf",
          exec: ["ip addr add 10.0.0.1/24 dev eth1"],
          env: { A: "b", TZ: "UTC" },
          attributes: { console: "telnet", kvm: false, slots: 2 },
          labels: { site: "north" },
        },
      ],
      networks: [
        { key: "inet", name: "Internet", type: "nat" },
        { key: "lan", name: "lan", type: "bridge" },
      ],
      links: [
        { key: "h1:eth0 -- lan", endpoints: [{ node: "h1", interface: "eth0" }, { network: "lan" }] },
        {
          key: "h1:eth1 -- r1:eth1",
          endpoints: [
            { node: "r1", interface: "eth1" },
            { node: "h1", interface: "eth1" },
          ],
          quality: { a: { delay: 20, jitter: 2 }, b: { loss: 0.5, bandwidth: 10000 } },
          mtu: 1500,
        },
      ],
      trafficFilters: [{ name: "bgp", match: "tcp port 179", nodes: ["r1"], links: ["h1:eth0 -- lan", "h1:eth1 -- r1:eth1"] }],
      texts: [{ text: "hi", x: 1, y: 2 }],
      inherited: { r1: ["ram", "cpu", "icon"] },
    },
  });
});

describe("texts of equal meaning give equal data", () => {
  test.each([
    [
      `${two}links: [["r1:eth1", "r2:eth1"]]`,
      `${two}links: [{endpoints: [r1:eth1, {node: r2, interface: eth1}], quality: {a: {delay: 0}}, suspended: {a: false}}]`,
    ],
    [`${two}links: ["r1-r2"]`, `${two}links: [[r1:eth1, r2:eth1]]`],
    [
      `${two}links: [{endpoints: [r1:eth1, r2:eth1], quality: dsl2}]`,
      `${two}links: [{endpoints: [r1:eth1, r2:eth1], quality: {a: dsl2, b: {delay: 40, jitter: 5, loss: 0.5, bandwidth: 8000}}}]`,
    ],
    [
      `${two}networks: {lan: }\nlinks: [{endpoints: [lan, r1:eth1], quality: {a: {delay: 5}}, suspended: {b: true}}]`,
      `${two}networks: {lan: {type: bridge}}\nlinks: [{endpoints: [r1:eth1, {network: lan}], quality: {b: {delay: 5}}, suspended: {a: true}}]`,
    ],
    [
      "name: x\nnodes: {b: {kind: linux}, a: {template: linux, ram: 512}}",
      "name: x\ntopology: {nodes: {a: {kind: linux, memory: 512MiB}, b: {kind: linux}}}",
    ],
  ])("%j and %j", (one, other) => {
    expect(lab(one)).toStrictEqual(lab(other));
  });
});

describe("inheritance", () => {
  test("applies defaults, kinds, groups, node in this order, merges maps by key and replaces lists", () => {
    const yaml = `name: x
defaults: {template: linux, image: d, icon: d, cpu: 1, ram: 1, env: {a: d, b: d, c: d, d: d}, exec: [d]}
kinds: {k: {icon: k, cpu: 2, ram: 2, env: {b: k, c: k, d: k}}}
groups: {g: {cpu: 3, ram: 3, env: {c: g, d: g}}, h: {ram: 4, env: {d: h}}}
nodes: {n: {kind: k, groups: [g, h], env: {e: n}, exec: [n]}}
`;
    expect(lab(yaml).nodes[0]).toMatchObject({
      image: "d",
      icon: "k",
      cpu: 3,
      ram: 4,
      env: { a: "d", b: "k", c: "g", d: "h", e: "n" },
      exec: ["n"],
    });
  });

  test("a kind that is not in kinds is a template; one in kinds without template leaves the default", () => {
    const yaml =
      "name: x\ndefaults: {template: frr}\nkinds: {border: {icon: B.png}}\nnodes: {a: {kind: linux}, b: {kind: border}, c: , d: {kind: linux, template: pc}}";
    expect(lab(yaml).nodes.map(({ template }) => template)).toEqual(["linux", "frr", "frr", "pc"]);
  });

  test("kinds linux and frr with an image of a registry are containers, unless a template is named", () => {
    const yaml = `name: x
groups: {routers: {kind: frr, image: "quay.io/frrouting/frr:10.5.1"}}
nodes:
  a: {group: routers}
  b: {kind: frr, image: frr}
  c: {kind: frr}
  d: {kind: linux, image: "alpine:3"}
  e: {template: frr, kind: frr, image: "frr:10"}
`;
    expect(lab(yaml).nodes.map(({ template }) => template)).toEqual(["frr-container", "frr", "frr", "container", "frr"]);
  });

  test("a kind may come from defaults or a group, a group from a kind", () => {
    const yaml =
      "name: x\ndefaults: {kind: linux}\nkinds: {r: {template: frr, group: g}}\ngroups: {g: {cpu: 2}, all: {kind: r}}\nnodes: {a: , b: {kind: r}, c: {group: all}}";
    expect(lab(yaml).nodes.map(({ template, cpu }) => [template, cpu])).toEqual([
      ["linux", undefined],
      ["frr", 2],
      ["frr", undefined],
    ]);
  });

  test("null resets an inherited value", () => {
    const yaml =
      "name: x\ndefaults: {template: frr, image: i, env: {A: a, B: b}, exec: [x], start: true}\nnodes: {a: {image: null, env: {A: null}, exec: ~, start: }, b: {env: null}}";
    expect(lab(yaml).nodes).toStrictEqual([
      { key: "a", name: "a", template: "frr", exec: [], env: { B: "b" }, attributes: {}, labels: {} },
      { key: "b", name: "b", template: "frr", image: "i", start: true, exec: ["x"], env: {}, attributes: {}, labels: {} },
    ]);
  });
});

describe("containerlab's habits", () => {
  test("a node of kind bridge is a network", () => {
    const read = lab("name: x\ntopology: {nodes: {r1: {kind: linux}, br: {kind: bridge}}, links: [{endpoints: [r1:eth1, br:eth7]}]}");
    expect(read.networks).toEqual([{ key: "br", name: "br", type: "bridge" }]);
    expect(read.links.map(({ key }) => key)).toEqual(["br -- r1:eth1"]);
  });

  test("a warning names keys that have no effect here", () => {
    const yaml =
      "name: x\nprefix: a\ntopology:\n  nodes: {r1: {kind: linux, binds: [a:b], mgmt-ipv4: 1.2.3.4}}\n  links: [{endpoints: [{node: r1, interface: eth1, mac: 'aa'}, r1:eth2], vars: {}}]\n";
    expect(readIntent(yaml).lab).toBeDefined();
    expect(short(yaml)).toEqual([
      "ignored_key /prefix 2:1",
      "ignored_key /topology/nodes/r1/binds/0 4:37",
      "ignored_key /topology/nodes/r1/mgmt-ipv4 4:43 write management: {ipv4-subnet: …} at the top of the lab",
      "ignored_key /topology/links/0/endpoints/0/mac 5:52",
      "ignored_key /topology/links/0/vars 5:74",
    ]);
    expect(short("name: x\nnodes: {c1: {template: container, cmd: sleep 5}}\n")).toEqual([
      "ignored_key /nodes/c1/cmd 2:35 a node of template container has attributes: {command: …}",
    ]);
  });

  test("anchors and merge keys work, and own keys win at each position", () => {
    const yaml =
      "name: x\nnodes:\n  a: &a {template: frr, cpu: 1, env: {A: a}}\n  b: {cpu: 2, <<: *a}\n  c: {<<: [{ram: 5}, *a], ram: 6}\n  d: *a\n";
    expect(lab(yaml).nodes).toMatchObject([
      { key: "a", template: "frr", cpu: 1 },
      { key: "b", template: "frr", cpu: 2, env: { A: "a" } },
      { key: "c", template: "frr", cpu: 1, ram: 6 },
      { key: "d", template: "frr", cpu: 1 },
    ]);
  });
});

describe("netlab's short links", () => {
  test("take the next free interfaces, in order, and skip named ones", () => {
    const yaml = `${two}networks: {lan: }\nlinks: [r1-r2, r1-r2, [r1:eth2, r2:eth1], r2-lan]`;
    expect(lab(yaml).links.map(({ key }) => key)).toEqual([
      "lan -- r2:eth4",
      "r1:eth1 -- r2:eth2",
      "r1:eth2 -- r2:eth1",
      "r1:eth3 -- r2:eth3",
    ]);
  });

  test("may connect names with hyphens, unless that is ambiguous", () => {
    const nodes = "name: x\nnodes: {a: {kind: pc}, a-b: {kind: pc}, b-c: {kind: pc}, c: {kind: pc}}\n";
    expect(lab(`${nodes}links: [a-b-a]`).links.map(({ key }) => key)).toEqual(["a-b:eth1 -- a:eth1"]);
    expect(short(`${nodes}links: [a-b-c]`)).toEqual(['invalid_endpoint /links/0 3:9 write ["r1:eth1", "r2:eth1"]']);
    expect(short(`${nodes}links: [a-z]`)).toEqual(['invalid_endpoint /links/0 3:9 write ["r1:eth1", "r2:eth1"]']);
    expect(short(`${nodes}links: [a - b]`)).toEqual(['invalid_endpoint /links/0 3:9 write "a-b", or ["r1:eth1", "r2:eth1"]']);
  });
});

describe("startup configurations", () => {
  const node = (config: string) => `name: x\nnodes: {r1: {template: frr, startup-config: ${config}}}`;

  test("are read as files by their path, as texts by their line break or by {text}", () => {
    expect(lab(node("./a//b.conf"), { "a/b.conf": "x" }).nodes[0]).toMatchObject({ startupConfig: "x", startupConfigFile: "a/b.conf" });
    expect(lab(node('"a\\nb"')).nodes[0]).toMatchObject({ startupConfig: "a\nb" });
    expect(lab(node("{text: one}")).nodes[0]).toMatchObject({ startupConfig: "one" });
  });

  test("must exist, inside the project", () => {
    expect(short(node("r1.cnf"), { "r1.conf": "" })).toEqual(['file_not_found /nodes/r1/startup-config 2:45 did you mean "r1.conf"?']);
    expect(short(node("zzz"), { a: "" })).toEqual(["file_not_found /nodes/r1/startup-config 2:45 files given: a"]);
    for (const path of ["/etc/passwd", "../x", "a/../../x", "C:\\\\x"]) expect(short(node(`"${path}"`))[0]).toMatch(/^invalid_path/);
    expect(short(node("__proto__"))[0]).toMatch(/^file_not_found/);
  });
});

describe("every mistake has its code and place", () => {
  test.each([
    ["nodes: {r1: {template: frr}}", "missing_key  1:1 write name: … at the top"],
    ["name: x\nnodes: {r1: {template: frr, imgae: a}}", 'unknown_key /nodes/r1/imgae 2:29 did you mean "image"?'],
    ["name: x\nnodes: {r1: {device: frr}}", 'unknown_key /nodes/r1/device 2:14 did you mean "template"?'],
    ["name: x\nNodes: {}", 'unknown_key /Nodes 2:1 did you mean "nodes"?'],
    ["name: x\nname: y", "duplicate_key /name 2:1"],
    ["name: x\nnodes: {a: {kind: pc}, a: {kind: pc}}", "duplicate_key /nodes/a 2:24"],
    ["name: x\nnodes: {a: {kind: pc, ram: 1, memory: 1}}", "duplicate_key /nodes/a/memory 2:31"],
    ["name: x\nnodes: {}\ntopology: {nodes: {}}", "duplicate_key /nodes 2:1"],
    ["name: x\nnodes: {a: {kind: pc, cpu: many}}", "wrong_type /nodes/a/cpu 2:28"],
    ["name: x\nnodes: {a: {kind: pc, start: yes}}", "wrong_type /nodes/a/start 2:30 write true"],
    ["name: x\nnodes: {a: {kind: pc, ethernet: 65}}", "out_of_range /nodes/a/ethernet 2:33"],
    ["name: x\nnodes: {a: {kind: pc, ram: 1.5KiB}}", "invalid_value /nodes/a/ram 2:28"],
    [
      "name: x\nnodes: {a: {kind: pc, attributes: {n: 12345678901234567890}}}",
      "invalid_value /nodes/a/attributes/n 2:39 write it in quotes",
    ],
    ["name: x\nnodes: {-a: {kind: pc}}", "invalid_name /nodes/-a 2:9"],
    [`name: x\nnodes: {${"a".repeat(65)}: {kind: pc}}`, `invalid_name /nodes/${"a".repeat(65)} 2:9`],
    [`${two}networks: {r1: }`, "name_collision /networks/r1 3:12 give the network another key"],
    [`${two}links: [[r1:eth1, r3:eth1]]`, 'unknown_node /links/0/1 3:19 did you mean "r1"?'],
    [
      `${two}links: [[r1:eth1, host:veth1]]`,
      "unknown_node /links/0/1 3:19 what is outside of the lab is a network here: networks: {out: {type: nat}}",
    ],
    [`${two}links: [[r1:eth1, lan]]`, "unknown_network /links/0/1 3:19 an endpoint is node:interface or the key of a network"],
    [`${two}links: [[r1, r2:eth1]]`, 'invalid_endpoint /links/0/0 3:10 write "r1:eth1"'],
    [`${two}links: [["r1:eth 1", r2:eth1]]`, "invalid_name /links/0/0 3:10"],
    [`${two}links: [[r1:eth1, r1:eth1]]`, "self_link /links/0 3:9"],
    [`${two}links:\n- [r1:eth1, r2:eth1]\n- [r2:eth2, r1:eth1]`, "interface_in_use /links/1 5:3"],
    [`${two}networks: {a: , b: }\nlinks: [[a, b]]`, "invalid_endpoint /links/0 4:9"],
    [`${two}links: [{endpoints: [r1:a, r2:a], quality: wan3}]`, 'unknown_preset /links/0/quality 3:44 did you mean "wan1"?'],
    [`${two}links: [{endpoints: [r1:a, r2:a], quality: {loss: 100.1}}]`, "out_of_range /links/0/quality/loss 3:51"],
    [`${two}links: [{endpoints: [r1:a, r2:a], quality: {b: {delay: 10001}}}]`, "out_of_range /links/0/quality/b/delay 3:56"],
    ["name: x\nnodes: {a: {kind: pc, ethernet: 1}}\nlinks: [[a:x, a:y]]", "out_of_range /nodes/a/ethernet 2:23"],
    [`${two}traffic_filters: [{name: a, match: ip}, {name: a, match: ip}]`, "duplicate_name /traffic_filters/1/name 3:48"],
    [`${two}traffic_filters: [{name: a, match: ip, nodes: [r9]}]`, 'unknown_node /traffic_filters/0/nodes/0 3:48 did you mean "r1"?'],
    [`${two}traffic_filters: [{name: a, match: ip, links: [r1:eth1]}]`, "unknown_link /traffic_filters/0/links/0 3:48"],
    ["name: x\nnodes: {a: {kind: pc, group: g}}", "unknown_group /nodes/a/group 2:23"],
    ["name: x\nnodes: {a: }", "missing_key /nodes/a 2:9 write template: … or kind: … here or in defaults"],
    ["name: *n", "unknown_alias /name 1:7"],
    ["name: x\nnodes: &n {a: *n}", "recursive_alias /nodes/a 2:15"],
    ["name: x\nnodes: {a: {<<: 5, kind: pc}}", "invalid_merge /nodes/a/<< 2:13"],
    ["name: x\n? [a]\n: b", "non_string_key  2:3"],
    ["name: x\n---\nname: y", "multiple_documents  2:1 keep one lab in one document"],
    ["", "empty  1:1 it needs at least a name"],
    ["# nothing\n", "empty  1:1 it needs at least a name"],
    ["- a", "wrong_type  1:1 it begins with name: …"],
    ["name: x\n\tnodes:", "yaml_syntax  2:1 indent with spaces"],
    ["name: x\nnodes:\n  a:\n    startup-config: |\n      interface eth1\n\tb: {}\n", "yaml_syntax  6:1 indent with spaces"],
    ["name: x\nnodes:\n  a: {template: frr}\n \tb: {template: frr}\n", "yaml_syntax  4:2 indent with spaces"],
    ["name: x\nnodes: [\n", 'yaml_syntax  3:1 a "[" before this place is not closed'],
    ["name: x\0", "forbidden_character  1:8"],
    ['name: x\nnodes: {a: {kind: pc, env: {A: "\\0"}}}', "invalid_value /nodes/a/env/A 2:32"],
  ])("%j", (yaml, expected) => {
    expect(short(yaml)).toContain(expected);
  });

  test("all mistakes are reported at once, in the order of the text, with the end of each place", () => {
    const yaml = "name: x\nnodes:\n  r1: {template: frr, cpu: a}\n  r2: {imgae: b}\nlinks:\n  - [r1:eth1, r9:eth1]\n";
    expect(problems(yaml).map(({ code, line, column, end_line, end_column }) => [code, line, column, end_line, end_column])).toEqual([
      ["wrong_type", 3, 28, 3, 29],
      ["missing_key", 4, 3, 4, 5],
      ["unknown_key", 4, 8, 4, 13],
      ["unknown_node", 6, 15, 6, 22],
    ]);
  });

  test("invalid files are named", () => {
    expect(problems("name: x", { "../a": "", b: "", "./b": "" }).map(({ code, file }) => [code, file])).toEqual([
      ["invalid_path", "../a"],
      ["invalid_path", "b"],
    ]);
  });
});

describe("names of JavaScript's own properties are ordinary names", () => {
  test("as keys of nodes, networks, variables and kinds", () => {
    const read = lab(
      "name: x\nkinds: {toString: {template: frr}}\nnodes: {constructor: {kind: toString, env: {__proto__: a, hasOwnProperty: b}}, valueOf: {kind: hasOwnProperty}}\nnetworks: {prototype: }\nlinks: [[constructor:eth1, valueOf:eth1]]",
    );
    expect(read.nodes.map(({ key, template }) => [key, template])).toEqual([
      ["constructor", "frr"],
      ["valueOf", "hasOwnProperty"],
    ]);
    expect(Object.entries(read.nodes[0]?.env ?? {})).toEqual([
      ["__proto__", "a"],
      ["hasOwnProperty", "b"],
    ]);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  test("and are not presets, hints or groups", () => {
    expect(short(`${two}links: [{endpoints: [r1:a, r2:a], quality: constructor}]`)[0]).toMatch(/^unknown_preset/);
    expect(short("name: x\nconstructor: 1")[0]).toMatch(/^unknown_key/);
  });
});

test("published ports are kept in one notation; a port of two nodes, no port and no address are errors", () => {
  const of = (ports: string, more = "") =>
    problems(`name: x\nnodes:\n  r1: {template: linux, ports: ${ports}}\n${more}`).map(({ message }) => message);
  const { nodes } = lab(
    'name: x\nnodes: {r1: {template: linux, ports: ["9000:90", "127.0.0.1:8080:80/tcp", "[2001:db8::1]:81:80", "9000:90", "127.0.0.1:9000:90/UDP"]}}\n',
  );
  expect(nodes[0]?.ports).toEqual(["8080:80", "9000:90", "9000:90/udp", "[2001:db8::1]:81:80"]);
  for (const wrong of ["80", "a:80", "70000:80", "0:80", "80:80/sctp", "999.1.1.1:80:80", "1:2:3:4"])
    expect(of(`["${wrong}"]`), wrong).toEqual([expect.stringMatching(/is not a port|is not an IP address/)]);
  expect(of('["80:80"]', '  r2: {template: linux, ports: ["80:81"]}\n')).toEqual([
    expect.stringContaining("node r1 publishes the port 80 too"),
  ]);
  expect(of('["80:80", "53:53/udp"]', '  r2: {template: linux, ports: ["53:53"]}\n  r3: {template: linux, ports: ["53:1/udp"]}\n')).toEqual(
    [expect.stringContaining("node r1 publishes the port 53/udp too")],
  );
  expect(of("[]", '  r2: {template: linux, kernel: own, ports: ["53:53", "53:53/udp"]}\n')).toEqual([
    expect.stringContaining("53:53/udp: a node with a kernel of its own publishes UDP ports over its management interface"),
  ]);
  expect(of("[]", '  r2: {template: linux, kernel: own, ports: ["53:53", "53:53/udp"]}\nmanagement: true\n')).toEqual([]);
});

test("ssh-keys are public keys; a private key is named as such, and inherited keys are replaced", () => {
  const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqJ02XhCEMnTapl6dCbbHQVEoT8ODpOQ3xbZTMeaEIQ ann";
  const of = (keys: string) => problems(`name: x\nnodes: {r1: {template: linux, ssh-keys: ${keys}}}\n`).map(({ message }) => message);
  const inherited = lab(
    `name: x\ndefaults: {ssh-keys: ["${key}"]}\nnodes: {r1: {template: linux}, r2: {template: linux, ssh-keys: null}}\n`,
  );
  expect(inherited.nodes.map(({ sshKeys }) => sshKeys)).toEqual([[key], undefined]);
  expect(of('["-----BEGIN OPENSSH PRIVATE KEY-----"]')).toEqual([expect.stringContaining("this is a private key")]);
  for (const wrong of ['command=\\"sh\\" ssh-ed25519 AAAA', "ssh-ed25519", `${key}\\n${key}`])
    expect(of(`["${wrong}"]`), wrong).toEqual([expect.stringContaining("this is not a public key")]);
  for (const [from, to, problem] of [
    ["EMnTapl6dCb", "", "is incomplete"],
    ["IQ ann", "IQAAAA", "is incomplete"],
    ["ssh-ed25519", "ssh-rsa", "contains another kind of key"],
  ] as const)
    expect(of(`["${key.replace(from, to)}"]`), to).toEqual([expect.stringContaining(problem)]);
});
