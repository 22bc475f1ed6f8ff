import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostRules, Plan } from "../../engine/model/plan.ts";
import type { NativeIds } from "../../hosts/host.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Direction } from "../store/store.ts";

/** A plan with what it rests on. */
export interface Planned {
  readonly plan: Plan;
  readonly observed: ObservedLab | null;
  readonly rules: HostRules;
  readonly ids: NativeIds;
  /** Opaque, direction-scoped. */
  readonly identity: string;
}

export interface PlanOptions {
  readonly direction: Direction;
  readonly prune: boolean;
  readonly replace: boolean;
  readonly wipe?: boolean;
  readonly allowUnsupported?: boolean;
  /** Adds line numbers of the intent and the origin of each difference, for plans that people read. */
  readonly explain?: boolean;
  /**
   * Compares the labs without their secrets. For callers who may not read the secrets: the plan of a guess must not show whether the guess is right.
   * The plan must not be applied.
   */
  readonly masked?: boolean;
}

/** The intended lab, with its source text if it has one. */
export interface Wanted {
  readonly lab: Lab;
  readonly yaml?: string;
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Throws machine_unreachable if a machine that does not answer may have nodes of the lab that were never seen: a change would make them a second time, and a file that follows
 * the host would lose them.
 */
export function refuseUnseen(observed: ObservedLab | null): void {
  const [machine] = observed?.unseen ?? [];
  if (machine === undefined) return;
  throw new Failure(
    "machine_unreachable",
    `the machine ${machine} does not answer, and may have nodes of this lab that nobody has seen yet: nothing was changed. Start ${machine}, or if it is lost for good: labwright machines remove ${machine}`,
    { data: { machine }, retryAfter: 5 },
  );
}

/** Observes the lab and plans the change. If `wanted` is null, plans its removal. Writes nothing. */
export async function planAgainstHost(
  context: WorkPart,
  target: Pick<Target, "host" | "path" | "ids" | "record">,
  wanted: Wanted | null,
  options: PlanOptions,
): Promise<Planned> {
  const [own, observed] = await Promise.all([target.host.rules(), target.host.observe(target.path)]);
  if (wanted !== null) refuseUnseen(observed);
  // The nodes of a spread lab have the memory of several machines.
  const room = target.host.spread?.room(target.path, wanted?.lab.place);
  const rules = room === undefined ? own : { ...own, freeMemory: room };
  const { direction, prune, replace, wipe, allowUnsupported, explain, masked } = options;
  const { record } = target;
  const input = {
    desired: wanted?.lab ?? null,
    observed,
    rules,
    prune,
    replace,
    pathName: target.path.split("/").at(-1) ?? "",
    ...(wipe !== undefined && { wipe }),
    ...(allowUnsupported === true && { allowUnsupported }),
    ...(direction === "to_host" && record?.owedStarts !== undefined && { owedStarts: record.owedStarts }),
  };
  const explanation = { baseIds: record?.ids ?? target.ids, ...(record?.applied !== undefined && { base: record.applied }) };
  const { plan, ids, identity } = await context.work.plan({
    input,
    ids: target.ids,
    direction,
    files: wanted?.files ?? {},
    ...(masked === true && { masked }),
    ...(explain === true && { explain: explanation, ...(wanted?.yaml !== undefined && { yaml: wanted.yaml }) }),
  });
  return { plan, observed, rules, ids, identity };
}
