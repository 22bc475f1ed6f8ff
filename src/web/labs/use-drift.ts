import type { PlanData } from "../../contract/schemas/plan.ts";
import { call } from "../service/api.ts";
import { inTurns } from "../parts/concurrency-limit.ts";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { useWhileSeen } from "../parts/use-polling.ts";

/** A host that others change tells nothing of it: it is looked at so often, ms. */
const lookMs = 60_000;
const turn = inTurns(2);

/**
 * What the host has otherwise than the lab's intent says. Looking makes no plan of anybody stale.
 * @param managed whether the lab has an intent at all; undefined: not known yet
 */
export function useDrift(lab: string, managed: boolean | undefined): Answer<PlanData | undefined> {
  const answer = useAnswer(
    async (signal) => (managed === true ? turn(() => call("planProject", { lab, peek: true }, { signal }), signal) : undefined),
    [lab, managed],
  );
  useWhileSeen(answer.again, lookMs);
  return answer;
}
