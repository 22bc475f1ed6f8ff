import { Draft } from "../../draft/draft.ts";
import type { Importer, Reading, ReadOptions } from "../../reading/importer.ts";
import type { SourceFiles } from "../../source/source-files.ts";
import { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { Pools } from "./addresses.ts";
import { deep } from "./deep.ts";
import { writeLinks } from "./draft-links.ts";
import { readLinks } from "./links.ts";
import { markModule, readNodes } from "./nodes.ts";
import { configureNodes } from "./routing.ts";

/** netlab: topologies as people write them, and as netlab itself writes them with all addresses (netlab create -o yaml, netlab.snapshot.yml). */
export const netlab: Importer = {
  format: "netlab",
  title: "netlab topology",
  recognize: (files, path) => {
    const text = files.text(path) ?? "";
    if (!/^["']?(nodes|groups|links|fabric)\b/m.test(text.slice(0, 2_000_000))) return 0;
    const tree = files.treeIf(path, "yaml");
    return tree === undefined ? 0 : score(Part.of(tree, path));
  },
  read,
};

/** Keys that only netlab's topologies have. */
const ownKeys = [
  "provider",
  "module",
  "addressing",
  "plugin",
  "vlans",
  "vrfs",
  "validate",
  "tools",
  "input",
  "_input",
  "prefix",
  "vlan",
  "vrf",
  "bgp",
  "ospf",
  "isis",
  "evpn",
  "vxlan",
  "mpls",
  "gateway",
  "routing",
  "lag",
  "components",
  "fabric",
];

function score(root: Part): number {
  const nodes = root.get("nodes");
  const hasGroups =
    deep(root, "groups", "_auto_create")?.boolean === true ||
    (root.get("groups")?.entries ?? []).some(([, group]) => group.get("members") !== undefined || group.node.kind === "list");
  if (root.node.kind !== "map" || root.get("topology") !== undefined || root.get("lab") !== undefined) return 0;
  const hasFabric = deep(root, "fabric", "spines") !== undefined || deep(root, "fabric", "leafs") !== undefined;
  if (nodes === undefined && !hasGroups && !hasFabric) return 0;
  if (nodes !== undefined && nodes.node.kind === "scalar") return 0;
  // Neither is netlab's: links of Labwright and containerlab have `endpoints`, nodes of CML have a `node_definition`.
  const links = root.get("links")?.items ?? [];
  if (links.some((link) => link.get("endpoints") !== undefined || link.items.some(({ text = "" }) => text.includes(":")))) return 0;
  if ((nodes?.items ?? []).some((node) => node.get("node_definition") !== undefined)) return 0;
  const has = (part: Part | undefined, keys: readonly string[]) =>
    (part?.entries ?? []).some(([key]) => keys.includes(key.split(".")[0] ?? key));
  const isOwn =
    has(root, ownKeys) ||
    deep(root, "defaults", "device") !== undefined ||
    (nodes?.entries ?? []).some(([, node]) => has(node, ["device", "module"]));
  if (isOwn) return 0.95;
  const isList = nodes?.node.kind === "list" && nodes.items.every((node) => node.text !== undefined || node.get("name") !== undefined);
  const names = new Set((nodes?.entries ?? []).map(([name]) => name));
  const isShort = links.some((link) => (link.text ?? "").includes("-") || link.entries.some(([key]) => names.has(key)));
  if ((nodes?.entries ?? []).some(([, node]) => node.get("template") !== undefined || node.get("kind") !== undefined)) return 0;
  return isList || isShort || hasGroups ? 0.8 : 0;
}

function read(files: SourceFiles, path: string, options: ReadOptions): Reading {
  const root = Part.of(files.tree(path, "yaml"), path);
  if (root.node.kind !== "map") refuse("a netlab topology is a map", { file: path, line: root.line });
  const draft = new Draft();
  const name = root.get("name");
  draft.setName(name?.text ?? baseName(path), name);
  root.get("message")?.dropped("nothing is shown after a start");
  for (const key of ["_input", "input", "includes", "version", "defaults"]) root.get(key)?.dropped("netlab's own settings");
  const provider = root.get("provider");
  provider?.mapped(provider.text === "clab" ? "containers" : "virtual machines");
  const nodes = readNodes(draft, root, options);
  const pools = new Pools(root);
  const links = readLinks(root, nodes);
  writeLinks(draft, links, pools);
  configureNodes(draft, root, nodes.nodes, links);
  for (const plugin of root.get("plugin")?.all ?? []) if (plugin.text === "fabric") plugin.mapped("the nodes and links of the fabric");
  const hasFrr = draft.nodes.some(({ template }) => template === "frr");
  for (const part of root.get("module")?.all ?? []) markModule(part, hasFrr ? "frr" : "");
  return { draft, parts: [root] };
}

function baseName(path: string): string {
  const parts = path.split("/");
  const file = (parts.pop() ?? "lab").replace(/\.ya?ml$/i, "");
  return /^(topology|netlab\.snapshot|lab)$/i.test(file) ? (parts.pop() ?? file) : file;
}
