import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { dotTree } from "./formats/graphs/dot-parser.ts";
import { mermaidTree } from "./formats/graphs/mermaid-parser.ts";
import { labConfTree } from "./formats/kathara/lab-conf.ts";
import { importLab } from "./import-lab.ts";
import { sample } from "./samples.fixture.ts";
import { shippedMapping, silentLeaves, sourceOf } from "./testing.fixture.ts";
import { jsonTree } from "./tree/json-tree.ts";
import type { SourceNode } from "./tree/source-tree.ts";
import { yamlTree } from "./tree/yaml-tree.ts";

type Parser = (text: string, file: string) => SourceNode;

const cases: readonly (readonly [folder: string, lab: string, format: string, parser: Parser])[] = [
  ["gns3/projects/campus", "campus.gns3", "gns3", jsonTree],
  ["gns3/projects/old", "lan.gns3", "gns3", jsonTree],
  ["gns3/projects/containers", "project.gns3", "gns3", jsonTree],
  ["netlab/projects/ospf-bgp.yml", "ospf-bgp.yml", "netlab", yamlTree],
  ["netlab/projects/lan.yml", "lan.yml", "netlab", yamlTree],
  ["netlab/projects/snapshot.yml", "snapshot.yml", "netlab", yamlTree],
  ["kathara/projects/two-as", "lab.conf", "kathara", labConfTree],
  ["kathara/projects/quagga", "lab.conf", "kathara", labConfTree],
  ["graphs/projects/clos.dot", "clos.dot", "dot", dotTree],
  ["graphs/projects/wan.gv", "wan.gv", "dot", dotTree],
  ["graphs/projects/office.mmd", "office.mmd", "mermaid", mermaidTree],
  ["graphs/projects/page.md", "page.md", "mermaid", mermaidTree],
];

/** Replaces, repeats or removes a part of a text. */
interface Change {
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat({ max: 40 }),
  text: fc.oneof(
    fc.constantFrom(
      "",
      "\n",
      '"',
      "{",
      "}",
      "[",
      "]",
      ":",
      "-",
      "null",
      "99999999999",
      "-1",
      "&a ",
      "*a",
      "__proto__",
      "constructor",
      "../..",
      "<",
      "--",
      "-->",
      "\u0000",
      "é😀",
      "true",
    ),
    fc.string({ maxLength: 8 }),
  ),
});

function changed(text: string, changes: readonly Change[]): string {
  return changes.reduce((now, { at, length, text: other }) => {
    const start = Math.floor(at * now.length);
    return now.slice(0, start) + other + now.slice(start + length);
  }, text);
}

describe.each(cases)("%s", (folder, lab, format, parser) => {
  const files = sample(folder);
  const text = Buffer.from(files[lab] ?? "").toString();

  test("each key is in the report exactly once, also of changed files, for which nothing but the clear error is thrown", () => {
    let read = 0;
    const check = (now: string) => {
      try {
        const { report, diagnostics } = importLab(sourceOf({ ...files, [lab]: now }), {
          mapping: shippedMapping,
          format,
          path: lab,
          substitute: "frr",
        });
        read++;
        expect(silentLeaves(report, lab, parser(now, lab))).toEqual([]);
        expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== "invalid_source") throw error;
      }
    };
    check(text);
    expect(read).toBe(1);
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => check(changed(text, changes))),
      { numRuns: 30 },
    );
  });
});

/** A text that costs much more to read than to send. */
const hostile: readonly (readonly [name: string, file: string, text: string])[] = [
  ["nested JSON", "x.gns3", `{"type":"topology","topology":${"[".repeat(100_000)}`],
  ["nested subgraphs", "x.dot", `graph {${"{".repeat(100_000)}`],
  [
    "edges between groups",
    "x.dot",
    `graph { {${Array.from({ length: 2_000 }, (_, index) => `a${index} `).join("")}} -- {${Array.from({ length: 2_000 }, (_, index) => `b${index} `).join("")}} }`,
  ],
  ["a text without an end", "x.dot", `graph { a [label="${"x".repeat(1_000_000)}`],
  ["HTML without an end", "x.dot", `graph { a [label=${"<".repeat(500_000)}`],
  [
    "aliases of aliases",
    "topology.yml",
    `nodes: [r1]\nprovider: clab\na0: &a0 [x]\n${Array.from({ length: 40 }, (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]`).join("\n")}\n`,
  ],
  ["tags", "topology.yml", "provider: clab\nnodes: !!python/object/apply:os.system [reboot]\n"],
  [
    "groups of links in groups",
    "topology.yml",
    `provider: clab\nnodes: [r1, r2]\nlinks:\n- ${"{group: a, members: [".repeat(30)}r1-r2${"]}".repeat(30)}\n`,
  ],
];

test.each(hostile)(
  "%s are refused with a clear error in bounded time",
  (_name, file, text) => {
    expect(() => importLab(sourceOf({ [file]: text }), { mapping: shippedMapping })).toThrow(Failure);
  },
  20_000,
);

test.each<[string, string, string]>([
  ["a statement of a megabyte", "x.mmd", `graph TD\n${"A-->".repeat(250_000)}B\n`],
  ["brackets without an end", "x.mmd", `graph TD\nA${"[".repeat(1_000_000)}\n`],
  ["many quotes", "x.mmd", `graph TD\n${'A["'.repeat(5_000)}\n`],
  ["a name of many hyphens", "topology.yml", `provider: clab\nnodes: [r1]\nlinks:\n- ${"r1-".repeat(100_000)}r1\n`],
])(
  "%s is read in bounded time",
  (_name, file, text) => {
    expect(importLab(sourceOf({ [file]: text }), { mapping: shippedMapping }).diagnostics).toEqual([]);
  },
  20_000,
);
