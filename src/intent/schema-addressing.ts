import { addressingVocabulary, addressPools, poolVocabularies, protocolVocabularies, routingVocabulary } from "./lab/vocabulary.ts";
import { type Json, type JsonSchema, object } from "./schema-object.ts";

const range = (family: number, example: string): JsonSchema => ({
  title: `IPv${family} range`,
  description: "ADDRESS/LENGTH: all addresses that the pool has. A larger range makes equal places less likely.",
  type: ["string", "null"],
  examples: [example],
});

const length = (family: number, usual: string, maximum: number): JsonSchema => ({
  title: `IPv${family} prefix length`,
  description: `Of each network that the pool gives. Default: ${usual}.`,
  type: ["integer", "null"],
  minimum: 0,
  maximum,
});

const poolKeys: Readonly<Record<string, Json>> = {
  ipv4: range(4, "10.0.0.0/16"),
  prefix: length(4, "31 for p2p, 22 for lan", 31),
  ipv6: range(6, "fd00:1::/48"),
  prefix6: length(6, "127 for p2p, 64 for lan", 127),
};

const poolTexts = {
  p2p: { title: "Links", description: "A network for each link of two nodes." },
  lan: { title: "Networks", description: "A network for each network or switch, with those that are joined to it." },
  loopback: { title: "Loopbacks", description: "An address for the interface lo of each frr node." },
};

/** The schema of `addressing` of a lab. */
export const addressingSchema: JsonSchema = {
  title: "Addressing",
  description:
    "Pools of addresses for interfaces of linux and frr nodes. An address depends on the names of its nodes alone. true: 10.0.0.0/10, 10.64.0.0/10 and 10.255.0.0/16.",
  anyOf: [
    { type: ["boolean", "null"] },
    object(
      addressingVocabulary,
      Object.fromEntries(
        addressPools.map((name) => [name, { ...poolTexts[name], anyOf: [object(poolVocabularies[name], poolKeys), { type: "null" }] }]),
      ),
    ),
  ],
  examples: [true, { p2p: { ipv4: "10.0.0.0/16" }, loopback: { ipv4: "10.255.0.0/16" } }],
};

/** The schema of `addresses` of a node. */
export const addressesSchema: JsonSchema = {
  title: "Addresses",
  description:
    "ADDRESS/LENGTH of interfaces, by name; lo is the loopback. They win over the pools of addressing; [] leaves an interface without any.",
  type: ["object", "null"],
  additionalProperties: { anyOf: [{ type: ["string", "null"] }, { type: "array", items: { type: "string" } }] },
  examples: [{ lo: "10.255.0.1/32", eth1: ["10.0.0.1/24", "fd00::1/64"] }],
};

const protocols: Readonly<Record<string, Json>> = {
  ospf: {
    title: "OSPF",
    description: "For IPv4, and for IPv6 where interfaces have addresses of it.",
    anyOf: [
      { type: ["boolean", "null"] },
      object(protocolVocabularies.ospf, {
        area: {
          title: "Area",
          description: "Of the router's interfaces. A link of a router with area 0 and another is in the other's area. Default: 0.",
          type: ["integer", "string", "null"],
          minimum: 0,
          maximum: 4_294_967_295,
          examples: [0, 1],
        },
      }),
    ],
  },
  isis: {
    title: "IS-IS",
    description: "The NET has the digits of the router id.",
    anyOf: [
      { type: ["boolean", "null"] },
      object(protocolVocabularies.isis, {
        area: { title: "Area", description: "Default: 49.0001.", type: ["string", "number", "null"], examples: ["49.0001"] },
        level: { title: "Level", description: "1, 2 or 1-2. Default: 2.", enum: [1, 2, "1", "2", "1-2", null] },
      }),
    ],
  },
  bgp: {
    title: "BGP",
    description:
      "Sessions with the routers of BGP at the same links and networks; in one AS with OSPF or IS-IS, sessions of loopbacks, each with each. Announces the networks of all interfaces.",
    anyOf: [
      { type: ["boolean", "null"] },
      object(protocolVocabularies.bgp, {
        as: {
          title: "AS",
          description: "Default: a private number of four bytes that follows from the node's name.",
          type: ["integer", "null"],
          minimum: 1,
          maximum: 4_294_967_295,
          examples: [65001],
        },
      }),
    ],
  },
};

/** The schema of `routing`. */
export const routingSchema: JsonSchema = {
  title: "Routing",
  description: "Protocols of frr nodes: ospf, isis, bgp. Their configuration is generated in front of the node's own.",
  anyOf: [object(routingVocabulary, protocols), { type: "null" }],
  examples: [{ ospf: true }, { bgp: { as: 65001 } }],
};
