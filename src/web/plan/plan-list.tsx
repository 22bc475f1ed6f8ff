import type { PlanAction, PlanData } from "../../contract/schemas/plan.ts";
import { lazy } from "../parts/lazy.tsx";
import { disruptionText } from "./disruption-text.ts";

/** Loaded when a configuration is compared. */
const SideBySide = lazy(async () => ({ default: (await import("../intent/side-by-side.tsx")).SideBySide }));

const signs = { create: "+", update: "~", replace: "∓", delete: "−", start: "▶", stop: "■", wipe: "✕" } as const;
const originText = { intent: "changed in the text", host: "changed on the host", both: "changed in both" } as const;

interface PlanListProps {
  readonly plan: PlanData;
  /** Whether the plan skips unsupported parts. */
  readonly skipsUnsupported: boolean;
  readonly onLine: (line: number) => void;
}

/** Lists the actions of a plan with their reasons and effects. The line number of an action goes to that line of the text. */
export function PlanList({ plan, skipsUnsupported, onLine }: PlanListProps) {
  const { actions = [], unsupported = [], blocked = [], stored = [], summary } = plan;
  const extra = plan.direction === "from_host" ? 0 : (summary?.skipped_prune ?? 0);
  return (
    <>
      {actions.length === 0 && unsupported.length === 0 && extra === 0 && stored.length === 0 && (
        <p class="empty-plan">Nothing to do: the host matches the text.</p>
      )}
      {stored.length > 0 && <p class="mark">The text changes {stored.join(", ")}. Apply stores it, and then it takes effect.</p>}
      {extra > 0 && (
        <p class="mark warn">
          {extra === 1 ? "1 part on the host is not in the text, and stays" : `${extra} parts on the host are not in the text, and stay`}.
          To delete {extra === 1 ? "it" : "them"}, choose “Delete parts that are not in the text” and plan again.
        </p>
      )}
      {blocked.length > 0 && (
        <section class="problem">
          <strong>This cannot be applied now</strong>
          <ul>
            {blocked.map(({ id, kind, key, reason }) => (
              <li key={`${id} ${reason.text}`}>
                {kind} {key}: {reason.text}
              </li>
            ))}
          </ul>
        </section>
      )}
      {unsupported.length > 0 && (
        <section class="problem">
          <strong>
            {skipsUnsupported
              ? "Not supported by this host, and skipped"
              : "Not supported by this host: nothing can be applied until these parts are removed or skipped"}
          </strong>
          <ul>
            {unsupported.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </section>
      )}
      <ul class="plan-list">
        {actions.map((action) => (
          <PlanItem key={action.id} action={action} onLine={onLine} />
        ))}
      </ul>
      {summary !== undefined && actions.length > 0 && (
        <p>
          {[
            [summary.creates, "to create"],
            [summary.updates, "to change"],
            [summary.replaces, "to replace"],
            [summary.deletes, "to delete"],
            [summary.stops, "will stop"],
            [summary.starts, "will start"],
          ]
            .filter(([count]) => count !== 0)
            .map(([count, text]) => `${count} ${text}`)
            .join(", ")}
        </p>
      )}
    </>
  );
}

function PlanItem({ action, onLine }: { readonly action: PlanAction; readonly onLine: (line: number) => void }) {
  const { op, kind, key, reason, disruption, affects, changes, line, origin } = action;
  return (
    <li class={`op-${op}`}>
      <span class="sign" aria-hidden="true">
        {signs[op]}
      </span>{" "}
      <strong>
        {op} {kind} {key}
      </strong>
      {line !== undefined && (
        <button type="button" class="line-number" onClick={() => onLine(line)}>
          line {line}
        </button>
      )}
      {disruption !== "none" && <span class="mark warn">{disruptionText[disruption]}</span>}
      {origin !== undefined && origin !== "intent" && <span class="mark">{originText[origin]}</span>}
      <p>{reason.text}</p>
      {changes.length > 0 && (
        <table class="changes">
          <tbody>
            {changes.map(({ field, before, after, sensitive }) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>
                  {sensitive !== true && op !== "create" && isLong(before) && isLong(after) ? (
                    <SideBySide before={before} after={after} titles={["Before", "After"]} />
                  ) : (
                    <>
                      {op !== "create" && <del>{sensitive === true ? "(sensitive)" : valueText(before)}</del>}
                      {op !== "create" && " → "}
                      <ins>{sensitive === true ? "(sensitive)" : valueText(after)}</ins>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {affects.length > 0 && <p>Affects {affects.join(", ")}.</p>}
    </li>
  );
}

/** Whether a value has several lines: such texts are compared side by side. */
function isLong(value: unknown): value is string {
  return typeof value === "string" && value.trimEnd().includes("\n");
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "(none)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
