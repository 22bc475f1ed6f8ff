import type { PlanAction } from "../../contract/schemas/plan.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { disruptionText } from "./disruption-text.ts";

interface StopQuestionProps {
  /** The actions of the plan that the user confirms. */
  readonly actions: readonly PlanAction[];
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks before nodes stop: names the nodes, the reasons, and the other nodes and links that are affected. */
export function StopQuestion({ actions, onConfirm, onCancel }: StopQuestionProps) {
  const stopping = actions.filter(stops);
  const down = new Set(stopping.map(({ key }) => key));
  const affected = stopping.flatMap(({ affected }) => affected ?? []).filter(({ key }) => !down.has(key));
  const links = unique(affected.filter(({ kind }) => kind === "link"));
  const others = unique(affected.filter(({ kind }) => kind !== "link"));
  return (
    <Confirm title="Nodes will stop" action="Stop them and apply" onConfirm={onConfirm} onCancel={onCancel}>
      <span class="question">
        <span>Steps that disturb no running node are applied. For the remaining steps these go down; running nodes are started again:</span>
        <span class="question-list">
          {stopping.map(({ id, kind, key, disruption, reason }) => (
            <span key={id}>
              <strong>{kind === "config" ? `${key}, its configuration` : `${kind} ${key}`}</strong> {disruptionText[disruption]}:{" "}
              {reason.text}
            </span>
          ))}
        </span>
        <span>
          {others.length === 0 && links.length === 0 && "No other node or link is affected."}
          {others.length > 0 && (
            <>
              Affected nodes: <strong>{others.join(", ")}</strong>.{" "}
            </>
          )}
          {links.length > 0 && <>Links that lose their carrier: {links.join("; ")}.</>}
        </span>
        <span>You confirm exactly the plan that is shown. If the lab changes meanwhile, nothing is applied.</span>
      </span>
    </Confirm>
  );
}

/** Whether a running node must stop for the action. */
export function stops({ disruption }: PlanAction): boolean {
  return disruption !== "none" && disruption !== "link";
}

function unique(parts: readonly { readonly key: string }[]): readonly string[] {
  return [...new Set(parts.map(({ key }) => key))];
}
