import type { TemplateLack } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import { byPlace, type Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { LabNode } from "../../intent/lab/lab.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";

/** Problems of a lab that are reported at most. */
const maxProblems = 200;

/**
 * Returns a warning for each thing that the software of a template needs and that the host does not give to its nodes. A template is reported at the first of
 * its nodes.
 * @param nodes keys of the nodes to check; absent: all
 */
export async function needProblems(
  { work }: WorkPart,
  host: Pick<HostSession, "rules">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  nodes?: ReadonlySet<string>,
): Promise<readonly Diagnostic[]> {
  const { templates } = await host.rules();
  const lacking = new Map(templates.flatMap(({ id, lacks = [] }) => (lacks.length === 0 ? [] : [[id, lacks] as const])));
  if (lacking.size === 0) return [];
  const wrong = [...lacking]
    .flatMap(([template, lacks]) => {
      const own = lab.nodes.filter((node) => node.template === template && nodes?.has(node.key) !== false);
      return lacks.flatMap((lack) => {
        const keys = own.filter((node) => needs(node, lack)).map(({ key }) => key);
        return keys.length === 0 ? [] : [{ template, keys, lack }];
      });
    })
    .slice(0, maxProblems);
  if (wrong.length === 0) return [];
  const places = await work.fieldPlaces(
    yaml,
    files,
    wrong.map(({ keys }) => ({ kind: "node", key: keys[0]!, field: "template" })),
  );
  const found = wrong.map(({ template, keys: [key, ...others], lack }, i): Diagnostic => {
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return {
      severity: "warning",
      code: "node_needs",
      message: `node ${key}${more}: template ${template} needs ${lack.what}, which its nodes do not get here: ${lack.for}. ${lack.without}`,
      ...(lack.instead !== undefined && { hint: lack.instead }),
      ...places[i]!,
    };
  });
  return found.sort(byPlace);
}

function needs({ startupConfig = "" }: LabNode, { ifConfig }: TemplateLack): boolean {
  return ifConfig === undefined || new RegExp(ifConfig, "m").test(startupConfig);
}
