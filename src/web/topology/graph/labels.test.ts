import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { readIntent } from "../../../intent/read/read.ts";
import { layoutOf } from "../../../layout/layout.ts";
import { labelBox, labelGrowth, labelSizes, labelWidth, shortLabel, touches } from "./labels.ts";
import { boxesOf, portBox } from "./link-shape.ts";
import { linkShapes } from "./link-shapes.ts";

interface Drawn {
  readonly id: string;
  readonly label: string;
  readonly kind: "node" | "network";
  readonly at: { readonly x: number; readonly y: number };
}
interface DrawnLink {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly fromInterface: string;
  readonly toInterface: string;
  readonly lane: number;
  readonly lanes: number;
}

const folder = join(import.meta.dirname, "../../../../labs");

/** An example lab, drawn without its declared positions. */
function exampleLab(file: string): { readonly nodes: readonly Drawn[]; readonly links: readonly DrawnLink[] } {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
  const contents = Object.fromEntries(files.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
  const lab = readIntent(contents[file]!, contents).lab!;
  const parts = [
    ...lab.nodes.map(({ key, name }) => ({ id: key, label: name, kind: "node" as const })),
    ...lab.networks.map(({ key, name }) => ({ id: key, label: name, kind: "network" as const })),
  ];
  const links = lab.links.map(({ key, endpoints: [a, b] }) => {
    const [from, to] = [a, b].map((end) => ("node" in end ? [end.node, end.interface] : [end.network, ""])) as [string[], string[]];
    return { id: key, from: from[0]!, to: to[0]!, fromInterface: from[1]!, toInterface: to[1]!, lane: 0, lanes: 1 };
  });
  return drawn(parts, links);
}

function drawn(parts: readonly Omit<Drawn, "at">[], links: readonly DrawnLink[]) {
  const places = layoutOf(
    parts.map(({ id, label }) => ({ id, name: label, width: labelWidth(label) })),
    links.map(({ from, to }) => [from, to] as const),
  );
  return { nodes: parts.map((part) => ({ ...part, at: places.get(part.id)! })), links };
}

/** Counts the labels that cover a label or a node, at the scale that shows the whole drawing in a window, or at 1 if that is larger. */
function covered(nodes: readonly Drawn[]): number {
  const growth = labelGrowth(nodes);
  const width = Math.max(...nodes.map(({ at }) => at.x)) - Math.min(...nodes.map(({ at }) => at.x)) + 160;
  const { node } = labelSizes(Math.min(1, 1440 / width), growth);
  return nodes.filter(
    (one) =>
      one.kind === "node" &&
      nodes.some(
        (other) =>
          one !== other && [...boxesOf(other).slice(0, 1), ...labelsOf(other, node)].some((box) => touches(box, labelBox(one, node))),
      ),
  ).length;
}

const labelsOf = (one: Drawn, growth: number) => (one.kind === "node" ? [labelBox(one, growth)] : []);

/** Returns the share of interface names that are shown and cover another name, a node or its label. */
function coveredPorts(nodes: readonly Drawn[], links: readonly DrawnLink[]): number {
  const shapes = linkShapes(links, new Map(nodes.map((node) => [node.id, node])));
  const names = links.flatMap(({ id, fromInterface, toInterface }) => {
    const { fromPort, toPort } = shapes.get(id)!;
    return [[fromInterface, fromPort] as const, [toInterface, toPort] as const].flatMap(([name, place]) =>
      name === "" || place.isCrowded ? [] : [portBox(place, name)],
    );
  });
  const obstacles = nodes.flatMap((node) => boxesOf(node));
  const bad = names.filter(
    (box) => obstacles.some((one) => touches(one, box)) || names.some((other) => other !== box && touches(other, box)),
  );
  return bad.length / Math.max(1, names.length);
}

const big = () => {
  const name = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`);
  const [spines, leaves, hosts] = [name("spine", 4), name("leaf", 16), name("host", 80)];
  const ports = new Map<string, number>();
  const port = (node: string) => {
    const next = ports.get(node) ?? 0;
    ports.set(node, next + 1);
    return `eth${next}`;
  };
  const pairs = [...leaves.flatMap((leaf) => spines.map((spine) => [leaf, spine])), ...hosts.map((host, at) => [host, leaves[at % 16]!])];
  return drawn(
    [...hosts, ...leaves, ...spines].map((id) => ({ id, label: id, kind: "node" })),
    pairs.map(([from, to], at) => ({
      id: `${at}`,
      from: from!,
      to: to!,
      fromInterface: port(from!),
      toInterface: port(to!),
      lane: 0,
      lanes: 1,
    })),
  );
};

test.each(readdirSync(folder).filter((file) => file.endsWith(".yaml")))(
  "in %s, drawn without positions, no name covers another or a node",
  (file) => {
    const { nodes, links } = exampleLab(file);
    expect(covered(nodes)).toBe(0);
    expect(coveredPorts(nodes, links)).toBe(0);
  },
);

test("in a lab of 100 nodes, no node's name is covered, and less than 5 % of the interface names", () => {
  const { nodes, links } = big();
  expect(nodes).toHaveLength(100);
  expect(covered(nodes)).toBe(0);
  expect(coveredPorts(nodes, links)).toBeLessThan(0.05);
  // The names are not hidden instead: most of them find a place.
  const shapes = [...linkShapes(links, new Map(nodes.map((node) => [node.id, node]))).values()];
  const crowded = shapes.flatMap(({ fromPort, toPort }) => [fromPort, toPort]).filter(({ isCrowded }) => isCrowded);
  expect(crowded.length / (2 * shapes.length)).toBeLessThan(0.15);
});

test("a long name is shortened in the middle, and names are not larger on the screen than normal", () => {
  expect(shortLabel("a-very-long-node-name-0001")).toBe("a-very-lo…e-0001");
  expect(shortLabel("core-router-0001")).toBe("core-router-0001");
  expect(labelSizes(2, 4)).toEqual({ node: 0.5, port: 0.5 });
  expect(labelSizes(0.5, 4)).toEqual({ node: 2, port: 1 });
  expect(labelSizes(0.5, 1.2)).toEqual({ node: 1.2, port: 1 });
});
