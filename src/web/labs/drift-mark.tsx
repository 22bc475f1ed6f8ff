import type { PlanData } from "../../contract/schemas/plan.ts";
import { Link } from "../parts/link.tsx";
import type { Answer } from "../parts/use-answer.ts";
import { differences } from "./differences.ts";

/** Shows whether the host matches the intent, with a link to the differences. */
export function DriftMark({ lab, drift: { data, error } }: { readonly lab: string; readonly drift: Answer<PlanData | undefined> }) {
  if (error !== undefined) {
    return (
      <span class="mark" title={error instanceof Error ? error.message : String(error)}>
        drift unknown
      </span>
    );
  }
  if (data === undefined) return <span class="mark">comparing…</span>;
  const count = differences(data);
  if (count === 0) return <span class="mark good">in sync</span>;
  return (
    <Link to={{ page: "lab", lab, view: "plan" }} class="mark warn">
      out of sync: {count === 1 ? "1 difference" : `${count} differences`}
    </Link>
  );
}
