import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interfaceNaming } from "../src/base/names/interface-names.ts";
import type { GraphFormat, LabFormat } from "../src/exporters/format-names.ts";
import { exportLab, graphText } from "../src/exporters/formats.ts";
import { exportedMachines } from "../src/exporters/tools/machines.ts";
import { pcConfig } from "../src/importers/reading/pc-config.ts";
import { imported } from "../src/importers/testing.fixture.ts";
import { canonicalLab } from "../src/intent/lab/canonical.ts";
import { arbitraryLab } from "../src/intent/lab/lab.arbitrary.ts";
import { endpointText, type Lab, type LabLink, type LabNode, type Position, type Quality } from "../src/intent/lab/lab.ts";
import { readIntent } from "../src/intent/read/read.ts";
import type { LabShape } from "../src/intent/shapes/shape.ts";

/** A lab that is exported and imported again is the same for all that both languages have. */

interface Shared {
  /** Returns a lab without parts that the other language does not have. */
  readonly within?: (lab: Lab) => Lab;
  readonly node?: (node: LabNode, lab: Lab) => object;
  readonly network?: (network: Lab["networks"][number]) => object;
  readonly link?: (link: LabLink) => object;
  readonly lab?: (lab: Lab) => object;
  readonly shape?: (shape: LabShape) => object;
}

/** Returns the parts of a lab that both languages have. */
function view(lab: Lab, shared: Shared): object {
  return {
    shapes: (lab.shapes ?? []).map((shape) => shownShape((shared.shape?.(shape) ?? shape) as LabShape)),
    nodes: Object.fromEntries(lab.nodes.map((node) => [node.key, shared.node?.(node, lab)])),
    networks: Object.fromEntries(lab.networks.map((network) => [network.key, shared.network?.(network)])),
    links: lab.links.map((link) => ({ key: link.key, ...shared.link?.(link) })),
    ...shared.lab?.(lab),
  };
}

/** Layers may get other numbers: the order stays. Without a border, its color and style are not kept. */
function shownShape({ layer: _layer, ...shape }: LabShape): object {
  if (shape.thickness !== 0) return shape;
  const { color: _color, style: _style, ...rest } = shape;
  return rest;
}

/** GNS3's lines have no marks. It turns a drawing around its corner, which is at whole pixels. */
function gns3Shape(shape: LabShape): object {
  const { start: _start, end: _end, ...line } = shape as Partial<Extract<LabShape, { type: "line" }>>;
  if (shape.type === "line") return line;
  return shape.rotation === undefined ? shape : { ...shape, x: Math.round(shape.x / 4), y: Math.round(shape.y / 4) };
}

/** Editors of containerlab know arrows only. */
function arrowsOnly(shape: LabShape): object {
  if (shape.type !== "line") return shape;
  const { start, end, ...line } = shape;
  return { ...line, ...(start !== undefined && { start: "arrow" }), ...(end !== undefined && { end: "arrow" }) };
}

const endsOf = ({ key }: LabNode, { links }: Lab) =>
  links.flatMap(({ endpoints }) => endpoints).filter((end) => "node" in end && end.node === key).length;
const place = (position: LabNode["position"]) => position && { x: Math.round(position.x) + 0, y: Math.round(position.y) + 0 };
/** Texts as a file keeps them: without the characters that YAML cannot contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const clean = (text: string) => text.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Cs}/gu, "");
const config = ({ startupConfig: text = "" }: LabNode) => (clean(text).trim() === "" ? undefined : clean(text));
/** The importer takes commands of template pc only. */
const pcCommands = (node: LabNode) => pcConfig(config(node) ?? "").text || undefined;

/** A hundred thousandth of a second is not a delay, and GNS3 and CML have one quality for both directions. */
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
      shape: gns3Shape,
      node: (node, lab) => ({
        // A VPCS has one interface.
        template: node.template === "pc" && endsOf(node, lab) > 1 ? "linux" : node.template,
        position: place(node.position),
        config: node.template === "frr" ? config(node) : node.template === "pc" && endsOf(node, lab) <= 1 ? pcCommands(node) : undefined,
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
  [
    "containerlab",
    {
      shape: arrowsOnly,
      // Switches and networks are bridges there, and a way out is the management network.
      within: (lab) => onlyNetworks(withTemplates(lab, { switch: "linux", pc: "linux" }), "bridge"),
      node: ({ template, position }) => ({ template, position: place(position) }),
      network: ({ type, position }) => ({ type, position: place(position) }),
      link: ({ mtu }) => ({ mtu }),
    },
  ],
  [
    "unl",
    {
      within: (lab) => inView(withTemplates(lab, { switch: "linux" })),
      node: ({ template }) => ({ template }),
      network: ({ type }) => ({ type }),
      link: ofNodes,
    },
  ],
  [
    "cml",
    {
      within: (lab) => onlyNetworks(withTemplates(lab, { switch: "linux", pc: "linux" }), "bridge"),
      node: (node) => ({
        template: node.template,
        position: place(node.position),
        config: node.template === "frr" ? config(node) : undefined,
      }),
      network: ({ position }) => ({ position: place(position) }),
      link: (link) => ({ quality: strongest(link) }),
    },
  ],
  ["dot", { within: withoutShapes, node: ({ template }) => ({ template }), network: ({ type }) => ({ type }) }],
  ["mermaid", { within: withoutShapes, node: ({ template }) => ({ template }), network: ({ type }) => ({ type }) }],
];

function withoutShapes(lab: Lab): Lab {
  return { ...lab, shapes: [] };
}

function withTemplates(lab: Lab, templates: Readonly<Record<string, string>>): Lab {
  return { ...lab, nodes: lab.nodes.map((node) => ({ ...node, template: templates[node.template] ?? node.template })) };
}

function onlyNetworks(lab: Lab, type: string): Lab {
  return { ...lab, networks: lab.networks.map((network) => ({ ...network, type })) };
}

/**
 * Returns the qualities by interface, because a link can be written from either end. On EVE-NG, a network's end of a link has no interface: the host can
 * neither impair nor suspend that end.
 */
function ofNodes({ endpoints, quality, suspended }: LabLink): object {
  const sides = endpoints.map((end, index) => [endpointText(end), "network" in end ? undefined : index === 0 ? quality?.a : quality?.b]);
  return {
    quality: Object.fromEntries(sides),
    isSuspended: suspended !== undefined && (suspended.a || !endpoints.some((end) => "network" in end)),
  };
}

function strongest({ quality }: LabLink): Quality | undefined {
  const [a, b] = [quality?.a ?? {}, quality?.b ?? {}];
  const most = (field: "delay" | "jitter" | "loss") => Math.max(a[field] ?? 0, b[field] ?? 0);
  const rates = [a.bandwidth, b.bandwidth].filter((value) => value !== undefined && value > 0) as number[];
  const fields = {
    delay: most("delay"),
    jitter: most("jitter"),
    loss: most("loss"),
    bandwidth: rates.length === 0 ? 0 : Math.min(...rates),
  };
  const used = Object.entries(fields).filter(([, value]) => value > 0);
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

/** A drawing that the export does not move. */
function inView(lab: Lab): Lab {
  const placed = <P extends { readonly position?: Position }>(part: P): P =>
    part.position === undefined ? part : { ...part, position: { x: Math.max(0, part.position.x), y: Math.max(0, part.position.y) } };
  return { ...lab, nodes: lab.nodes.map(placed), networks: lab.networks.map(placed) };
}

/** The importers' names of these formats; a lab without nodes does not show its format. */
const names: Readonly<Record<string, string>> = { unl: "eve", cml: "cml", dot: "dot", mermaid: "mermaid" };

const graphs: readonly string[] = ["dot", "mermaid"] satisfies GraphFormat[];

function again(lab: Lab, format: LabFormat | GraphFormat): Lab {
  const files = graphs.includes(format) ? { lab: graphText(lab, format as GraphFormat) } : exportLab(lab, format as LabFormat).files;
  const { yaml, files: texts } = imported(files, { substitute: "frr", ...(names[format] !== undefined && { format: names[format] }) });
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
      fc.property(arbitraryLab({ hasShapes: true }), (some) => {
        const lab = named(shared.within?.(some) ?? some);
        const read = again(lab, format);
        expect(view(read, shared)).toEqual(view(lab, shared));
      }),
      { numRuns: 15 },
    );
  });
});

test("commands of a host come back from GNS3 as commands, and a script with more than commands as one that runs", () => {
  const back = (exec: string, template = "linux") => {
    const { lab } = readIntent(`name: x\nnodes: {h: {template: ${template}, exec: ${exec}}}\n`, {});
    if (lab === undefined) throw new Error("the lab has an error");
    const { yaml, files } = imported(exportLab(lab, "gns3").files);
    const [node] = readIntent(yaml, files).lab?.nodes ?? [];
    return { exec: node?.exec, files: Object.keys(node?.files ?? {}) };
  };
  const plain = ["ip addr add 10.0.0.1/24 dev eth0", "sysctl -w net.ipv6.conf.all.forwarding=1"];
  expect(back(JSON.stringify(plain))).toEqual({ exec: plain, files: [] });
  const joined = ["ip link add br0 type bridge && ip link set br0 up", "echo 1 > /proc/sys/net/ipv4/ip_forward", "echo 'a b' || true"];
  expect(back(JSON.stringify(joined), "frr")).toEqual({ exec: joined, files: [] });
  expect(back('["for i in 1 2; do ip link add d$i type dummy; done"]')).toEqual({ exec: ["sh /lab/boot.sh"], files: ["/lab/boot.sh"] });
});

describe("virtual machines of known software", () => {
  const cases = [...exportedMachines].flatMap(([template, { format, containerlab, eve, cml, disk }]) =>
    (["containerlab", "unl", "gns3", "cml"] as const).flatMap((tool) => {
      const given = { containerlab, unl: eve, gns3: disk, cml }[tool];
      // Other tools have names for a host, not for the system that it runs.
      const isHost = eve === "linux" || template === "freebsd-vm";
      return given === undefined || (isHost && tool !== "containerlab") ? [] : [[template, tool, format] as const];
    }),
  );

  test.each(cases)("%s comes back from %s with its template and its interfaces", (template, tool, format) => {
    const naming = interfaceNaming(format);
    const [first, second] = [naming.name(1), naming.name(3)];
    const yaml = `name: x\nnodes: {m: {template: ${template}}, h: {template: linux}}\nlinks: [["m:${first}", "h:eth1"], ["m:${second}", "h:eth2"]]\n`;
    const { lab } = readIntent(yaml, {});
    if (lab === undefined) throw new Error("the lab has an error");
    const { yaml: text, files } = imported(exportLab(lab, tool).files, names[tool] === undefined ? {} : { format: names[tool] });
    const { lab: read } = readIntent(text, files);
    if (read === undefined) throw new Error(text);
    expect(read.nodes.find(({ key }) => key === "m")?.template).toBe(template);
    const ends = read.links
      .flatMap(({ endpoints }) => endpoints)
      .flatMap((end) => ("node" in end && end.node === "m" ? [end.interface] : []));
    expect(ends.map((name) => naming.index(name)).sort()).toEqual([1, 3]);
  });
});
