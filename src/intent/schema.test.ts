// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables have this syntax

import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readIntent } from "./read/read.ts";
import { labSchema } from "./schema.ts";

// ajv comes with fastify; it is not a dependency of the project itself.
const fromFastify = createRequire(createRequire(import.meta.url).resolve("fastify"));
const { default: Ajv } = fromFastify("ajv") as {
  default: new (options: object) => { compile(schema: object): (data: unknown) => boolean };
};
const accepts = new Ajv({ strict: false, allErrors: true }).compile(labSchema);

const files = { "r1.conf": "hostname r1\n", "r1.yaml": "a: 1\n" };

const good = [
  "name: x",
  "name: 12",
  "name: x\ndescription:\nnodes:\nnetworks:\nlinks:\ntexts:\ntraffic_filters:\ndefaults:\nkinds:\ngroups:\n",
  "name: x\nnodes: {r1: {template: frr}}",
  "name: x\ndefaults: {template: frr}\nnodes:\n  r1:\n  r2: {image: 7.10, ram: 1GiB, cpu: 0.5, ethernet: 0, start: false, position: {x: 1, y: -2.5}}",
  "name: x\nnodes: {r1: {template: frr, startup-config: r1.conf, exec: [a], env: {A: 1, B: null}, attributes: {a: true}, labels: {l: x}}}",
  'name: x\nnodes: {r1: {template: frr, startup-config: {text: "one line"}, image: null, exec: null, env: null}}',
  "name: x\nkinds: {router: {template: frr}}\ngroups: {core: {icon: R.png}}\nnodes: {r1: {kind: router, group: core}, r2: {kind: router, groups: [core]}}",
  "name: x\nnodes: {r1: {kind: linux, binds: [a:b], ports: [1:2], mgmt-ipv4: 1.2.3.4, memory: 512mb}}",
  "name: x\nprefix: ''\nmgmt: {network: a}\ntopology: {nodes: {r1: {kind: linux}}}",
  'name: x\nnodes: {r1: {template: frr}, r2: {template: frr}}\nnetworks: {lan: , inet: {type: nat, name: Net, icon: C.png}}\nlinks: ["r1-r2", ["r1:eth7", lan], {endpoints: [inet, {node: r2, interface: eth9, mac: aa}]}]',
  "name: x\nnodes: {r1: {template: frr}, r2: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r2:eth1], quality: wan1, suspended: true, mtu: 9000}, {endpoints: [r1:e0/1, r2:ge-0/0/1.5], quality: {a: {delay: 20, jitter: 0.5}, b: 3g}, suspended: {a: true}}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, {node: r1, interface: eth2}], quality: {loss: 100, bandwidth: 10000000}, type: veth}]",
  "name: x\nnodes: {r1: {template: frr}, r2: {template: frr}}\nlinks: [[r1:eth1, r2:eth1]]\ntraffic_filters: [{name: bgp, match: tcp port 179, color: red, nodes: [r1], links: [r1:eth1, [r2:eth1, r1:eth1]]}]",
  "name: x\ntexts: [{text: a, x: 1, y: 2}, {text: 5, x: 0, y: 0}]\ntests: []",
  "name: x\nnodes: {a: {template: frr}, b: {template: frr}}\nlinks: [[a:eth1, b:eth1]]\ntests: [{from: a, ping: 10.0.0.2}, {name: all, from: [a, b], command: {run: 'ip route', exit: 0, contains: default, lacks: bgp}, within: 30, expect: fail, given: {suspend: 'a:eth1', stop: [b]}}]",
  "name: x\nnodes: {a: {template: frr}}\ntests: [{from: a, http: 'http://10.0.0.1/'}, {from: a, port: '[fd00::1]:22'}, {from: a, route: 10.0.0.0/8}, {from: a, neighbor: {protocol: ospf, peer: 1.1.1.1, state: 2-Way}}, {from: a, path: {to: b, hops: ['*', 10.0.0.1]}}, {from: a, config: router ospf}, {from: a, config: {lacks: [router bgp]}}]",
  'name: "${v}"\nvars: {v: x, n: 2, m: 1500, b: true, w: satellite}\ndefaults: {template: pc, cpu: "${n}", start: "${b}"}\nnodes: {r1: {icon: "${v}.png"}, r2: {ram: "${n}"}}\nlinks: [{endpoints: ["r1:eth${n}", "r2:eth1"], quality: "${w}", mtu: "${m}"}]',
  "name: x\nvars:\nvars-files: [r1.yaml]",
  "name: x\ndefaults: {template: pc}\nnodes: {'leaf{1..3}': {labels: {number: '${item}'}}, 'spine{a,b}': , r1: }\nnetworks: {lan: }\nlinks: [['leaf{1..2}:eth9', 'spinea:eth{8,9}'], 'leaf{1..3}-r1', {clos: {spines: 'spine{a,b}', leaves: 'leaf{1..3}'}, mtu: 9000}, {full-mesh: [r1, 'leaf{1..2}']}, {ring: 'leaf{1..3}'}, {star: {hub: lan, spokes: r1}}]",
  "name: x\naddressing: {p2p: {ipv4: 10.0.0.0/16, prefix: 30}, lan: {ipv6: 'fd00::/48', prefix6: 64}, loopback: {ipv4: 10.255.0.0/16}}\nnodes: {r1: {template: frr, addresses: {lo: 10.1.1.1/32, eth1: ['10.9.0.1/24', 'fd01::1/64']}}, h1: {template: linux, addresses: {eth1: []}}}\nlinks: [r1-h1]",
  "name: x\naddressing: true",
  "name: x\nlease: 8h",
  "name: x\nlease: {for: 1d12h, idle: 90m, then: destroy}",
  "name: x\nlease:",
  "name: x\nplace: {machine: beta, labels: {gpu: true, rack: 7}}",
  "name: x\nplace:",
  "name: x\ndefaults: {template: frr, startup-config: {template: r1.conf}}\nnodes: {r1: }",
  "name: x\naddressing: true\nrouting: {ospf: true, isis: {area: 49.0002, level: 1-2}, bgp: false}\ngroups: {edge: {routing: {bgp: {as: 65001}}}}\nnodes: {r1: {template: frr, routing: {ospf: {area: 0.0.0.1}}}, r2: {template: frr, group: edge, routing: null}}\nlinks: [r1-r2]",
];

const bad = [
  "name: x\nlease: 8",
  "name: x\nplace: beta",
  "name: x\nplace: {cpu: 4}",
  "name: x\nplace: {labels: [gpu]}",
  "name: x\nlease: [8h]",
  "name: x\nlease: {for: 8 hours}",
  "name: x\nlease: {for: 8h, then: reboot}",
  "name: x\naddressing: yes",
  "name: x\nnodes: {r1: {template: frr, startup-config: {template: r1.conf, text: a}}}",
  "name: x\nrouting: ospf",
  "name: x\nrouting: {rip: true}",
  "name: x\nrouting: {bgp: {as: 0}}",
  "name: x\nrouting: {isis: {level: 3}}",
  "name: x\naddressing: {p2p: 10.0.0.0/8}",
  "name: x\naddressing: {p2p: {ipv4: 10.0.0.0/16, prefix: 32}}",
  "name: x\naddressing: {wan: {ipv4: 10.0.0.0/16}}",
  "name: x\nnodes: {r1: {template: frr, addresses: [10.0.0.1/24]}}",
  "name: x\ndefaults: {template: frr, addresses: {lo: 10.0.0.1/32}}",
  "name: x\nvars: [a]",
  "name: x\nvars: {a: [b]}",
  "name: x\nvars: {a b: c}",
  "name: x\nvars-files: site.yaml",
  "name: x\ndefaults: {template: pc}\nnodes: {a: , b: }\nlinks: [{full-mesh: [a, b], ring: [a, b]}]",
  "name: x\ndefaults: {template: pc}\nnodes: {a: , b: }\nlinks: [{star: {hub: a}}]",
  "description: no name",
  "name: a b",
  "name: x\nnoeds: {}",
  "name: x\nnodes: []",
  "name: x\nnodes: {r 1: {template: frr}}",
  "name: x\nnodes: {r1: frr}",
  "name: x\nnodes: {r1: {template: frr, imgae: x}}",
  "name: x\nnodes: {r1: {template: frr, icon: 5}}",
  "name: x\nnodes: {r1: {template: frr, image: ''}}",
  "name: x\nnodes: {r1: {template: frr, cpu: 0}}",
  'name: x\nnodes: {r1: {template: frr, cpu: "1"}}',
  "name: x\nnodes: {r1: {template: frr, ram: 0}}",
  "name: x\nnodes: {r1: {template: frr, ram: 1.5}}",
  "name: x\nnodes: {r1: {template: frr, ram: lots}}",
  "name: x\nnodes: {r1: {template: frr, ethernet: 65}}",
  "name: x\nnodes: {r1: {template: frr, ethernet: -1}}",
  "name: x\nnodes: {r1: {template: frr, start: 'yes'}}",
  "name: x\nnodes: {r1: {template: frr, exec: ls}}",
  "name: x\nnodes: {r1: {template: frr, exec: [5]}}",
  "name: x\nnodes: {r1: {template: frr, env: [A=b]}}",
  "name: x\nnodes: {r1: {template: frr, env: {A: {}}}}",
  "name: x\nnodes: {r1: {template: frr, env: {A=: b}}}",
  "name: x\nnodes: {r1: {template: frr, position: {x: 1}}}",
  "name: x\nnodes: {r1: {template: frr, position: [1, 2]}}",
  "name: x\nnodes: {r1: {template: frr, startup-config: {file: r1.conf}}}",
  "name: x\ndefaults: {position: {x: 1, y: 2}, template: frr}",
  "name: x\ndefaults: {name: all}",
  "name: x\nnetworks: {lan: {type: 'a b'}}",
  "name: x\nnetworks: {lan: bridge}",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [[r1:eth1]]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{quality: wan1}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], quality: {delay: 10001}}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], quality: {loss: -1}}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], quality: wan9}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], quality: {a: wan1, delay: 5}}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], suspended: {c: true}}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [{endpoints: [r1:eth1, r1:eth2], mtu: 10}]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [[r1:eth1, {interface: eth2}]]",
  "name: x\nnodes: {r1: {template: frr}}\nlinks: [[r1:eth1, 'r1:eth 2']]",
  "name: x\ntraffic_filters: [{name: a}]",
  "name: x\ntraffic_filters: [{name: a, match: ''}]",
  "name: x\ntexts: [{text: a, x: 1}]",
  "name: x\ntopology: {name: y}",
  "name: x\ntests: {a: 1}",
  "name: x\nnodes: {a: {template: frr}}\ntests: [{from: a, pong: b}]",
  "name: x\nnodes: {a: {template: frr}}\ntests: [{from: a, ping: {to: b, loss: 101}}]",
  "name: x\nnodes: {a: {template: frr}}\ntests: [{from: a, neighbor: {protocol: rip, peer: b}}]",
  "name: x\nnodes: {a: {template: frr}}\ntests: [{ping: a}]",
];

test.each(good)("schema and reader accept %j", (yaml) => {
  const { diagnostics } = readIntent(yaml, files);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(accepts(parse(yaml))).toBe(true);
});

test.each(bad)("schema and reader refuse %j", (yaml) => {
  expect(readIntent(yaml, files).lab).toBeUndefined();
  expect(accepts(parse(yaml))).toBe(false);
});

test("the schema is draft-07 with the published id", () => {
  expect(labSchema.$schema).toBe("http://json-schema.org/draft-07/schema#");
  expect(labSchema.$id).toBe("https://labwright.dev/schema/lab.schema.json");
});
