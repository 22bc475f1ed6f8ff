import type { ObservedLab, Power } from "../../../engine/model/observed.ts";
import { type LabDefinition, observeDefinition } from "../definitions/definition.ts";
import type { NodeLife } from "../nodes/node-life.ts";
import type { Catalogue } from "../templates/catalogue.ts";

interface Observed {
  readonly life: ReadonlyMap<number, NodeLife>;
  readonly catalogue: Catalogue;
  readonly lab: ObservedLab;
}

/** The last look at each definition. */
const looks = new WeakMap<LabDefinition, Observed>();

/**
 * As observeDefinition(). Where nothing has changed since the last look it is the same object, so that who keeps something beside it sees that at once.
 * @param saved configurations that nodes saved by themselves, by node id
 */
export function observedLab(
  definition: LabDefinition,
  life: ReadonlyMap<number, NodeLife>,
  catalogue: Catalogue,
  saved: ReadonlyMap<number, string>,
): ObservedLab {
  const known = looks.get(definition);
  if (known !== undefined && known.life === life && known.catalogue === catalogue && saved.size === 0) return known.lab;
  const power = new Map<number, Power>();
  for (const [id, one] of life) power.set(id, one.power);
  const lab = observeDefinition(definition, power, catalogue, saved);
  if (saved.size === 0) looks.set(definition, { life, catalogue, lab });
  return lab;
}
