import { canonicalLab, order } from "../lab/canonical.ts";
import type { Lab } from "../lab/lab.ts";
import { separateFiles } from "../lab/separate-files.ts";
import {
  authorFilter,
  authorLease,
  authorLink,
  authorManagement,
  authorNetwork,
  authorNode,
  authorShape,
  authorText,
  type Fields,
} from "./author.ts";
import { authorBoot, authorTest } from "./author-test.ts";
import { type Data, present, writeItem, writePair } from "./write.ts";

/** An intent as text: the YAML and the files that it names. */
export interface IntentText {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Prints a lab as canonical YAML; startup configurations that came from files are files again. Reading the result gives the same lab if the lab is
 * valid: correct names, existing endpoints, one text per file (see separateFiles otherwise).
 */
export function printLab(lab: Lab): IntentText {
  const separated = separateFiles(canonicalLab(lab), new Map());
  const {
    name,
    description,
    management,
    lease,
    place,
    nodes,
    networks,
    links,
    trafficFilters,
    texts,
    shapes = [],
    tests = [],
    boots = [],
  } = separated.lab;
  const bootOf = new Map(boots.map((boot) => [boot.node, authorBoot(boot)]));
  const parts = [writePair("name", name, 0)];
  if (description !== undefined) parts.push(writePair("description", description, 0));
  if (management !== undefined) parts.push(writePair("management", authorManagement(management), 0));
  if (lease !== undefined) parts.push(writePair("lease", authorLease(lease), 0));
  if (place !== undefined) parts.push(writePair("place", { machine: place.machine, labels: place.labels, spread: place.spread }, 0));
  parts.push(
    ...section(
      "nodes",
      nodes.map((node) => writeNode(node.key, { ...authorNode(node), ...bootOf.get(node.key) })),
    ),
  );
  parts.push(
    ...section(
      "networks",
      networks.map((network) => writePair(network.key, authorNetwork(network), 2)),
    ),
  );
  parts.push(...section("links", items(links.map(authorLink))));
  parts.push(...section("traffic_filters", items(trafficFilters.map(authorFilter))));
  parts.push(...section("texts", items(texts.map(authorText))));
  parts.push(...section("shapes", items(shapes.map(authorShape))));
  parts.push(...section("tests", items(tests.map(authorTest))));
  const files = [...separated.needed].sort(([a], [b]) => order(a, b));
  return { yaml: `${parts.join("\n")}\n`, files: Object.fromEntries(files) };
}

/** Returns a section as one text, or nothing: a long list would be too many arguments for push. */
function section(key: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`\n${key}:\n${lines.join("\n")}`];
}

/** A node that has only its template stays on one line. */
function writeNode(key: string, fields: Fields): string {
  return writePair(key, fields, 2, { style: present(fields).length === 1 ? "auto" : "block" });
}

function items(values: readonly Data[]): readonly string[] {
  return values.map((value) => writeItem(value, 2));
}
