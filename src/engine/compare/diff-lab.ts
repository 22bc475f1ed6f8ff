import { compareNatural } from "../../base/natural-order.ts";
import type { Lab, LabText, Management, TrafficFilter } from "../../intent/lab/lab.ts";
import { toLabName } from "../../intent/lab/lab-name.ts";
import { fieldWord } from "../model/node-fields.ts";
import type { ObservedLab } from "../model/observed.ts";
import type { Change, HostRules } from "../model/plan.ts";
import { type UnsupportedField, unsupportedOnHost } from "../model/support.ts";
import { canonicalText, sameValue } from "../shared/canonical.ts";
import type { LabDifference } from "./comparison.ts";
import { meaning } from "./diff-node.ts";

/**
 * Returns the differences of the lab's own fields: name, description, management, traffic filters, texts. The order of filters and texts does not matter. On a
 * host that cannot store a lab's name, a name counts as equal if it converts to the host's name.
 * @param pathName the name of a new lab on such a host
 */
export function diffLab(
  desired: Lab,
  observed: ObservedLab | null,
  rules: HostRules,
  pathName?: string,
): LabDifference & { readonly missing: readonly UnsupportedField[] } {
  const missing: UnsupportedField[] = [];
  const supported = (field: string, declared: boolean): boolean => {
    const why = unsupportedOnHost(rules, "lab", field);
    if (why !== undefined && declared) missing.push({ kind: "lab", key: desired.name, field: fieldWord(field), why });
    return why === undefined;
  };

  const changes: Change[] = [];
  for (const field of ["name", "description"] as const) {
    const before = meaning(observed?.[field]);
    const after = meaning(desired[field]);
    if (field === "name" && unsupportedOnHost(rules, "lab", field) !== undefined) {
      const given = observed === null ? pathName : observed.name;
      if (given !== undefined && after === toLabName(given)) continue;
    }
    if (before !== after && supported(field, after !== null)) changes.push({ field, before, after });
  }

  const management = { before: plainManagement(observed?.management), after: plainManagement(desired.management) };
  if (!sameValue(management.before, management.after) && supported("management", management.after !== null))
    changes.push({ field: "management", ...management });

  const filters = filterChanges(observed?.trafficFilters ?? [], desired.trafficFilters);
  if (filters.length > 0 && supported("trafficFilters", desired.trafficFilters.length > 0)) changes.push(...filters);

  const before = sortedTexts(observed?.texts ?? []);
  const after = sortedTexts(desired.texts);
  const textsDiffer = !sameValue(before, after) && supported("texts", after.length > 0);
  return { changes, textChanges: textsDiffer ? [{ field: "texts", before: meaning(before), after: meaning(after) }] : [], missing };
}

/** Returns the value in the words of the intent. */
function plainManagement(management: Management | undefined): unknown {
  if (management === undefined) return null;
  const { ipv4Subnet, ipv6Subnet } = management;
  if (ipv4Subnet === undefined && ipv6Subnet === undefined) return true;
  return {
    ...(ipv4Subnet !== undefined && { "ipv4-subnet": ipv4Subnet }),
    ...(ipv6Subnet !== undefined && { "ipv6-subnet": ipv6Subnet }),
  };
}

function filterChanges(before: readonly TrafficFilter[], after: readonly TrafficFilter[]): readonly Change[] {
  const a = new Map(before.map((filter) => [filter.name, plainFilter(filter)]));
  const b = new Map(after.map((filter) => [filter.name, plainFilter(filter)]));
  return [...new Set([...a.keys(), ...b.keys()])]
    .sort(compareNatural)
    .filter((name) => !sameValue(a.get(name), b.get(name)))
    .map((name) => ({ field: `traffic_filters.${name}`, before: a.get(name) ?? null, after: b.get(name) ?? null }));
}

/** Nodes and links of a filter are sets. */
function plainFilter(filter: TrafficFilter): TrafficFilter {
  const { nodes, links } = filter;
  return { ...filter, ...(nodes && { nodes: [...nodes].sort() }), ...(links && { links: [...links].sort() }) };
}

function sortedTexts(texts: readonly LabText[]): readonly LabText[] {
  return [...texts].sort((a, b) => a.y - b.y || a.x - b.x || (canonicalText(a) < canonicalText(b) ? -1 : 1));
}
