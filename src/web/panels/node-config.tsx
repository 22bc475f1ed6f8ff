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

const originWords = { intent: "changed in the intent", host: "changed on the node", both: "changed in both" } as const;

/** What the intent says of a node and the host has otherwise: its startup-config line by line, and its other fields. */
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
  const actions = (data.actions ?? []).filter(
    ({ kind, key }) => (kind === "config" || kind === "node") && key === (node.node ?? node.name),
  );
  const config = actions.find(({ kind }) => kind === "config");
  const fields = actions.flatMap(({ changes }) => changes.filter(({ field }) => field !== "startup-config"));
  const text = config?.changes.find(({ field }) => field === "startup-config");
  const words = actions.length === 0 ? "the same" : config === undefined ? "differ" : "startup-config differs";
  return (
    <details open={actions.length > 0}>
      <summary>Intent and node: {words}</summary>
      {actions.length === 0 && (
        <p class="hint">
          The node has what the intent says, also what it saved as its startup-config. What runs in it and was not saved is not compared.
        </p>
      )}
      {fields.length > 0 && (
        <ul>
          {fields.map(({ field, before, after, sensitive }) => (
            <li key={field}>
              {field}: {sensitive === true ? "another secret" : `${valueWords(before)} → ${valueWords(after)}`}
            </li>
          ))}
        </ul>
      )}
      {text !== undefined && (
        <>
          <p class="hint">
            {text.origin === undefined ? "It differs" : `It was ${originWords[text.origin]}`}. Lines with − are on the node, lines with + in
            the intent.
          </p>
          <DiffView before={String(text.before ?? "")} after={String(text.after ?? "")} />
        </>
      )}
      {actions.length > 0 && (
        <p>
          <Link to={{ page: "lab", lab, view: "plan" }}>Apply the intent, or take over what the host has</Link>
        </p>
      )}
    </details>
  );
}

function valueWords(value: unknown): string {
  return value === null || value === undefined ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}
