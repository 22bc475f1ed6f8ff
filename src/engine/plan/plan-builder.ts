import type { Action, Disruption, Operation, Plan, PlanOp, PlanSummary, Step } from "../model/plan.ts";
import { type UnsupportedField, unsupportedText } from "../model/support.ts";
import { planText } from "../show/text.ts";
import { orderActions, orderOperations, type Phase, type Phased } from "./order.ts";

/** Collects actions and their steps in any order. `finish` sorts and counts them and makes the plan's text. */
export interface PlanBuilder {
  readonly add: (action: Action) => void;
  readonly block: (action: Action) => void;
  readonly run: (phase: Phase, action: Action, step: RunStep) => void;
  readonly finish: (facts: PlanFacts) => Plan;
}

export interface RunStep {
  readonly op: PlanOp;
  readonly step: Step;
  readonly disruption: Disruption;
  /** The resource of the step, if it is not the action's own. */
  readonly about?: Pick<Operation, "kind" | "key"> & { readonly native_id?: string | undefined; readonly name?: string | undefined };
  /** The reason of the step, if it is not the action's. */
  readonly reason?: Action["reason"];
  /** The changes that the step makes. */
  readonly changes?: Action["changes"];
  /** Distinguishes two steps of the same kind for the same resource. */
  readonly part?: string;
}

export interface PlanFacts {
  readonly name: string;
  readonly locked: boolean;
  readonly unsupported: readonly UnsupportedField[];
  /** The caller allows that unsupported fields are left out. */
  readonly allowUnsupported?: boolean | undefined;
  readonly unchanged: number;
  readonly skippedPrune: number;
  /** Steps of another plan that follow in their own order. */
  readonly followedBy?: readonly Operation[];
}

export function planBuilder(): PlanBuilder {
  const actions: Action[] = [];
  const blocked: Action[] = [];
  const steps: Phased[] = [];
  return {
    add: (action) => actions.push(action),
    block: (action) => blocked.push(action),
    run: (phase, action, { op, step, disruption, about, reason, changes, part }) => {
      const { native_id, name, affected: _affected, ...shared } = action;
      const own = about === undefined ? { native_id, name } : { native_id: about.native_id, name: about.name };
      const kind = about?.kind ?? action.kind;
      const key = about?.key ?? action.key;
      steps.push({
        phase,
        operation: {
          ...shared,
          id: `${part ?? op}:${kind}:${key}`,
          of: action.id,
          op,
          kind,
          key,
          ...(own.native_id !== undefined && { native_id: own.native_id }),
          ...(own.name !== undefined && { name: own.name }),
          reason: reason ?? action.reason,
          disruption,
          changes: changes ?? [],
          step,
        },
      });
    },
    finish: (facts) => {
      const operations = [...orderOperations(steps), ...(facts.followedBy ?? [])];
      const count = (op: PlanOp) => actions.reduce((sum, action) => sum + (action.op === op ? 1 : 0), 0);
      const nodes = (op: PlanOp) => operations.reduce((sum, one) => sum + (one.op === op && one.kind === "node" ? 1 : 0), 0);
      const summary: PlanSummary = {
        creates: count("create"),
        updates: count("update"),
        deletes: count("delete"),
        replaces: count("replace"),
        stops: nodes("stop"),
        starts: nodes("start"),
        unchanged: facts.unchanged,
        skipped_prune: facts.skippedPrune,
        unsupported: facts.unsupported.length,
      };
      const shown = {
        actions: orderActions(actions),
        blocked: orderActions(blocked),
        unsupported: facts.unsupported.map(unsupportedText),
        summary,
      };
      return {
        ...shown,
        unsupportedFields: facts.unsupported,
        operations,
        applicable: blocked.length === 0 && !facts.locked && (facts.unsupported.length === 0 || facts.allowUnsupported === true),
        text: planText({ ...shown, name: facts.name, locked: facts.locked }),
      };
    },
  };
}
