import { join } from "node:path";
import { exampleLabs } from "../../scripts/example-labs.ts";

/** Labs to begin from: the examples, and some that use every part of the language and names that JavaScript knows. */
export interface SampleLab {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

const examples = exampleLabs(join(import.meta.dirname, "../../labs"));

const rich = `name: rich
description: every part of the language
defaults: {ram: 64, env: {A: b}}
kinds:
  router: &router {template: frr, cpu: 1}
groups:
  core: {icon: Router.png, labels: {tier: core}}
nodes:
  a:
    <<: *router
    group: core
    name: R1
    startup-config: |
      hostname R1
      !
    exec: ["ip addr add 10.0.0.1/24 dev eth1"]
    ethernet: 4
    start: true
    position: {x: 100, y: 50.5}
    attributes: {forwarding: true}
  b: {template: linux, start: false, env: {A: null, "B C": "d"}}
  constructor: {template: pc}
  toString: {template: switch, ram: 128}
networks:
  lan: {type: bridge, position: {x: 1, y: 2}}
  inet: {type: nat}
links:
  - endpoints: ["a:eth1", "b:eth0"]
    quality: {a: {delay: 20, jitter: 2}, b: {loss: 0.5, bandwidth: 10000}}
    mtu: 1400
  - {endpoints: [{node: a, interface: eth2}, "lan"], quality: wifi, suspended: true}
  - ["constructor:eth0", "toString:eth0"]
  - ["b:eth1", "inet"]
traffic_filters:
  - {name: icmp, color: "#ff0000", match: icmp, nodes: [a]}
texts: [{text: "Lab\\tone", x: 1, y: 2}]
tests: []
`;

/** Addresses, routing and a template: short texts that stand for long ones. */
const generated = `name: generated
addressing: {p2p: {ipv4: 10.0.0.0/16, ipv6: "fd00:1::/48"}, lan: {ipv4: 172.16.0.0/12, prefix: 22}, loopback: {ipv4: 10.255.0.0/16}}
routing: {ospf: {area: 0}, isis: {area: "49.0001", level: 1-2}, bgp: {as: 65000}}
vars: {site: berlin}
groups:
  edge: {startup-config: {template: router.j2}}
nodes:
  r{1..3}: {template: frr}
  e1: {template: frr, group: edge, addresses: {lo: 10.1.1.1/32, eth1: ["192.0.2.1/24"]}, routing: {bgp: {as: 65001}, isis: false}}
  h{1..2}: {template: linux}
  sw1: {template: switch}
links:
  - full-mesh: r{1..3}
  - e1-r1
  - h{1..2}-sw1
  - r2-sw1
`;

const router = `hostname {{ node.key }}-{{ vars.site }}
{% for interface in interfaces %}
interface {{ interface.name }}
 description {{ interface.neighbors | map(attribute="node") | join(", ") }}
{% endfor %}
`;

const wrapped = `# as containerlab writes it
name: clab
topology:
  defaults: {template: linux}
  nodes:
    h1: {}
    "2": {image: default}
  links:
    - endpoints: ["h1:eth0", "2:eth0"]
`;

export const sampleLabs: readonly SampleLab[] = [
  // Without their tests, which cannot pass on a host without a network, and would use all of their time.
  ...examples.map(({ yaml, files }) => ({ yaml: yaml.replace(/^tests:\n(?: .*\n)+/m, ""), files })),
  { yaml: rich, files: {} },
  { yaml: generated, files: { "router.j2": router } },
  { yaml: wrapped, files: {} },
];

/** The labs that requests work on; few, so that they meet each other. */
export const labPaths = ["/fuzz/0", "/fuzz/1", "/fuzz/2", "/fuzz/3", "/fuzz/4 5", "/constructor", "/a/b/c/d/e/f/g/h"];

export const nodeKeys = [
  "a",
  "a",
  "a",
  "b",
  "b",
  "a",
  "b",
  "r1",
  "r2",
  "h1",
  "h2",
  "sw",
  "pc1",
  "gw",
  "constructor",
  "toString",
  "2",
  "nobody",
  "__proto__",
];
