import type { Lab, LabLink, LabNetwork, LabNode, Quality } from "../../intent/lab/lab.ts";
import { qualityFields } from "../../intent/lab/quality.ts";

/** The fields that a format has a place for. Every other field that a lab uses is in the notes of the export. */
export interface Places {
  readonly lab: readonly LabPart[];
  readonly node: (node: LabNode) => readonly NodeField[];
  readonly network: readonly (keyof LabNetwork)[];
  readonly link: readonly ("suspended" | "mtu" | keyof Quality)[];
}

export type NodeField = Exclude<keyof LabNode, "key" | "template" | "startupConfigFile" | "fileSources">;
type LabPart = "description" | "management" | "lease" | "place" | "trafficFilters" | "texts" | "shapes" | "tests" | "ready" | "dependsOn";

/** Names of the fields in the language, where they differ. */
const words: Readonly<Record<string, string>> = {
  startupConfig: "startup-config",
  mgmtIpv4: "mgmt-ipv4",
  mgmtIpv6: "mgmt-ipv6",
  sshKeys: "ssh-keys",
  trafficFilters: "traffic_filters",
  dependsOn: "depends-on",
};

const maxNamed = 5;

/** Returns a sentence for each field that the lab uses and the format has no place for, with the nodes, networks or links that lose it. */
export function leftOut(lab: Lab, tool: string, places: Places): readonly string[] {
  const owners = new Map<string, string[]>();
  const lost = (field: string, owner: string) => {
    const word = words[field] ?? field;
    owners.set(word, [...(owners.get(word) ?? []), owner]);
  };
  for (const part of partsOf(lab)) if (!places.lab.includes(part)) lost(part, "the lab");
  for (const node of lab.nodes) {
    const written = places.node(node);
    for (const field of fieldsOf(node)) if (!written.includes(field)) lost(field, node.key);
  }
  for (const network of lab.networks) {
    for (const field of ["name", "icon", "position", "vxlan"] as const) {
      const isUsed = network[field] !== undefined && (field !== "name" || network.name !== network.key);
      if (isUsed && !places.network.includes(field)) lost(field, network.key);
    }
  }
  for (const link of lab.links) for (const field of effectsOf(link)) if (!places.link.includes(field)) lost(field, link.key);
  return [...owners].map(([field, names]) => `${tool} has no place for ${field}: ${named(names)}`);
}

/** Lists the first few of many names. */
export function named(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return more <= 0 ? names.join(", ") : `${names.slice(0, maxNamed).join(", ")} and ${more} more`;
}

function partsOf({
  description,
  management,
  lease,
  place,
  trafficFilters,
  texts,
  shapes = [],
  tests = [],
  boots = [],
}: Lab): readonly LabPart[] {
  const used: Readonly<Record<LabPart, boolean>> = {
    description: description !== undefined,
    management: management !== undefined,
    lease: lease !== undefined,
    place: place !== undefined,
    trafficFilters: trafficFilters.length > 0,
    texts: texts.length > 0,
    shapes: shapes.length > 0,
    tests: tests.length > 0,
    ready: boots.some(({ ready }) => ready.length > 0),
    dependsOn: boots.some(({ dependsOn }) => dependsOn.length > 0),
  };
  return (Object.keys(used) as LabPart[]).filter((part) => used[part]);
}

function fieldsOf(node: LabNode): readonly NodeField[] {
  const { key, template: _template, startupConfigFile: _file, fileSources: _sources, ...fields } = node;
  return (Object.keys(fields) as NodeField[]).filter((field) => {
    const value = fields[field];
    if (field === "name") return value !== key;
    return value !== undefined && (typeof value !== "object" || Object.keys(value).length > 0);
  });
}

function effectsOf({ quality, suspended, mtu }: LabLink): readonly Places["link"][number][] {
  const used = qualityFields.filter((field) => (quality?.a?.[field] ?? quality?.b?.[field]) !== undefined);
  return [...used, ...(suspended === undefined ? [] : ["suspended" as const]), ...(mtu === undefined ? [] : ["mtu" as const])];
}
