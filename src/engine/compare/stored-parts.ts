import { sameData } from "../../intent/lab/canonical.ts";
import type { Lab } from "../../intent/lab/lab.ts";

/** Parts of an intent that no host has: only the service keeps them. */
export type StoredPart = "lease" | "place" | "ready" | "depends-on" | "tests" | "shapes";

/** Returns the stored parts in which two intents differ. Plans do not compare them. */
export function changedStoredParts(before: Lab, after: Lab): readonly StoredPart[] {
  const ready = ({ boots = [] }: Lab) => boots.flatMap((boot) => (boot.ready.length > 0 ? [[boot.node, boot.ready]] : []));
  const dependsOn = ({ boots = [] }: Lab) => boots.flatMap((boot) => (boot.dependsOn.length > 0 ? [[boot.node, boot.dependsOn]] : []));
  const tests = (lab: Lab) => lab.tests ?? [];
  const shapes = (lab: Lab) => lab.shapes ?? [];
  const lease = (lab: Lab) => lab.lease ?? null;
  const place = (lab: Lab) => lab.place ?? null;
  const parts = { lease, place, ready, "depends-on": dependsOn, tests, shapes } as const;
  return (Object.keys(parts) as StoredPart[]).filter((part) => !sameData(parts[part](before), parts[part](after)));
}
