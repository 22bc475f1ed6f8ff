import type { UnlLab } from "../lab-file/unl.ts";
import { changedFacts, labFacts } from "../read/lab-facts.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import { adoptedIds, renumbered } from "../write/given-ids.ts";

/**
 * How many of the steps the host shows, from the first on, after a write that did not end well.
 * @param after the lab as it should be after each of the steps
 */
export function appliedSteps(before: UnlLab, after: readonly UnlLab[], got: UnlLab, catalogue: EveCatalogue): number {
  const last = after.at(-1);
  if (last === undefined) return 0;
  const ids = adoptedIds(before, last, got);
  const [was, is] = [labFacts(before, catalogue), labFacts(got, catalogue)];
  for (let count = after.length; count > 0; count--) {
    const wanted = labFacts(renumbered(after[count - 1] as UnlLab, ids), catalogue);
    if ([...changedFacts(was, wanted)].every(([key, value]) => is.get(key) === value)) return count;
  }
  return 0;
}
