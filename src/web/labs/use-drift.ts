import type { PlanData } from "../../contract/schemas/plan.ts";
import { concurrencyLimit } from "../parts/concurrency-limit.ts";
import { type Answer, useAnswer } from "../parts/use-answer.ts";
import { usePolling } from "../parts/use-polling.ts";
import { call } from "../service/api.ts";

/** How often the host is compared, ms: changes that are made directly on the host cause no event. */
const pollMs = 60_000;
const limit = concurrencyLimit(2);

/**
 * Compares the host with the lab's intent. The plan is a peek: it makes no other plan stale.
 * @param managed whether the lab has an intent; undefined: not known yet
 */
export function useDrift(lab: string, managed: boolean | undefined): Answer<PlanData | undefined> {
  const answer = useAnswer(
    async (signal) => (managed === true ? limit(() => call("planProject", { lab, peek: true }, { signal }), signal) : undefined),
    [lab, managed],
  );
  usePolling(answer.again, pollMs);
  return answer;
}
