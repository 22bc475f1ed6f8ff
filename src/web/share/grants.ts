import type { LabGrant } from "../../contract/schemas/sharing.ts";

export type GrantRight = LabGrant["right"];

/** The rights that can be granted, each with the ones before it. */
export const grantRights: readonly (readonly [GrantRight, string])[] = [
  ["view", "view: see the lab, plan changes"],
  ["operate", "operate: also start and stop nodes, consoles, links, captures"],
  ["edit", "edit: also change the lab"],
];

/** Returns the grants with one more, or with another right for a user who has one. Sorted by user. */
export function withGrant(grants: readonly LabGrant[], grant: LabGrant): readonly LabGrant[] {
  return [...grants.filter(({ user }) => user !== grant.user), grant].sort((a, b) => (a.user < b.user ? -1 : 1));
}

export function withoutGrant(grants: readonly LabGrant[], user: string): readonly LabGrant[] {
  return grants.filter((one) => one.user !== user);
}
