import type { UnlLab } from "../lab-file/unl.ts";
import { changedFacts, labFacts } from "../read/lab-facts.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import { adoptedIds, renumbered } from "../write/given-ids.ts";

/**
 * Returns how many of the steps, from the first on, are done on the host after a failed write. @param after the expected lab after each step
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
