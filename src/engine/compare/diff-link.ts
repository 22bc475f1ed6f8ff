import type { LabLink, Quality } from "../../intent/lab/lab.ts";
import type { ObservedLink } from "../model/observed.ts";
import type { Change } from "../model/plan.ts";
import { defined } from "../shared/defined.ts";
import { type EndpointKeys, endpointOf, isTurned, observedLinkKey } from "./join.ts";

/** The fields of a link that can change in place. */
export type LinkField = "quality" | "suspended" | "mtu";

export interface LinkDifference {
  readonly field: LinkField;
  readonly changes: readonly Change[];
}

/** Returns the fields in which two links differ. Zero and an absent impairment are equal. */
export function diffLink(before: LabLink | undefined, after: LabLink): readonly LinkDifference[] {
  const quality: Change[] = [];
  const suspended: Change[] = [];
  const mtu: Change[] = [];
  for (const side of ["a", "b"] as const) {
    for (const word of qualityWords) {
      compare(quality, `quality.${side}.${word}`, before?.quality?.[side]?.[word] || null, after.quality?.[side]?.[word] || null);
    }
    compare(suspended, `suspended.${side}`, before?.suspended?.[side] ?? false, after.suspended?.[side] ?? false);
  }
  compare(mtu, "mtu", before?.mtu ?? null, after.mtu ?? null);
  return [
    { field: "quality" as const, changes: quality },
    { field: "suspended" as const, changes: suspended },
    { field: "mtu" as const, changes: mtu },
  ].filter(({ changes }) => changes.length > 0);
}

export const qualityWords = ["delay", "jitter", "loss", "bandwidth"] as const satisfies readonly (keyof Quality)[];

const everyWordIsCompared: [Exclude<keyof Quality, (typeof qualityWords)[number]>] extends [never] ? true : never = true;
void everyWordIsCompared;

/** Returns the observed link with the intent's field names. Its sides are in the intent's order if the intent has the link; zero impairments are left out. */
export function observedLink(link: ObservedLink, keys: EndpointKeys, wanted?: LabLink): LabLink {
  const natural: LabLink["endpoints"] = [endpointOf(link.endpoints[0], keys), endpointOf(link.endpoints[1], keys)];
  // A link to a network has the node first.
  const endpoints = wanted?.endpoints ?? ("network" in natural[0] ? ([natural[1], natural[0]] as const) : natural);
  const turned = isTurned(link, endpoints, keys);
  const [a, b] = turned ? (["b", "a"] as const) : (["a", "b"] as const);
  const quality = defined<NonNullable<LabLink["quality"]>>({ a: plainQuality(link.quality?.[a]), b: plainQuality(link.quality?.[b]) });
  const suspended = { a: link.suspended?.[a] ?? false, b: link.suspended?.[b] ?? false };
  return defined<LabLink>({
    key: wanted?.key ?? observedLinkKey(link, keys),
    endpoints,
    quality: Object.keys(quality).length > 0 ? quality : undefined,
    suspended: suspended.a || suspended.b ? suspended : undefined,
    mtu: link.mtu,
  });
}

function plainQuality(quality: Quality | undefined): Quality | undefined {
  if (quality === undefined) return undefined;
  const plain: Record<string, number> = {};
  for (const word of qualityWords) {
    const value = quality[word];
    if (value !== undefined && value !== 0) plain[word] = value;
  }
  return Object.keys(plain).length > 0 ? plain : undefined;
}

function compare(changes: Change[], field: string, before: unknown, after: unknown): void {
  if (before !== after) changes.push({ field, before, after });
}
