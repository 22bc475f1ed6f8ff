import type { PlanAction, PlanData } from "../../contract/schemas/plan.ts";

const signs = { create: "+", update: "~", replace: "∓", delete: "−", start: "▶", stop: "■", wipe: "✕" } as const;
export const disruptionWords = {
  none: "nothing running feels it",
  link: "a link flaps",
  restart: "restarts",
  stop: "stops",
  recreate: "is made anew",
} as const;
const origins = { intent: "changed in the text", host: "changed on the host", both: "changed in both" } as const;

interface PlanListProps {
  readonly plan: PlanData;
  /** It was asked for the rest without what the host does not support. */
  readonly leavesOut: boolean;
  readonly onLine: (line: number) => void;
}

/** A plan as a list: what is done to what, why, and who feels it. A line's number leads to the text. */
export function PlanList({ plan, leavesOut, onLine }: PlanListProps) {
  const { actions = [], unsupported = [], blocked = [], summary } = plan;
  return (
    <>
      {actions.length === 0 && unsupported.length === 0 && <p class="empty-plan">Nothing to do: the host is as the text says.</p>}
      <ul class="plan-list">
        {actions.map((action) => (
          <PlanItem key={action.id} action={action} onLine={onLine} />
        ))}
      </ul>
      {blocked.length > 0 && (
        <section class="problem">
          <strong>This cannot be applied now</strong>
          <ul>
            {blocked.map(({ id, kind, key, reason }) => (
              <li key={id}>
                {kind} {key}: {reason.text}
              </li>
            ))}
          </ul>
        </section>
      )}
      {unsupported.length > 0 && (
        <section class="problem">
          <strong>
            {leavesOut
              ? "Not supported by this host: left out"
              : "Not supported by this host: nothing is applied while the text asks for it"}
          </strong>
          <ul>
            {unsupported.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </section>
      )}
      {summary !== undefined && actions.length > 0 && (
        <p>
          {[
            [summary.creates, "to create"],
            [summary.updates, "to change"],
            [summary.replaces, "to replace"],
            [summary.deletes, "to delete"],
            [summary.stops, "will stop"],
            [summary.starts, "will start"],
            [summary.skipped_prune, "extra, left alone"],
          ]
            .filter(([count]) => count !== 0)
            .map(([count, words]) => `${count} ${words}`)
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
      {disruption !== "none" && <span class="mark warn">{disruptionWords[disruption]}</span>}
      {origin !== undefined && origin !== "intent" && <span class="mark">{origins[origin]}</span>}
      <p>{reason.text}</p>
      {changes.length > 0 && (
        <table class="changes">
          <tbody>
            {changes.map(({ field, before, after, sensitive }) => (
              <tr key={field}>
                <th scope="row">{field}</th>
                <td>
                  {op !== "create" && <del>{sensitive === true ? "(sensitive)" : valueWords(before)}</del>}
                  {op !== "create" && " → "}
                  <ins>{sensitive === true ? "(sensitive)" : valueWords(after)}</ins>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {affects.length > 0 && <p>Felt by {affects.join(", ")}.</p>}
    </li>
  );
}

function valueWords(value: unknown): string {
  if (value === null || value === undefined) return "(none)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
