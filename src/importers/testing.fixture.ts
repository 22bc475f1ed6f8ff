import { readdirSync, readFileSync } from "node:fs";
import { packagePath } from "../files/program-path.ts";
import { templateTexts } from "../files/template-texts.ts";
import { pointer } from "../intent/diagnostics/problems.ts";
import { knownTemplates } from "../intent/places/known-templates.ts";
import { type ImportedLab, type ImportOptions, importLab } from "./import-lab.ts";
import { machinesOf } from "./mapping/machine-template.ts";
import type { Mapping } from "./mapping/mapping.ts";
import { readMapping } from "./mapping/read-mapping.ts";
import { SourceFiles } from "./source/source-files.ts";
import { isLeaf } from "./tree/marks.ts";
import type { ImportLine } from "./tree/report.ts";
import type { SourceNode } from "./tree/source-tree.ts";

const folder = packagePath("mappings");

/** The tables of node types that ship. */
export const shippedMapping: Mapping = readMapping(
  readdirSync(folder).map((file) => ({ file, text: readFileSync(`${folder}/${file}`, "utf8") })),
);

/** The templates of virtual machines that ship. */
export const shippedMachines = machinesOf(knownTemplates(await templateTexts()));

/** A source of these texts or bytes. */
export function sourceOf(files: Readonly<Record<string, string | Uint8Array>>): SourceFiles {
  return new SourceFiles(new Map(Object.entries(files).map(([path, data]) => [path, typeof data === "string" ? Buffer.from(data) : data])));
}

export function imported(files: Readonly<Record<string, string | Uint8Array>>, options: Partial<ImportOptions> = {}): ImportedLab {
  return importLab(sourceOf(files), { mapping: shippedMapping, machineOf: shippedMachines, ...options });
}

/** Paths of all leaves of a tree: what a report has to cover. */
export function leavesOf(node: SourceNode, path = ""): readonly string[] {
  if (isLeaf(node)) return [path];
  if (node.kind === "list") return node.items.flatMap((item, index) => leavesOf(item, pointer(path, index)));
  if (node.kind === "map") return [...node.entries].flatMap(([key, entry]) => leavesOf(entry.node, pointer(path, key)));
  return [];
}

/** Leaves that the report of a file does not cover by exactly one line. A line covers its path and everything below. */
export function silentLeaves(report: readonly ImportLine[], file: string, tree: SourceNode): readonly string[] {
  const paths = new Map<string, number>();
  for (const line of report) if (line.file === file) paths.set(line.path, (paths.get(line.path) ?? 0) + 1);
  return leavesOf(tree).filter((leaf) => {
    let covered = 0;
    for (let at = leaf.length; at >= 0; at = at === 0 ? -1 : leaf.lastIndexOf("/", at - 1)) covered += paths.get(leaf.slice(0, at)) ?? 0;
    return covered !== 1;
  });
}

/** The lines of a report in short: "kept /topology/nodes/r1/kind". */
export function shortReport({ report }: ImportedLab): readonly string[] {
  return report.map(({ level, path }) => `${level} ${path}`);
}
