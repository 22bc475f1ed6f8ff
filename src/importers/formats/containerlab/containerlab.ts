import { Draft, type DraftPlace, positionOf } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { yamlTree } from "../../tree/yaml-tree.ts";
import { readAnnotations } from "./annotations.ts";
import { NodeForm } from "./inherited.ts";
import { Links } from "./links.ts";
import { readAddresses, readManagement } from "./management.ts";
import { readFields } from "./node-fields.ts";
import { readBinds, readEnvironment, readLicense, readStartupConfig } from "./node-files.ts";
import { readStages } from "./stages.ts";
import { expandVariables } from "./variables.ts";

/** Topology files of containerlab. */
export const containerlab: Importer = {
  format: "containerlab",
  title: "containerlab topology",
  recognize: (files, path) => {
    const text = files.text(path) ?? "";
    if (!/(^|["'{,\s])topology["']?\s*:/.test(text) || text.trimStart().startsWith("<")) return 0;
    const root = partOf(files, path, {});
    if (root === undefined) return 0.2;
    return root.at("topology", "nodes")?.node.kind === "map" ? 1 : 0;
  },
  read,
};

function partOf(files: SourceFiles, path: string, variables: Readonly<Record<string, string>>): Part | undefined {
  try {
    return readText(files, path, variables);
  } catch {
    return undefined;
  }
}

function notYaml(files: SourceFiles, path: string): boolean {
  return files.treeIf(path, "yaml") === undefined;
}

function readText(files: SourceFiles, path: string, variables: Readonly<Record<string, string>>): Part {
  const source = files.text(path);
  if (source === undefined) return refuse("the file is not text", { file: path });
  const { text, notes } = expandVariables(source, variables);
  if (/\{\{-?\s*(?:if|range|end|with|define|template|\$|\.)/.test(source) && notYaml(files, path))
    return refuse("the topology is a template of Go: let gomplate or containerlab's own --vars make the topology of it, and import that", {
      file: path,
    });
  // Without variables, the tree that was made for the recognition is used again.
  return Part.of(notes.size === 0 ? files.tree(path, "yaml") : yamlTree(text, path), path, notes);
}

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = readText(files, path, options.variables ?? {});
  const topology = root.get("topology");
  const nodes = topology?.get("nodes");
  if (topology === undefined || nodes?.node.kind !== "map")
    return refuse("the topology has no nodes", { file: path, line: topology?.line ?? root.line });
  const draft = new Draft();
  draft.setName(root.get("name")?.text ?? path.slice(path.lastIndexOf("/") + 1).replace(/(\.clab)?\.ya?ml$/i, ""), root.get("name"));
  for (const key of ["prefix", "settings", "debug"])
    root.get(key)?.dropped("names of containers and certificates are not those of containerlab");
  const management = readManagement(draft, root);
  const places = new Map<string, DraftPlace>();
  const forms = new Map<string, NodeForm>();
  for (const [name, part] of nodes.entries) {
    part.open();
    const form = new NodeForm(topology, part);
    forms.set(name, form);
    const image = form.one("image");
    const choice = chooseTemplate(options, "containerlab", form.kind?.text ?? "linux", image?.text);
    const place = draft.place(name, choice, { type: form.kind, image });
    places.set(name, place);
    if (part.isNull) part.mapped(choice.message);
    if (!(place instanceof DraftNode)) continue;
    const at = { draft, files, path, node: place, name, lab: root.get("name")?.text ?? "" };
    readBinds(at, form);
    readStartupConfig(at, form);
    readLicense(at, form);
    readEnvironment(at, form);
    readFields(place, form);
    readAddresses(place, form, management);
    readPosition(place);
  }
  readStages(forms, places);
  const links = new Links(draft, places, options.substitute !== undefined);
  for (const link of topology.get("links")?.items ?? []) links.read(link);
  const annotations = readAnnotations(draft, files, path, places);
  return { draft, parts: [root, ...(annotations === undefined ? [] : [annotations])] };
}

/** Labels that the graph of containerlab reads. */
function readPosition(node: DraftNode): void {
  const labels = (node.get("labels") ?? {}) as Readonly<Record<string, unknown>>;
  const [x, y] = ["graph-posX", "graph-posY"].map((key) => Number(labels[key] ?? Number.NaN));
  if (x !== undefined && y !== undefined && Number.isFinite(x) && Number.isFinite(y)) node.set("position", { ...positionOf(x, y) });
}
