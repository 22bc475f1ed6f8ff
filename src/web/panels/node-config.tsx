import { nodeKey } from "../../base/node-key.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { lazy } from "../parts/lazy.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Answer } from "../parts/use-answer.ts";

const DiffView = lazy(async () => ({ default: (await import("../intent/diff-view.tsx")).DiffView }));

interface NodeConfigProps {
  readonly lab: string;
  readonly node: InspectedNode;
  readonly drift: Answer<PlanData | undefined>;
}

const originText = { intent: "changed in the intent", host: "changed on the node", both: "changed in both" } as const;

/** Shows how a node differs from its intent: its startup-config line by line, and its other fields. */
export function NodeConfig({ lab, node, drift: { data, error, again } }: NodeConfigProps) {
  if (error !== undefined) {
    return (
      <details>
        <summary>Intent and node: not compared</summary>
        <Problem error={error} retry={again} />
      </details>
    );
  }
  if (data === undefined) return null;
  const actions = (data.actions ?? []).filter(({ kind, key }) => (kind === "config" || kind === "node") && key === nodeKey(node));
  const config = actions.find(({ kind }) => kind === "config");
  const fields = actions.flatMap(({ changes }) => changes.filter(({ field }) => field !== "startup-config"));
  const text = config?.changes.find(({ field }) => field === "startup-config");
  const summary = actions.length === 0 ? "the same" : config === undefined ? "differ" : "startup-config differs";
  return (
    <details open={actions.length > 0}>
      <summary>Intent and node: {summary}</summary>
      {actions.length === 0 && (
        <p class="hint">The node matches the intent, also in the configuration that it saved. Its running configuration is not compared.</p>
      )}
      {fields.length > 0 && (
        <ul>
          {fields.map(({ field, before, after, sensitive }) => (
            <li key={field}>
              {field}: {sensitive === true ? "a different secret" : `${valueText(before)} → ${valueText(after)}`}
            </li>
          ))}
        </ul>
      )}
      {text !== undefined && (
        <>
          <p class="hint">
            {text.origin === undefined ? "The startup-config differs" : `The startup-config was ${originText[text.origin]}`}. Lines with −
            are on the node, lines with + in the intent.
          </p>
          <DiffView before={String(text.before ?? "")} after={String(text.after ?? "")} />
        </>
      )}
      {actions.length > 0 && (
        <p>
          <Link to={{ page: "lab", lab, view: "plan" }}>Apply the intent, or take over the host's changes</Link>
        </p>
      )}
    </details>
  );
}

function valueText(value: unknown): string {
  return value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}
