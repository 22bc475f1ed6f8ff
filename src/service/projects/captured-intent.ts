import { joinIds } from "../../engine/compare/join.ts";
import { readLab } from "../../engine/compare/read-lab.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostRules } from "../../engine/model/plan.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { recordedIntent } from "../work/intents.ts";
import { hostPlaces } from "./host-places.ts";

/** Returns the lab as a pull writes it: the host's definition with the keys of the target's intent. */
export async function capturedIntent(context: WorkPart, target: Target, observed: ObservedLab, rules: HostRules): Promise<Lab> {
  const { intent, record } = target;
  const ids = joinIds(intent?.lab ?? null, observed, target.ids);
  const places = record === undefined ? undefined : hostPlaces(record, (await recordedIntent(context, record))?.lab);
  const base = intent === undefined ? {} : { base: intent.lab };
  return readLab({ observed, rules, ids, ...base, ...(places !== undefined && { hostPlaces: places }) });
}
