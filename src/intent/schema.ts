// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets of editors use this syntax

import { durationPattern } from "../base/time/duration.ts";
import { maxTests } from "./lab/lab-test.ts";
import { qualityFields, qualityLimits, qualityPresets } from "./lab/quality.ts";
import {
  boxVocabulary,
  endpointVocabulary,
  filterVocabulary,
  inheritableVocabulary,
  labVocabulary,
  leaseVocabulary,
  lineVocabulary,
  linkGroups,
  linkGroupVocabularies,
  linkVocabulary,
  managementVocabulary,
  networkVocabulary,
  nodeVocabulary,
  placeVocabulary,
  qualityVocabulary,
  sidesVocabulary,
  textVocabulary,
  topologyVocabulary,
  vxlanVocabulary,
} from "./lab/vocabulary.ts";
import { addressesSchema, addressingSchema, routingSchema } from "./schema-addressing.ts";
import { type Json, type JsonSchema, object } from "./schema-object.ts";
import { withReferences } from "./schema-references.ts";
import { switchingSchema } from "./schema-switching.ts";
import { bootSchemas, readySchema, testSchema } from "./schema-tests.ts";
import { lineEnds, lineStyles, shapeDefaults, shapeLimits } from "./shapes/shape.ts";

const NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
/** A name, or a range of names. */
const NAMES = "^[A-Za-z0-9{][A-Za-z0-9._{},-]{0,255}$";
const INTERFACE = "[A-Za-z0-9][A-Za-z0-9._/-]{0,63}";
const LINE = "^(?=.*\\S)[^\\u0000-\\u001f\\u007f]*$";

/** Schema of a text. If any word is allowed, a bare number or boolean is accepted as it is written. */
const LOOSE = ["string", "number", "boolean"];

const ref = (name: string): JsonSchema => ({ $ref: `#/definitions/${name}` });

const orNull = (schema: JsonSchema): JsonSchema => {
  const { type } = schema;
  return { ...schema, type: [...(Array.isArray(type) ? type : [type as string]), "null"] };
};

const coordinate = { type: "number", minimum: -1_000_000, maximum: 1_000_000 };
const position = {
  title: "Position on the drawing",
  type: "object",
  properties: { x: coordinate, y: coordinate },
  required: ["x", "y"],
  additionalProperties: false,
  examples: [{ x: 100, y: 50 }],
  defaultSnippets: [{ label: "{x, y}", body: { x: "${1:100}", y: "${2:100}" } }],
};
const colorForms = "#rgb, #rrggbb, #rrggbbaa, or a name of CSS such as red.";
const color = { type: ["string", "null"], pattern: "^(#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})|[A-Za-z]+)$" };
const shapeSize = { type: "number", minimum: shapeLimits.size.min, maximum: shapeLimits.size.max };
const shapeLook: Readonly<Record<string, Json>> = {
  color: { ...color, description: `Color of the line or the border; gray if absent. ${colorForms}`, examples: ["#2563eb"] },
  style: { description: "Style of the line or the border.", enum: [...lineStyles, null], default: shapeDefaults.style },
  thickness: {
    description: "Width of the line or the border, px. 0: none.",
    type: ["number", "null"],
    minimum: shapeLimits.thickness.min,
    maximum: shapeLimits.thickness.max,
    default: shapeDefaults.thickness,
  },
  layer: {
    description: "A shape of a higher layer covers those of lower ones. All are behind the links and nodes.",
    type: ["integer", "null"],
    minimum: shapeLimits.layer.min,
    maximum: shapeLimits.layer.max,
    default: shapeDefaults.layer,
  },
};
const lineEnd = { enum: [...lineEnds, "none", null], default: "none" };
const name = { type: LOOSE, pattern: NAME };
const shownName = { title: "Shown name", description: "The key, unless given.", type: LOOSE, pattern: LINE, maxLength: 64 };
const icon = { title: "Icon", type: "string", pattern: LINE, maxLength: 255, examples: ["Router.png"] };

const map = (title: string, description: string, keys: string, values: readonly string[], examples: readonly Json[]): JsonSchema => ({
  title,
  description: `${description} Merged by key with what is inherited; null takes a key back.`,
  type: ["object", "null"],
  propertyNames: { pattern: keys },
  additionalProperties: { type: [...values, "null"] },
  examples,
});

const inheritable: Readonly<Record<string, Json>> = {
  kind: {
    title: "Kind",
    description: "A key of kinds, whose fields are inherited. A word that is not in kinds is the name of a template.",
    ...orNull(name),
    examples: ["router", "linux"],
  },
  group: {
    title: "Group",
    description: "A key of groups (or several), whose fields are inherited over those of the kind.",
    anyOf: [orNull(name), { type: "array", items: name }],
    examples: ["core"],
  },
  groups: {
    title: "Groups",
    description: "Keys of groups, the later over the earlier.",
    anyOf: [orNull(name), { type: "array", items: name }],
    examples: [["core", "bgp"]],
  },
  template: {
    title: "Template",
    description: "The host's template that the node is made from.",
    ...orNull(name),
    examples: ["linux", "frr", "switch", "pc"],
  },
  image: {
    title: "Image",
    description: "An image of the template.",
    ...orNull({ type: LOOSE, pattern: LINE, maxLength: 255 }),
    examples: ["default"],
  },
  pull: {
    title: "Pull",
    description:
      "When the host pulls the image of a container from its registry. missing: if the host does not have it, the default. always: before each start. never: it must be there.",
    enum: ["missing", "always", "never", null],
    examples: ["always"],
  },
  "image-pull-policy": {
    title: "Pull, in containerlab's words",
    description: "The same as pull. IfNotPresent is missing.",
    type: ["string", "null"],
    pattern: "^([Aa]lways|[Nn]ever|[Mm]issing|[Ii]f-?[Nn]ot-?[Pp]resent)$",
    examples: ["IfNotPresent"],
  },
  kernel: {
    title: "Kernel",
    description: "own: a Linux kernel of the node's own, in a small virtual machine. shared: the machine's kernel, the default.",
    enum: ["own", "shared", null],
    examples: ["own"],
  },
  "ssh-keys": {
    title: "SSH keys",
    description:
      "Public keys, as in a .pub file, that log in as root by SSH. The node starts an SSH server that accepts no passwords. Replaces an inherited list.",
    type: ["array", "null"],
    items: { type: "string" },
    examples: [["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOqJ02XhCEMnTapl6dCbbHQVEoT8ODpOQ3xbZTMeaEIQ ann"]],
  },
  "startup-config": {
    title: "Startup configuration",
    description:
      "A path in the lab's files, or the configuration itself when it has a line break. {text: …} for a text of one line, {template: …} for a file of the lab that is rendered for each node.",
    anyOf: [
      { type: [...LOOSE, "null"] },
      { type: "object", properties: { text: { type: LOOSE } }, required: ["text"], additionalProperties: false },
      {
        type: "object",
        properties: {
          template: {
            title: "Template",
            description: "A path in the lab's files: a text in the syntax of Jinja2.",
            type: LOOSE,
            examples: ["router.j2"],
          },
        },
        required: ["template"],
        additionalProperties: false,
      },
    ],
    examples: ["r1.conf", "hostname r1\n!\n"],
    defaultSnippets: [{ label: "inline text", body: "|\n  hostname ${1:r1}\n" }],
  },
  files: {
    title: "Files",
    description: "Files in the node by absolute path: a text, or a file or folder of the lab. Written at each start, and when they change.",
    type: ["object", "null"],
    propertyNames: { pattern: "^/" },
    additionalProperties: {
      anyOf: [
        { type: [...LOOSE, "null"] },
        {
          type: "object",
          properties: {
            text: { type: LOOSE },
            from: { type: LOOSE, description: "A path in the lab's files." },
            mode: { type: ["string", "integer"], description: "Three octal digits. Default: 0644." },
            owner: { type: ["string", "integer"], description: "USER or USER:GROUP of the node. Default: root." },
          },
          additionalProperties: false,
        },
      ],
    },
    examples: [{ "/etc/motd": "welcome\n", "/usr/local/bin/probe": { from: "probe.sh", mode: "0755" } }],
  },
  binds: {
    title: "Binds",
    description:
      "SOURCE:TARGET, as in containerlab: the node gets copies of files and folders of the lab. An absolute SOURCE is a path of the service's machine that the node sees, read-only unless :rw follows; only for admins, below directories of labwright serve --bind-allow.",
    type: ["array", "null"],
    items: { type: "string" },
    examples: [["configs/frr:/etc/frr", "/srv/data:/data"]],
  },
  switching: {
    title: "Switching",
    description: "VLANs, link aggregation, spanning tree and mirror of a switch. Replaces what is inherited.",
    anyOf: [ref("switching"), { type: "null" }],
  },
  routing: { ...routingSchema, description: `${routingSchema["description"]} Merged by protocol with what is inherited.` },
  exec: {
    title: "Commands",
    description: "Run in the node, in order, each time it has started. Replaces an inherited list.",
    type: ["array", "null"],
    items: { type: "string" },
    examples: [["ip addr add 10.0.0.1/24 dev eth1"]],
  },
  cpu: {
    title: "Processors",
    description: "Whole or part.",
    type: ["number", "null"],
    exclusiveMinimum: 0,
    maximum: 1024,
    examples: [1, 0.5],
  },
  ram: ram("Memory", "MiB, or a text with a unit (512MiB, 1GiB; units are powers of 1024)."),
  memory: ram("Memory", "The same as ram, as containerlab calls it."),
  ethernet: {
    title: "Number of Ethernet interfaces",
    description: "Default: as many as the links need.",
    type: ["integer", "null"],
    minimum: 0,
    maximum: 64,
    examples: [4],
  },
  start: {
    title: "Wanted power state",
    description: "true: running; false: stopped; absent: new nodes are started, existing ones keep their state.",
    type: ["boolean", "null"],
  },
  icon: orNull(icon),
  env: map("Environment", "Environment variables.", "^[^=\\s]{1,255}$", LOOSE, [{ TZ: "UTC" }]),
  attributes: map("Attributes", "The template's own attributes.", "^\\S{1,255}$", LOOSE, []),
  labels: map("Labels", "Words for you and your tools.", "^\\S{1,255}$", LOOSE, [{ site: "north" }]),
  ready: readySchema,
};

function ram(title: string, description: string): JsonSchema {
  return {
    title,
    description,
    anyOf: [
      { type: ["integer", "null"], minimum: 1, maximum: 16 * 1024 * 1024 },
      { type: "string", pattern: "^\\d+(\\.\\d+)? ?[kmgtKMGT]i?[bB]?$" },
    ],
    examples: [256, "512MiB", "1GiB"],
  };
}

const impairment = {
  delay: { title: "Delay", description: "ms, one way" },
  jitter: { title: "Jitter", description: "ms" },
  loss: { title: "Loss", description: "%" },
  bandwidth: { title: "Bandwidth", description: "kbit/s; 0: unlimited" },
};

const sections: Readonly<Record<string, Json>> = {
  defaults: { title: "Defaults", description: "Fields that every node inherits.", anyOf: [ref("inheritable"), { type: "null" }] },
  kinds: {
    title: "Kinds",
    description: "Fields that nodes of a kind inherit, over defaults.",
    type: ["object", "null"],
    additionalProperties: { anyOf: [ref("inheritable"), { type: "null" }] },
    examples: [{ router: { template: "frr" } }],
  },
  groups: {
    title: "Groups",
    description: "Fields that nodes of a group inherit, over their kind.",
    type: ["object", "null"],
    additionalProperties: { anyOf: [ref("inheritable"), { type: "null" }] },
    examples: [{ core: { icon: "Router.png" } }],
  },
  nodes: {
    title: "Nodes",
    description: "By their key. leaf{1..4} stands for four nodes; ${node} and ${item} in it are the key and the number of each.",
    type: ["object", "null"],
    propertyNames: { pattern: NAMES },
    additionalProperties: { anyOf: [ref("node"), { type: "null" }] },
    defaultSnippets: [
      { label: "node", description: "a node", body: { "${1:r1}": { template: "${2|frr,linux,switch,pc|}" } } },
      {
        label: "router",
        description: "a router with a configuration",
        body: { "${1:r1}": { template: "frr", "startup-config": "${2:r1.conf}" } },
      },
    ],
  },
  networks: {
    title: "Networks",
    description: "Segments that more than two interfaces join, or that lead out of the lab.",
    type: ["object", "null"],
    propertyNames: { pattern: NAME },
    additionalProperties: { anyOf: [ref("network"), { type: "null" }] },
    defaultSnippets: [{ label: "network", body: { "${1:lan}": { type: "${2|bridge,nat|}" } } }],
  },
  links: {
    title: "Links",
    type: ["array", "null"],
    items: ref("link"),
    defaultSnippets: [
      { label: "link", description: "node to node", body: ["${1:r1}:${2:eth1}", "${3:r2}:${4:eth1}"] },
      {
        label: "impaired link",
        description: "with delay and loss",
        body: { endpoints: ["${1:r1}:${2:eth1}", "${3:r2}:${4:eth1}"], quality: { delay: "${5:20}", loss: "${6:0.1}" } },
      },
    ],
  },
  traffic_filters: {
    title: "Traffic filters",
    description: "Filters for the lab's traffic.",
    type: ["array", "null"],
    items: ref("filter"),
  },
  texts: { title: "Texts on the drawing", type: ["array", "null"], items: ref("text") },
  shapes: {
    title: "Shapes on the drawing",
    description: "Rectangles, ellipses and lines behind the links and nodes. Only drawn: they change nothing on the host.",
    type: ["array", "null"],
    maxItems: shapeLimits.shapes,
    items: ref("shape"),
    defaultSnippets: [
      {
        label: "rectangle",
        body: { type: "rectangle", x: "${1:0}", y: "${2:0}", width: "${3:200}", height: "${4:120}", fill: "${5:#dbeafe}" },
      },
      { label: "line", body: { type: "line", x: "${1:0}", y: "${2:0}", x2: "${3:200}", y2: "${4:0}" } },
    ],
  },
};

const ends = {
  type: "array",
  items: ref("endpoint"),
  minItems: 2,
  maxItems: 2,
  examples: [["r1:eth1", "r2:eth1"]],
  defaultSnippets: [{ label: '["a:eth1", "b:eth1"]', body: ["${1:r1}:${2:eth1}", "${3:r2}:${4:eth1}"] }],
};

const portsSchema: Json = {
  title: "Published ports",
  description:
    "TCP and UDP ports of the service's machine that lead to ports of the node, as [ADDRESS:]PORT:NODE-PORT[/udp], while it runs. Without an address: 127.0.0.1 and ::1.",
  type: ["array", "null"],
  items: { type: "string" },
  examples: [["8080:80", "5353:53/udp"]],
};

const managementSchema: JsonSchema = {
  title: "Management network",
  description: "An interface mgmt0 of each node with a fixed address, which the service's machine reaches. Default: none.",
  anyOf: [
    { type: ["boolean", "null"] },
    object(managementVocabulary, {
      "ipv4-subnet": {
        description:
          "An IPv4 network with a prefix length from 16 to 29, or auto. Its first address is the machine's. Default: the host chooses one.",
        type: ["string", "null"],
        examples: ["172.20.20.0/24"],
      },
      "ipv6-subnet": {
        description: "An IPv6 network with a prefix length from 64 to 96, or auto. Its address 1 is the machine's. Default: no IPv6.",
        type: ["string", "null"],
        examples: ["fd00:20:20::/64", "auto"],
      },
    }),
  ],
  examples: [true],
};

const duration = (description: string): JsonSchema => ({
  description,
  type: "string",
  pattern: durationPattern,
  examples: ["8h", "90m", "2d", "1h30m"],
});

const leaseSchema: JsonSchema = {
  title: "Lease",
  description: "When the lab stops by itself: after a time, or when nobody uses it. Default: never.",
  anyOf: [
    { type: "null" },
    duration("Time after which the lab stops."),
    object(leaseVocabulary, {
      for: duration("Time after which the lease ends. A deploy, a start after its end, and labwright lease extend begin or extend it."),
      idle: duration("Time without use after which the lease ends."),
      // biome-ignore lint/suspicious/noThenProperty: a key of the language
      then: { description: "What happens at the end; destroy also deletes the disks. Default: stop.", enum: ["stop", "destroy", null] },
    }),
  ],
  examples: ["8h", { for: "8h", idle: "2h" }],
};

const members = (title: string): JsonSchema => ({
  title,
  description: "Nodes, ranges of nodes such as leaf{1..4}, or groups.",
  anyOf: [
    { type: LOOSE, pattern: NAMES },
    { type: "array", items: { type: LOOSE, pattern: NAMES } },
  ],
  examples: ["leaf{1..4}", ["r1", "r2", "r3"]],
});

/** Several links in one item. Each takes the next free interfaces, as the short form does. */
const groupSchemas: Readonly<Record<string, JsonSchema>> = {
  "full-mesh": members("A link between each two nodes"),
  ring: members("A link from each node to the next, and from the last to the first"),
  star: {
    title: "A link from the hub to each spoke",
    ...object(linkGroupVocabularies.star, {
      hub: { title: "Hub", description: "A node or a network.", ...name },
      spokes: members("Spokes"),
    }),
    required: ["hub", "spokes"],
  },
  clos: {
    title: "A link from each spine to each leaf",
    ...object(linkGroupVocabularies.clos, { spines: members("Spines"), leaves: members("Leaves") }),
    required: ["spines", "leaves"],
  },
};

const variableSchemas: Readonly<Record<string, JsonSchema>> = {
  vars: {
    title: "Variables",
    description: "Values that ${name} stands for in all other values of the lab. With vars, $${ is a plain ${.",
    type: ["object", "null"],
    propertyNames: { pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,63}$" },
    additionalProperties: { type: LOOSE },
    examples: [{ site: "berlin", size: 256 }],
    defaultSnippets: [{ label: "variable", body: { "${1:site}": "${2:berlin}" } }],
  },
  "vars-files": {
    title: "Files of variables",
    description: "Files of the lab with one variable in a line, as name: value. They win over vars, the later over the earlier.",
    type: ["array", "null"],
    items: { type: "string" },
    examples: [["site.yaml"]],
  },
};

const placeSchema: JsonSchema = {
  title: "Place",
  description: "In a fleet: the machine of the lab, or labels that its machine must have. Default: the machine with the most free memory.",
  anyOf: [
    { type: "null" },
    { const: "spread", description: "The nodes are spread over the machines of the fleet." },
    object(placeVocabulary, {
      machine: { description: "Name of the machine.", type: ["string", "null"] },
      labels: map("Labels", "Labels that the machine must have.", "", LOOSE, [{ gpu: true }]),
      spread: {
        description: "nodes: they are spread over the machines. groups: nodes with the same label group stay together.",
        enum: ["nodes", "groups", null],
      },
    }),
  ],
  examples: [{ machine: "beta" }, { labels: { gpu: true } }, "spread"],
};

/** The language without references to variables. */
export const plainSchema: JsonSchema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  $id: "https://labwright.dev/schema/lab.schema.json",
  title: "Labwright lab",
  description: "A network lab: its nodes, networks and links.",
  ...object(
    labVocabulary,
    {
      name: { title: "Name of the lab", ...name, examples: ["campus"] },
      description: { title: "Description", type: ["string", "null"] },
      management: managementSchema,
      mgmt: { ...managementSchema, description: "The same as management, as containerlab calls it." },
      ...variableSchemas,
      addressing: addressingSchema,
      lease: leaseSchema,
      place: placeSchema,
      routing: { ...routingSchema, description: `${routingSchema["description"]} For all frr nodes.` },
      ...sections,
      topology: {
        title: "Topology",
        description: "containerlab's wrapper around the sections.",
        anyOf: [object(topologyVocabulary, sections), { type: "null" }],
      },
      tests: {
        title: "Tests",
        description: "Checks of the running lab: labwright test.",
        type: ["array", "null"],
        items: testSchema,
        maxItems: maxTests,
      },
    },
    { required: ["name"] },
  ),
  defaultSnippets: [
    {
      label: "lab",
      description: "two routers and a link",
      body: {
        name: "${1:lab}",
        nodes: { r1: { template: "frr" }, r2: { template: "frr" } },
        links: [["r1:eth1", "r2:eth1"]],
      },
    },
  ],
  definitions: {
    inheritable: object(inheritableVocabulary, inheritable),
    node: object(nodeVocabulary, {
      ...inheritable,
      name: orNull(shownName),
      position: orNull(position),
      addresses: addressesSchema,
      ports: portsSchema,
      "mgmt-ipv4": {
        title: "Address in the management network",
        description: "Without a prefix. The lab's management network needs an ipv4-subnet. Default: a free address.",
        type: ["string", "null"],
        examples: ["172.20.20.11"],
      },
      "mgmt-ipv6": {
        title: "IPv6 address in the management network",
        description: "Without a prefix. The lab's management network needs an ipv6-subnet.",
        type: ["string", "null"],
        examples: ["fd00:20:20::11"],
      },
      ...bootSchemas,
    }),
    switching: switchingSchema,
    network: object(networkVocabulary, {
      name: orNull(shownName),
      type: { title: "Type", description: "bridge, unless given.", ...orNull(name), examples: ["bridge", "nat"] },
      icon: orNull(icon),
      position: orNull(position),
      vxlan: {
        ...object(
          vxlanVocabulary,
          {
            remote: { title: "Remote", description: "IPv4 address of the other machine.", type: "string", examples: ["192.0.2.7"] },
            vni: {
              title: "VNI",
              description: "The same on both machines.",
              type: "integer",
              minimum: 1,
              maximum: 16_777_215,
              examples: [1001],
            },
            port: { title: "Port", description: "UDP, 4789 unless given.", type: ["integer", "null"], minimum: 1, maximum: 65_535 },
          },
          { required: ["remote", "vni"] },
        ),
        title: "VXLAN",
        description: "A tunnel to the network with the same VNI on another machine.",
      },
    }),
    link: {
      title: "Link",
      anyOf: [
        ends,
        object(
          linkVocabulary,
          {
            endpoints: { title: "Endpoints", description: "Side a and side b.", ...ends },
            ...groupSchemas,
            quality: {
              anyOf: [ref("quality"), ref("sides"), { type: "null" }],
              title: "Quality",
              description: "For both directions, or {a, b}: what leaves each side.",
            },
            suspended: {
              title: "Suspended",
              description: "As if the cable were pulled; {a, b} for one side.",
              anyOf: [
                { type: ["boolean", "null"] },
                object(sidesVocabulary, { a: { type: ["boolean", "null"] }, b: { type: ["boolean", "null"] } }),
              ],
            },
            mtu: { title: "MTU", description: "bytes", type: ["integer", "null"], minimum: 68, maximum: 65_535, examples: [1500, 9000] },
          },
          { oneOf: ["endpoints", ...linkGroups].map((key) => ({ required: [key] })) },
        ),
        {
          description: 'The short form "r1-r2" takes the next free interfaces.',
          type: "string",
          pattern: "^[A-Za-z0-9._{},-]+-[A-Za-z0-9._{},-]+$",
        },
      ],
    },
    endpoint: {
      title: "Endpoint",
      description: "node:interface, or the key of a network.",
      anyOf: [
        {
          type: LOOSE,
          pattern: `^[A-Za-z0-9{][A-Za-z0-9._{},-]{0,255}(:[A-Za-z0-9{][A-Za-z0-9._/{},-]{0,255})?$`,
          examples: ["r1:eth1", "lan"],
        },
        object(
          endpointVocabulary,
          { node: name, interface: { type: LOOSE, pattern: `^${INTERFACE}$` }, network: name },
          { oneOf: [{ required: ["node"] }, { required: ["network"] }] },
        ),
      ],
    },
    quality: {
      title: "Quality of one direction",
      anyOf: [
        { enum: Object.keys(qualityPresets), description: "A preset." },
        object(
          qualityVocabulary,
          Object.fromEntries(
            qualityFields.map((field) => [
              field,
              { ...impairment[field], type: ["number", "null"], minimum: 0, maximum: qualityLimits[field] },
            ]),
          ),
          { examples: [{ delay: 20, jitter: 2 }] },
        ),
      ],
    },
    sides: object(sidesVocabulary, { a: { anyOf: [ref("quality"), { type: "null" }] }, b: { anyOf: [ref("quality"), { type: "null" }] } }),
    filter: object(
      filterVocabulary,
      {
        name: { type: LOOSE, pattern: LINE, maxLength: 64 },
        color: { type: ["string", "null"], pattern: LINE, maxLength: 32, examples: ["#ff8800"] },
        match: { description: "A pcap filter.", type: "string", pattern: LINE, maxLength: 4096, examples: ["tcp port 179"] },
        nodes: { description: "Only these nodes.", type: ["array", "null"], items: { type: LOOSE } },
        links: {
          description: 'Only these links: "r1:eth1 -- r2:eth1", both endpoints as a list, or one interface.',
          type: ["array", "null"],
          items: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
        },
      },
      {
        title: "Traffic filter",
        required: ["name", "match"],
        defaultSnippets: [{ label: "filter", body: { name: "${1:bgp}", match: "${2:tcp port 179}" } }],
      },
    ),
    text: object(
      textVocabulary,
      { text: { type: LOOSE }, x: coordinate, y: coordinate },
      { title: "Text", required: ["text", "x", "y"], examples: [{ text: "core", x: 100, y: 20 }] },
    ),
    shape: { title: "Shape", anyOf: [ref("box"), ref("line")] },
    box: object(
      boxVocabulary,
      {
        type: { enum: ["rectangle", "ellipse"] },
        x: coordinate,
        y: coordinate,
        width: shapeSize,
        height: shapeSize,
        ...shapeLook,
        fill: {
          ...color,
          description: `Color of the inside; none, the default, leaves it empty. ${colorForms}`,
          examples: ["#dbeafe", "none"],
        },
        rotation: {
          description: "Clockwise around the middle, degrees.",
          type: ["number", "null"],
          minimum: shapeLimits.rotation.min,
          maximum: shapeLimits.rotation.max,
          default: 0,
        },
      },
      { title: "Rectangle or ellipse", required: ["type", "x", "y", "width", "height"] },
    ),
    line: object(
      lineVocabulary,
      {
        type: { enum: ["line"] },
        x: coordinate,
        y: coordinate,
        x2: coordinate,
        y2: coordinate,
        ...shapeLook,
        start: { ...lineEnd, description: "The mark at x, y." },
        end: { ...lineEnd, description: "The mark at x2, y2." },
      },
      { title: "Line", required: ["type", "x", "y", "x2", "y2"] },
    ),
  },
};

/** The language as JSON Schema (draft-07), for editors. Rules that a schema cannot express, such as links to missing nodes, are checked by readIntent. */
export const labSchema: JsonSchema = withReferences(plainSchema);
