import { Draft } from "../../draft/draft.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { readDrawing, readOldShape } from "./drawings.ts";
import { readLinks } from "./links.ts";
import { type Gns3Node, readNode } from "./nodes.ts";

/** Projects of GNS3: the JSON file .gns3 of version 1.3 and later, alone, with its folder, or in a .gns3project archive. */
export const gns3: Importer = {
  format: "gns3",
  title: "GNS3 project",
  recognize: (files, path) => {
    const text = files.text(path)?.trimStart() ?? "";
    if (!text.startsWith("{") || !text.includes('"topology"')) return 0;
    const tree = files.treeIf(path, "json");
    if (tree === undefined) return /\.gns3$/i.test(path) ? 0.5 : 0;
    const root = Part.of(tree, path);
    const topology = root.get("topology");
    if (topology?.node.kind !== "map") return 0;
    const isProject = root.get("type")?.text === "topology" || root.get("project_id") !== undefined || root.get("revision") !== undefined;
    return isProject &&
      (topology.get("nodes") !== undefined || topology.get("links") !== undefined || topology.get("computes") !== undefined)
      ? 1
      : 0.4;
  },
  read,
};

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(files.tree(path, "json"), path);
  const topology = root.get("topology");
  if (topology?.node.kind !== "map") return refuse("a GNS3 project has a topology", { file: path, line: root.line });
  const draft = new Draft();
  const name = root.get("name");
  const fileName = path.slice(path.lastIndexOf("/") + 1).replace(/\.gns3$/i, "");
  draft.setName(name?.text ?? fileName, name);
  for (const key of ["type", "version", "revision"]) root.get(key)?.mapped("read as a GNS3 project");
  for (const key of ["project_id", "resources_type"]) root.get(key)?.dropped("a lab here is identified by its path");
  for (const key of ["auto_start", "auto_open", "auto_close"])
    root.get(key)?.dropped("labwright up starts a lab, and the service starts it again after a reboot");
  for (const key of [
    "scene_width",
    "scene_height",
    "zoom",
    "grid_size",
    "drawing_grid_size",
    "show_grid",
    "show_layers",
    "show_interface_labels",
    "snap_to_grid",
  ])
    root.get(key)?.dropped("a setting of the drawing program");
  readVariables(draft, root);
  const nodes = new Map<string, Gns3Node>();
  const used: Part[] = [];
  const ways = waysOut(topology);
  for (const part of topology.get("nodes")?.items ?? []) {
    if (ways.behind.has(idOf(part))) continue;
    const node = readNode(draft, part, { files, path, options, used, isWayOut: ways.hubs.has(idOf(part)) });
    if (node !== undefined) nodes.set(node.id, node);
  }
  for (const part of topology.get("nodes")?.items ?? []) {
    const hub = nodes.get(ways.behind.get(idOf(part)) ?? "");
    if (hub === undefined) continue;
    part.mapped(`the network ${hub.place.key} leads out of the lab`);
    nodes.set(idOf(part), hub);
  }
  readLinks(draft, topology.get("links")?.items ?? [], nodes);
  for (const node of nodes.values()) node.finish();
  for (const drawing of topology.get("drawings")?.items ?? []) readDrawing(draft, drawing);
  for (const key of ["notes", "annotations"]) for (const note of topology.get(key)?.items ?? []) readNote(draft, note);
  for (const [key, element] of [
    ["rectangles", "rect"],
    ["ellipses", "ellipse"],
  ] as const)
    for (const shape of topology.get(key)?.items ?? []) readOldShape(draft, shape, element);
  topology.get("images")?.dropped("a picture: labs have texts and shapes only");
  for (const key of ["computes", "servers"]) topology.get(key)?.dropped("nodes run on the machine of the service");
  return { draft, parts: [root, ...used] };
}

function idOf(part: Part): string {
  return part.get("node_id")?.text ?? "";
}

/** A NAT node has one port, so that projects have a hub before it. Both are one network here. Returns the hubs, and the hub of each NAT node. */
function waysOut(topology: Part): { readonly hubs: ReadonlySet<string>; readonly behind: ReadonlyMap<string, string> } {
  const kinds = new Map((topology.get("nodes")?.items ?? []).map((part) => [idOf(part), part.get("node_type")?.text]));
  const [hubs, behind] = [new Set<string>(), new Map<string, string>()];
  for (const link of topology.get("links")?.items ?? []) {
    const ids = (link.get("nodes")?.items ?? []).map(idOf);
    const hub = ids.find((id) => kinds.get(id) === "ethernet_hub");
    const nat = ids.find((id) => kinds.get(id) === "nat");
    if (hub === undefined || nat === undefined || behind.has(nat)) continue;
    hubs.add(hub);
    behind.set(nat, hub);
  }
  return { hubs, behind };
}

function readVariables(draft: Draft, root: Part): void {
  for (const variable of root.get("variables")?.items ?? []) {
    const [name, value] = [variable.get("name"), variable.get("value")];
    if (name?.text !== "description") continue;
    draft.setDescription(value?.text, value);
    name.mapped("the description of the lab");
  }
}

/** Texts of version 1.x. */
function readNote(draft: Draft, note: Part): void {
  const text = note.get("text");
  if (text?.text === undefined) return;
  draft.text(text.text, note.get("x")?.number ?? 0, note.get("y")?.number ?? 0);
  text.kept();
  for (const key of ["x", "y"]) note.get(key)?.kept();
  for (const key of ["font", "color", "rotation", "z"]) note.get(key)?.dropped("texts have one look");
}
