import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exportLab, type GraphFormat, graphText, type LabFormat } from "../src/exporters/formats.ts";
import { imported } from "../src/importers/testing.fixture.ts";
import { canonicalLab } from "../src/intent/lab/canonical.ts";
import { arbitraryLab } from "../src/intent/lab/lab.arbitrary.ts";
import type { Lab, LabLink, LabNode, Quality } from "../src/intent/lab/lab.ts";
import { readIntent } from "../src/intent/read/read.ts";

/** A lab that is exported and imported again is the same for all that both languages have. */

interface Shared {
  readonly node?: (node: LabNode, lab: Lab) => object;
  readonly network?: (network: Lab["networks"][number]) => object;
  readonly link?: (link: LabLink) => object;
  readonly lab?: (lab: Lab) => object;
}

/** Returns the parts of a lab that both languages have. */
function view(lab: Lab, shared: Shared): object {
  return {
    nodes: Object.fromEntries(lab.nodes.map((node) => [node.key, shared.node?.(node, lab)])),
    networks: Object.fromEntries(lab.networks.map((network) => [network.key, shared.network?.(network)])),
    links: lab.links.map((link) => ({ key: link.key, ...shared.link?.(link) })),
    ...shared.lab?.(lab),
  };
}

const endsOf = ({ key }: LabNode, { links }: Lab) =>
  links.flatMap(({ endpoints }) => endpoints).filter((end) => "node" in end && end.node === key).length;
const place = (position: LabNode["position"]) => position && { x: Math.round(position.x) + 0, y: Math.round(position.y) + 0 };
/** Texts as a file keeps them: without the characters that YAML cannot contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const clean = (text: string) => text.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Cs}/gu, "");
const config = ({ startupConfig: text = "" }: LabNode) => (clean(text).trim() === "" ? undefined : clean(text));

/** A hundred thousandth of a second is no delay, and GNS3 and CML have one quality for both directions. */
function symmetric({ quality }: LabLink): Quality | undefined {
  const [a, b] = [quality?.a ?? {}, quality?.b ?? {}];
  const delay = Math.round(Math.max(a.delay ?? 0, b.delay ?? 0));
  const jitter = Math.round(Math.max(a.jitter ?? 0, b.jitter ?? 0));
  const loss = Math.max(a.loss ?? 0, b.loss ?? 0);
  const fields = { delay: delay === 0 && jitter > 0 ? 1 : delay, jitter, loss: loss === 0 ? 0 : Math.max(1, Math.round(loss)) };
  const used = Object.entries(fields).filter(([, value]) => value > 0);
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

const formats: readonly (readonly [name: LabFormat | GraphFormat, shared: Shared])[] = [
  [
    "gns3",
    {
      node: (node, lab) => ({
        // A VPCS has one interface.
        template: node.template === "pc" && endsOf(node, lab) > 1 ? "linux" : node.template,
        position: place(node.position),
        config: node.template === "frr" || (node.template === "pc" && endsOf(node, lab) <= 1) ? config(node) : undefined,
      }),
      network: ({ type, position }) => ({ type, position: place(position) }),
      link: (link) => ({ quality: symmetric(link), suspended: link.suspended !== undefined }),
      lab: ({ texts }) => ({
        texts: texts
          .map(({ text }) => clean(text).trim())
          .filter((text) => text !== "")
          .sort(),
      }),
    },
  ],
  ["dot", { node: ({ template }) => ({ template }), network: ({ type }) => ({ type }) }],
  ["mermaid", { node: ({ template }) => ({ template }), network: ({ type }) => ({ type }) }],
];

const graphs: readonly string[] = ["dot", "mermaid"] satisfies GraphFormat[];

function again(lab: Lab, format: LabFormat | GraphFormat): Lab {
  const files = graphs.includes(format) ? { lab: graphText(lab, format as GraphFormat) } : exportLab(lab, format as LabFormat).files;
  const { yaml, files: texts } = imported(files, { substitute: "frr", ...(graphs.includes(format) && { format }) });
  const { lab: read, diagnostics } = readIntent(yaml, texts);
  if (read === undefined) throw new Error(JSON.stringify(diagnostics));
  return read;
}

/** Other tools have one name for a node. A position that is computed is not one that was declared: every node has one. */
function named(lab: Lab): Lab {
  const nodes = lab.nodes.map((node, index) => ({ ...node, name: node.key, position: node.position ?? { x: index * 100, y: 0 } }));
  const networks = lab.networks.map((network, index) => ({
    ...network,
    name: network.key,
    position: network.position ?? { x: index * 100, y: 200 },
  }));
  return canonicalLab({ ...lab, nodes, networks });
}

describe("import(export(lab)) is the lab", () => {
  test.each(formats)("%s", (format, shared) => {
    fc.assert(
      fc.property(arbitraryLab(), (some) => {
        const lab = named(some);
        const read = again(lab, format);
        expect(view(read, shared)).toEqual(view(lab, shared));
      }),
      { numRuns: 60 },
    );
  });
});
