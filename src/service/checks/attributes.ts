import type { HostSession, ValueProblem } from "../../hosts/host.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";
import type { HostCheck } from "./host-check.ts";

/** Returns the invalid attributes of an intent's nodes, with their places in the text, for attributes whose grammar only the host knows. */
export async function attributeProblems(
  { work }: WorkPart,
  host: Pick<HostSession, "checkAttribute">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  { known }: HostCheck,
): Promise<readonly Diagnostic[]> {
  const { checkAttribute } = host;
  if (checkAttribute === undefined) return [];
  const old = new Map(known?.nodes.map((node) => [node.key, node]));
  // Equal nodes are checked once.
  const problems = new Map<string, ValueProblem | undefined>();
  const found: { readonly node: string; readonly attribute: string; readonly problem: ValueProblem }[] = [];
  for (const { key, template, attributes } of lab.nodes) {
    const before = old.get(key);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (before?.template === template && before.attributes[attribute] === value) continue;
      const asked = JSON.stringify([template, attribute, value]);
      if (!problems.has(asked)) problems.set(asked, await checkAttribute(template, attribute, value));
      const problem = problems.get(asked);
      if (problem !== undefined) found.push({ node: key, attribute, problem });
    }
  }
  if (found.length === 0) return [];
  const wanted = found.map(({ node, attribute }) => ({ kind: "node", key: node, field: `attributes.${attribute}` }));
  const places = await work.fieldPlaces(yaml, files, wanted);
  // A problem that several nodes inherit is reported once.
  const diagnostics = new Map<string, Diagnostic>();
  for (const [i, { node, attribute, problem }] of found.entries()) {
    const place = places[i];
    if (place === undefined || diagnostics.has(place.path)) continue;
    const message = `the attribute ${attribute} of ${node}: ${problem.problem}`;
    diagnostics.set(place.path, { severity: "error", code: "invalid_attribute", message, ...place, hint: problem.hint });
  }
  return [...diagnostics.values()];
}
