import { createHash } from "node:crypto";
import type { PlanAction } from "../contract/schemas/plan.ts";
import { identityText } from "../engine/identity.ts";
import { joinIds } from "../engine/join.ts";
import type { ObservedLab } from "../engine/observed.ts";
import type { Action, HostRules, Operation, Plan } from "../engine/plan.ts";
import { type PlanInput, planLab } from "../engine/plan-lab.ts";
import type { HostSession, NativeIds } from "../hosts/host.ts";
import type { Lab } from "../intent/lab.ts";
import type { Direction } from "./store/store.ts";

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
}

/** Observes the lab and plans. `desired` null plans its end. Writes nothing. */
export async function planAgainstHost(
  host: HostSession,
  path: string,
  desired: Lab | null,
  known: NativeIds,
  options: PlanOptions,
): Promise<Planned> {
  const [rules, observed] = await Promise.all([host.rules(), host.observe(path)]);
  // Joined first, so that a call with state and one without it give the same identity.
  const ids = joinIds(desired, observed, known);
  const { direction, prune, replace, wipe } = options;
  const input: PlanInput = { desired, observed, rules, ids, prune, replace, ...(wipe !== undefined && { wipe }) };
  const identity = createHash("sha256").update(identityText(input, direction)).digest("hex");
  return { plan: planLab(input), observed, rules, ids, identity };
}

/** A host step as the wire shows it: without what the host is given. */
export function shownOperation(operation: Operation): PlanAction {
  const { step: _step, ...shown } = operation;
  return shown;
}

/** What is blocked or has no place on the host, as the errors of deploy tell it. */
export function blockedText(blocked: readonly Action[]): string {
  return blocked.map(({ kind, key, reason }) => `${kind} ${key}: ${reason.text}`).join("\n");
}
