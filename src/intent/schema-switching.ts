import { lacpModes, maxMembers, maxPriority, maxVlan, portModes, priorityStep, spanningTreeModes } from "./lab/switching.ts";
import {
  lagVocabulary,
  mirrorVocabulary,
  portVocabulary,
  spanningTreeVocabulary,
  switchingVocabulary,
} from "./lab/switching-vocabulary.ts";
import { type Json, type JsonSchema, object } from "./schema-object.ts";

const vlan = { type: ["integer", "null"], minimum: 1, maximum: maxVlan };
const range = { type: ["integer", "string"], pattern: "^(\\s*\\d{1,4}(-\\d{1,4})?\\s*(,|$))+$|^all$", minimum: 1, maximum: maxVlan };
const names = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] };

const port: Readonly<Record<string, Json>> = {
  mode: { title: "Mode", description: "access: one VLAN, untagged. trunk: several VLANs, tagged.", enum: [...portModes] },
  vlan: { title: "VLAN", description: "Of an access port. Default: 1.", ...vlan, examples: [10] },
  vlans: {
    title: "VLANs",
    description: "Of a trunk: numbers and ranges. Without it, all.",
    anyOf: [{ type: "array", items: range }, range],
    examples: [[10, "20-29"]],
  },
  "native-vlan": {
    title: "Native VLAN",
    description: "Of a trunk's untagged frames. Default: 1 if the trunk carries it; otherwise untagged frames are dropped.",
    ...vlan,
    examples: [99],
  },
};

/** The schema of a node's `switching`. */
export const switchingSchema: JsonSchema = object(
  switchingVocabulary,
  {
    interfaces: {
      title: "Interfaces",
      description: "By name. An interface that is not listed is an access port of VLAN 1.",
      type: ["object", "null"],
      additionalProperties: object(portVocabulary, port),
      examples: [{ eth1: { mode: "access", vlan: 10 }, eth2: { mode: "trunk", vlans: [10, "20-29"], "native-vlan": 20 } }],
    },
    lag: {
      title: "Link aggregation groups",
      description: "By name. The VLANs are those of the group.",
      type: ["object", "null"],
      additionalProperties: object(lagVocabulary, {
        members: {
          title: "Members",
          description: "Interfaces.",
          type: "array",
          items: { type: "string" },
          minItems: 1,
          maxItems: maxMembers,
        },
        lacp: { title: "LACP", description: "Default: active. off: the first member with carrier is used.", enum: [...lacpModes, false] },
        ...port,
      }),
      examples: [{ lag1: { members: ["eth3", "eth4"], lacp: "active", mode: "trunk" } }],
    },
    "spanning-tree": {
      title: "Spanning tree",
      description: "off, unless given.",
      anyOf: [
        { enum: [...spanningTreeModes, false, null] },
        object(spanningTreeVocabulary, {
          mode: { title: "Protocol", enum: [...spanningTreeModes, false] },
          priority: {
            title: "Bridge priority",
            type: "integer",
            minimum: 0,
            maximum: maxPriority,
            multipleOf: priorityStep,
            examples: [4096],
          },
        }),
      ],
      examples: ["rstp", { mode: "rstp", priority: 4096 }],
    },
    mirror: {
      title: "Mirror",
      description: "Copies the frames of ports to an interface, which has no other traffic.",
      anyOf: [
        { type: "null" },
        object(
          mirrorVocabulary,
          { from: names, to: { type: "string" } },
          { required: ["from", "to"], examples: [{ from: ["eth1"], to: "eth5" }] },
        ),
      ],
    },
  },
  { title: "Switching", examples: [{ "spanning-tree": "rstp", interfaces: { eth1: { vlan: 10 }, eth2: { mode: "trunk" } } }] },
);
