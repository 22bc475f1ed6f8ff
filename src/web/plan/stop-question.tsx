import type { PlanAction } from "../../contract/schemas/plan.ts";
import { Confirm } from "../parts/confirm.tsx";
import { disruptionWords } from "./plan-list.tsx";

interface StopQuestionProps {
  /** Of the plan that is agreed to. */
  readonly actions: readonly PlanAction[];
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Before nodes stop: which, why, and who else feels it. */
export function StopQuestion({ actions, onConfirm, onCancel }: StopQuestionProps) {
  const stopping = actions.filter(stops);
  const down = new Set(stopping.map(({ key }) => key));
  const felt = stopping.flatMap(({ affected }) => affected ?? []).filter(({ key }) => !down.has(key));
  const links = unique(felt.filter(({ kind }) => kind === "link"));
  const others = unique(felt.filter(({ kind }) => kind !== "link"));
  return (
    <Confirm title="Nodes will stop" action="Stop them and apply" onConfirm={onConfirm} onCancel={onCancel}>
      <span class="question">
        <span>What disturbs nobody is applied. For the rest these go down; what ran before is started again:</span>
        <span class="question-list">
          {stopping.map(({ id, kind, key, disruption, reason }) => (
            <span key={id}>
              <strong>{kind === "config" ? `${key}, its configuration` : `${kind} ${key}`}</strong> {disruptionWords[disruption]}:{" "}
              {reason.text}
            </span>
          ))}
        </span>
        <span>
          {others.length === 0 && links.length === 0 && "Nothing else will feel it."}
          {others.length > 0 && (
            <>
              Nodes that will feel it: <strong>{others.join(", ")}</strong>.{" "}
            </>
          )}
          {links.length > 0 && <>Links that lose their carrier: {links.join("; ")}.</>}
        </span>
        <span>You agree to exactly the plan that is shown: if the lab changes meanwhile, nothing is done.</span>
      </span>
    </Confirm>
  );
}

/** Whether a running node must go down for it. */
export function stops({ disruption }: PlanAction): boolean {
  return disruption !== "none" && disruption !== "link";
}

function unique(things: readonly { readonly key: string }[]): readonly string[] {
  return [...new Set(things.map(({ key }) => key))];
}
