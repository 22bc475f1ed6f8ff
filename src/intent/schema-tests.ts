// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets of editors use this syntax
import { neighborStates, testDefaults } from "./lab/lab-test.ts";
import { dependencyStates, maxConditions } from "./lab/node-boot.ts";
import {
  checkVocabularies,
  conditionVocabulary,
  givenVocabulary,
  stageVocabulary,
  testChecks,
  testVocabulary,
  waitVocabulary,
} from "./lab/vocabulary.ts";
import { type Json, type JsonSchema, object } from "./schema-object.ts";

const word = { type: ["string", "number", "boolean", "null"] };
const address: JsonSchema = { type: ["string", "number", "null"], maxLength: 255, examples: ["10.0.0.1", "10.0.2.0/24"] };
const output: JsonSchema = { ...word, maxLength: 10_000 };
const lines: JsonSchema = { anyOf: [word, { type: "array", items: word }] };
const number = (minimum: number, maximum: number, description: string): JsonSchema => ({
  type: ["number", "null"],
  minimum,
  maximum,
  description,
});
const names = (description: string): JsonSchema => ({ description, anyOf: [word, { type: "array", items: word }] });

const checks: Readonly<
  Record<
    (typeof testChecks)[number],
    { readonly description: string; readonly parts: Readonly<Record<string, Json>>; readonly short: boolean }
  >
> = {
  ping: {
    description: "ICMP echo: an address or name, or a map.",
    short: true,
    parts: {
      to: address,
      count: number(1, 100, `Requests; default ${testDefaults.count}.`),
      loss: number(0, 100, "Maximum loss, %; default 0."),
      rtt: number(0, 60_000, "Maximum average round trip, ms."),
    },
  },
  http: {
    description: "An address, or a map.",
    short: true,
    parts: { url: { type: "string" }, status: number(100, 599, "Default 200."), contains: { ...output, description: "Text in the body." } },
  },
  port: {
    description: "A TCP connection: 10.0.0.1:22, or a map.",
    short: true,
    parts: { to: address, port: number(1, 65_535, "TCP port.") },
  },
  command: {
    description: "A shell's command, or a map.",
    short: true,
    parts: {
      run: output,
      exit: number(0, 255, "Exit code; default 0."),
      contains: { ...output, description: "Text in its output." },
      lacks: { ...output, description: "Text that is not in its output." },
    },
  },
  route: {
    description: "A route to this prefix, or a map.",
    short: true,
    parts: { to: address, via: address, interface: address, protocol: address },
  },
  neighbor: {
    description: "A neighbor of a routing protocol of FRR.",
    short: false,
    parts: {
      protocol: { enum: [...Object.keys(neighborStates), null] },
      peer: address,
      state: { ...word, description: "Default: Full, Established, Up." },
    },
  },
  path: {
    description: "The hops of a traceroute; * is any.",
    short: false,
    parts: { to: address, hops: { type: ["array", "null"], items: word } },
  },
  config: { description: "Lines of FRR's running configuration.", short: true, parts: { contains: lines, lacks: lines } },
};

function check(kind: (typeof testChecks)[number]): JsonSchema {
  const { description, parts, short } = checks[kind];
  const map = object(checkVocabularies[kind], parts);
  const alone = kind === "config" ? lines : word;
  return { description, anyOf: short ? [alone, map] : [map, { type: "null" }] };
}

/** One check. */
const condition = object(conditionVocabulary, Object.fromEntries(testChecks.map((kind) => [kind, check(kind)])));

export const readySchema: JsonSchema = {
  title: "Ready when",
  description: "Checks that run in the node, as in tests. The node is ready when all have passed. Replaces an inherited list.",
  anyOf: [condition, { type: "array", items: condition, maxItems: maxConditions }, { type: "null" }],
  examples: [[{ route: "10.0.0.0/8" }]],
};

/** The keys of a node that describe its start, and that are not inherited. */
export const bootSchemas: Readonly<Record<"depends-on" | "stages", JsonSchema>> = {
  "depends-on": {
    title: "Depends on",
    description: "Nodes that must run, or be ready, before this node starts: a name, a list, or {NODE: ready}.",
    anyOf: [word, { type: "array", items: word }, { type: "object", additionalProperties: { enum: [...dependencyStates, null] } }],
    examples: [["r1"], { r1: "ready" }],
  },
  stages: {
    title: "Stages",
    description: "containerlab's stages: wait-for of any stage is read as depends-on.",
    type: ["object", "null"],
    additionalProperties: {
      anyOf: [
        object(stageVocabulary, {
          "wait-for": { type: ["array", "null"], items: object(waitVocabulary, { node: word, stage: word }, { required: ["node"] }) },
        }),
        { type: "null" },
      ],
    },
  },
};

export const testSchema: JsonSchema = {
  ...object(
    testVocabulary,
    {
      name: { ...word, title: "Name", maxLength: 120 },
      from: {
        title: "Nodes",
        ...names("A node or a selector (r*, kind:frr, group:core, label:role=edge), or a list: the check runs in each."),
      },
      ...Object.fromEntries(testChecks.map((kind) => [kind, check(kind)])),
      within: number(
        0,
        3600,
        `Seconds in which the check must succeed, or for which it must fail with expect: fail; default ${testDefaults.within}.`,
      ),
      expect: { enum: ["pass", "fail", null], description: "fail: the check must fail, and still fail at the end of within." },
      given: {
        description: "For the time of the test.",
        anyOf: [
          object(givenVocabulary, { suspend: names("Pulled cables, node:interface."), stop: names("Stopped nodes.") }),
          { type: "null" },
        ],
      },
    },
    { required: ["from"] },
  ),
  defaultSnippets: [
    { label: "ping", body: { from: "${1:h1}", ping: "${2:10.0.0.1}" } },
    { label: "command", body: { from: "${1:r1}", command: "${2:true}" } },
  ],
};
