import { hostPosition } from "../../engine/compare/node-values.ts";
import type { HostRules, Plan } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { leftOutDiagnostics, refusalDiagnostics, refusedField } from "../../intent/places/refusals.ts";
import type { HostPart, WorkPart } from "../context/parts.ts";
import { noIds } from "../context/target.ts";
import type { Intent } from "../work/intents.ts";

type Text = Pick<Intent, "yaml" | "files">;

/**
 * Returns the problems of deploying an intent on the host: errors prevent the deploy, warnings name parts that the host leaves out. Plans the lab
 * like a deploy of a new lab, but ignores free memory, which changes all the time. @param path of the lab; absent: the name in the intent
 */
export async function fitProblems(
  context: WorkPart & HostPart,
  host: Pick<HostSession, "rules">,
  intent: Pick<Intent, "lab" | "yaml" | "files">,
  path?: string,
): Promise<readonly Diagnostic[]> {
  const { freeMemory: _now, ...rules } = await host.rules();
  const pathName = path === undefined ? intent.lab.name : (path.split("/").at(-1) ?? "");
  const input = { desired: intent.lab, observed: null, rules, prune: false, replace: false, pathName };
  const { plan } = await context.work.plan({ input, ids: noIds, direction: "to_host", files: intent.files });
  const found = await Promise.all([
    refusals(context, plan, intent),
    leftOut(context, plan, intent),
    tooManyCores(context, rules, intent),
    movedPositions(context, rules, intent),
  ]);
  return found.flat();
}

/** Returns every blocked action of a plan, with its place in the text. */
export async function refusals(
  { work, host }: WorkPart & HostPart,
  { blocked }: Pick<Plan, "blocked">,
  { yaml, files }: Text,
): Promise<readonly Diagnostic[]> {
  if (blocked.length === 0) return [];
  return refusalDiagnostics(blocked, await work.fieldPlaces(yaml, files, blocked.map(refusedField)), host.kind);
}

async function leftOut({ work }: WorkPart, { unsupportedFields, blocked }: Plan, { yaml, files }: Text): Promise<readonly Diagnostic[]> {
  // A value that prevents the deploy is not left out.
  const refused = new Set(blocked.map(({ key, reason }) => `${key} ${reason.field}`));
  const fields = unsupportedFields.filter(({ key, field }) => !refused.has(`${key} ${field}`));
  if (fields.length === 0) return [];
  return leftOutDiagnostics(fields, await work.fieldPlaces(yaml, files, fields));
}

/** More memory than any lab needs, so that it is not a limit. */
async function tooManyCores(
  { work }: WorkPart,
  { cores }: Pick<HostRules, "cores">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
): Promise<readonly Diagnostic[]> {
  const nodes = lab.nodes.filter(({ cpu }) => cores !== undefined && cpu !== undefined && cpu > cores);
  if (nodes.length === 0) return [];
  const places = await work.fieldPlaces(
    yaml,
    files,
    nodes.map(({ key }) => ({ kind: "node", key, field: "cpu" })),
  );
  return nodes.map(({ key, cpu }, i) => {
    const message = `node ${key}: cpu is ${cpu}, and the host has ${cores}`;
    return { severity: "warning", code: "more_than_host", message, ...places[i]! };
  });
}

/** Some hosts store only whole positions of 0 or more. */
async function movedPositions(
  { work }: WorkPart,
  rules: HostRules,
  { lab, yaml, files }: Text & Pick<Intent, "lab">,
): Promise<readonly Diagnostic[]> {
  const parts = [...lab.nodes.map((node) => ["node", node] as const), ...lab.networks.map((network) => ["network", network] as const)];
  const moved = parts.flatMap(([kind, { key, position }]) => {
    const stored = hostPosition(position, rules);
    const isSame = stored === undefined || (stored.x === position?.x && stored.y === position?.y);
    return isSame
      ? []
      : [{ kind, key, field: "position", text: `(${position?.x}, ${position?.y}) becomes (${stored.x}, ${stored.y})` } as const];
  });
  if (moved.length === 0) return [];
  const places = await work.fieldPlaces(yaml, files, moved);
  return moved.map(({ kind, key, text }, i) => {
    const message = `${kind} ${key}: its position ${text}: the host stores whole numbers of 0 or more`;
    return { severity: "warning", code: "position_changed", message, ...places[i]! };
  });
}
