import type { OperationId } from "../../src/contract/operations.ts";
import { requestSchemas } from "../../src/contract/schemas/table.ts";
import { type Known, known } from "./known.ts";
import { labPaths, nodeKeys, sampleLabs } from "./labs.ts";
import { mutateYaml } from "./mutate-yaml.ts";
import type { Random } from "./random.ts";
import { anyValue, type Field, nastyTexts, polluting, typedValue } from "./values.ts";

type BodyKind = "good" | "nearly" | "typed" | "wild" | "extra" | "text";

type Body = Record<string, unknown>;

/** The JSON text of a body for the operation: as a client would send it, nearly so, or nothing like it. */
export function bodyText(random: Random, id: OperationId, learnt: Known): string | Buffer {
  const schema = (requestSchemas[id] as { readonly body?: Field }).body ?? {};
  const kind = random.weighted<BodyKind>({ good: 60, nearly: 16, typed: 6, wild: 5, extra: 5, text: 8 });
  const body = kind === "typed" ? (typedValue(random, schema) as Body) : goodBody(random, id, schema, learnt);
  const names = Object.keys(schema.properties ?? { a: {} });
  if (kind === "nearly") {
    const name = random.pick(names);
    if (random.chance(0.15)) delete body[name];
    else body[name] = anyValue(random);
  } else if (kind === "wild") {
    for (const name of names) if (random.chance(0.3)) body[name] = anyValue(random);
  } else if (kind === "extra") {
    body[random.pick(nastyTexts)] = anyValue(random);
    Object.assign(body, random.chance(0.5) ? polluting(random) : {});
  }
  const text = JSON.stringify(body);
  return kind === "text" ? mutateJson(random, text) : text;
}

function goodBody(random: Random, id: OperationId, schema: Field, learnt: Known): Body {
  const body: Body = {};
  const lab = random.pick(sampleLabs);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const needed = schema.required?.includes(name) || (name === "yaml" && aboutIntents.has(id) && random.chance(0.8));
    const presence = needed ? 1 : (usual[name] ?? 0.04);
    if (!random.chance(presence)) continue;
    const make = goodValues[name];
    body[name] = make === undefined ? typedValue(random, field) : make(random, learnt, lab);
  }
  // The files of the lab whose text is sent.
  if (body.yaml === lab.yaml && Object.keys(lab.files).length > 0 && random.chance(0.95)) body.files = lab.files;
  return body;
}

/** The others are called with the name of a lab. */
const aboutIntents: ReadonlySet<OperationId> = new Set<OperationId>([
  "completeLinkInterfaces",
  "deployProject",
  "planProject",
  "editProject",
  "previewInterfaces",
  "reconcileProject",
  "validateProject",
]);

/** How often an optional field is given, where that is not seldom. */
const usual: Readonly<Record<string, number>> = {
  lab: 0.85,
  yaml: 0.08,
  files: 0.05,
  state: 0.15,
  node: 0.5,
  plan_identity: 0.2,
  confirm: 0.4,
  prune: 0.3,
  replace: 0.4,
  command: 0.9,
  timeout_ms: 0.8,
  targets: 0.3,
  template: 0.6,
  direction: 0.4,
  a: 0.6,
  b: 0.4,
  // editProject: a section with its value; sometimes, also beside them, the whole text.
  section: 0.95,
  value: 0.95,
  intent: 0.06,
  dir: 0.015,
  out: 0.015,
};

/** For editProject: contents of sections, right, wrong and of another one. */
const sections: readonly unknown[] = [
  "text",
  null,
  [],
  {},
  { a: { template: "linux" }, b: { template: "linux", env: { A: null } } },
  { a: null },
  { a: { template: "linux", "startup-config": "a\nb\n" }, constructor: { template: "frr" } },
  JSON.parse('{"__proto__":{"template":"linux"}}'),
  { lan: { type: "bridge" }, inet: { type: "nat" } },
  [["a:eth0", "b:eth0"]],
  [{ endpoints: ["a:eth0", "b:eth1"], quality: { delay: 5 }, mtu: 1400 }],
  [{ name: "f", match: "icmp" }],
  [
    { name: "f", match: "((", nodes: ["a"] },
    { name: "f", match: "tcp" },
  ],
  [{ text: "x", x: 1, y: -2.5 }],
  [[["deep"]]],
];

type Make = (random: Random, learnt: Known, lab: (typeof sampleLabs)[number]) => unknown;

const quality: Make = (random) => ({
  ...(random.chance(0.6) && { delay: random.pick([0, 1, 10_000]) }),
  ...(random.chance(0.3) && { loss: random.pick([0, 0.5, 100]) }),
  ...(random.chance(0.3) && { bandwidth: random.pick([0, 64, 10_000_000]) }),
});
const time: Make = (random) => random.pick([1, 20, 300, 300, 600_000]);
const flag: Make = (random) => random.chance(0.6);

/** Values by field name that a client could send. */
const goodValues: Readonly<Record<string, Make>> = {
  lab: (random) => random.pick(labPaths),
  yaml: (random, _learnt, lab) => (random.chance(0.55) ? lab.yaml : mutateYaml(random, lab.yaml)),
  files: (random, _learnt, lab) => (random.chance(0.5) ? lab.files : { [random.pick(nastyTexts)]: "text", "a/b": "" }),
  state: (random, learnt) => known(random, learnt.states, null),
  source: () => null,
  manifest: (random, learnt) =>
    random.chance(0.5)
      ? known(random, learnt.manifests, "version: 1\n")
      : mutateYaml(random, "version: 1\nmode: create\nlab: /fuzz/1\nfiles: [a]\nhost: {kind: memory, url: x}\n"),
  prune: flag,
  wipe: flag,
  refresh: flag,
  replace: flag,
  confirm: flag,
  suspended: flag,
  save: flag,
  excludeUsed: flag,
  action: (random) => random.pick(["start", "stop", "wipe", "start", "explode", ""]),
  stopmode: (random) => random.pick([0, 1, 2, 3, 3, 4]),
  id: (random) => random.int(5),
  node: (random) => random.pick(nodeKeys),
  nodes: (random) => [random.pick(nodeKeys), random.pick(nodeKeys)],
  plan_identity: (random, learnt) => known(random, learnt.identities, "none"),
  direction: (random) => random.pick(["to_host", "from_host", "", "auto"]),
  dir: (random) => random.pick(["", "/tmp"]),
  out: (random) => random.pick(["", "/tmp"]),
  template: (random) => random.pick(["frr", "linux", "switch", "pc", "none", "__proto__", ""]),
  attributes: (random) => ({ ethernet: random.pick([0, 1, 4, 64, 1e9, -1, "4"]) }),
  eth_format: (random) => random.pick(["eth{0}", "Gi0/{0}", "e{1}", "x", "", "{0}{0}", "eth{0"]),
  command: (random) => random.pick(["show", "echo hello", "hostname", "", "\u0003", "nonsense", "echo a\necho b", ...nastyTexts]),
  timeout_ms: time,
  targets: (random) =>
    Array.from({ length: random.int(4) }, () => ({
      node: random.pick(nodeKeys),
      ...(random.chance(0.5) && { command: "show", timeout_ms: 50 }),
    })),
  steps: (random) =>
    Array.from({ length: random.int(4) }, () => ({
      ...(random.chance(0.8) && { send: random.pick(["echo x", "\n", "hostname\n", ...nastyTexts]) }),
      ...(random.chance(0.6) && { expect: random.pick<unknown>(["#", "x", { regex: "# $" }, { regex: "(" }, { regex: "(x+x+)+y" }]) }),
      timeout_ms: random.pick([1, 20, 100]),
    })),
  endpoints: (random) =>
    random.pick([
      ["a:eth0", "b:eth0"],
      ["a:eth1", "b:eth0"],
      ["r1:eth1", "r2:eth1"],
      ["gw:eth1", "inet"],
      ["nobody:eth0", "b:eth0"],
      ["__proto__:eth0", "constructor:eth0"],
    ]),
  a: quality,
  b: quality,
  side: (random) => random.pick(["a", "b"]),
  interface: (random) => random.pick(["eth0", "eth1", "eth9", "lo", "../x"]),
  filter: (random) => random.pick(["icmp", "tcp port 80", "(", "x".repeat(500)]),
  snaplen: (random) => random.pick([1, 96, 262_144]),
  value: (random) => (random.chance(0.2) ? anyValue(random) : random.pick(sections)),
  intent: (random, _learnt, lab) => (random.chance(0.2) ? anyValue(random) : { yaml: lab.yaml, files: lab.files }),
  revision: (random, learnt) => known(random, learnt.revisions, "none"),
  section: (random) => random.pick(["traffic_filters", "description", "texts", "links", "nodes", "networks"]),
  filters: (random) => [random.pick(["icmp", "nothing", "__proto__"])],
  link: (random) => random.pick(["a:eth0--b:eth0", "nothing"]),
  username: (random) => random.pick(["admin", "admin", "admin", "admin", "nobody", "", "constructor"]),
  password: (random, learnt) => random.pick([learnt.password, learnt.password, learnt.password, "wrong", "", "admin"]),
};

/** JSON that is broken, or whole and strange. */
function mutateJson(random: Random, text: string): string | Buffer {
  const at = random.int(text.length + 1);
  const junk = random.pick([
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u",
    "\\ud800",
    "nul",
    "1e999",
    "-",
    "//x\n",
    "\0",
    "\x01",
    "'",
    "NaN",
    "1.",
    "+1",
  ]);
  switch (random.int(12)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + junk + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random.int(5));
    case 3:
      return `\ufeff${text}`;
    case 4:
      return `${text}${text}`;
    case 5:
      return random.pick(["", "null", "0", '""', "[]", "true", "[{}]", "{}", " ", '"\\ud800"', "{", "-0"]);
    case 6:
      return text.replace("{", '{"__proto__":{"replace":true},"lab":"/fuzz/0",');
    case 7:
      return text.replace("{", '{"constructor":{"prototype":{"replace":true}},');
    case 8:
      return text.replace("{", `{"state":${"[".repeat(at * 3)}${"]".repeat(at * 3)},`);
    case 9: {
      const bytes = Buffer.from(text);
      if (bytes.length > 0) bytes[random.int(bytes.length)] = random.int(256);
      return bytes;
    }
    case 10:
      return Buffer.from(text, "utf16le");
    default:
      return text.replace(/"(\w)/, (_match, letter: string) => `"\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
}
