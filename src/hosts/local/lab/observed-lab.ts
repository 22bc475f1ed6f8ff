import type { ObservedLab, Power } from "../../../engine/model/observed.ts";
import { type LabDefinition, observeDefinition } from "../definitions/definition.ts";
import type { NodeLife } from "../nodes/node-life.ts";
import type { Catalogue } from "../templates/catalogue.ts";

interface Observed {
  readonly life: ReadonlyMap<number, NodeLife>;
  readonly catalogue: Catalogue;
  readonly lab: ObservedLab;
}

/** Definition → the last result for it. */
const lastResults = new WeakMap<LabDefinition, Observed>();

/**
 * Does the same as observeDefinition(), but returns the same object again if nothing has changed since: callers keep computed values by it.
 * @param saved configurations that nodes saved by themselves, by node id
 */
export function observedLab(
  definition: LabDefinition,
  life: ReadonlyMap<number, NodeLife>,
  catalogue: Catalogue,
  saved: ReadonlyMap<number, string>,
): ObservedLab {
  const known = lastResults.get(definition);
  if (known !== undefined && known.life === life && known.catalogue === catalogue && saved.size === 0) return known.lab;
  const power = new Map<number, Power>();
  for (const [id, one] of life) power.set(id, one.power);
  const lab = observeDefinition(definition, power, catalogue, saved);
  if (saved.size === 0) lastResults.set(definition, { life, catalogue, lab });
  return lab;
}
