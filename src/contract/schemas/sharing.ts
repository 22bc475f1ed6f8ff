import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, list, name, optionalName, text, word } from "./shapes.ts";

/** view: read and plan; operate: also power, consoles, links, captures; edit: also change the lab. */
export const LabGrant = Type.Object({ user: name, right: word(["view", "operate", "edit"]) });
export type LabGrant = Static<typeof LabGrant>;

export const LabGrantsQuery = Type.Object({ lab: name });
export type LabGrantsQuery = Static<typeof LabGrantsQuery>;

/** grants: the complete new list; users that are not in it lose their grants. */
export const LabGrantsPayload = Type.Object({
  ...selectorFields,
  grants: Type.Unsafe<readonly LabGrant[]>(Type.Array(LabGrant, { maxItems: 1000 })),
});
export type LabGrantsPayload = Static<typeof LabGrantsPayload>;

export const LabGrantsData = Type.Object({
  lab: text,
  owner: text,
  /** Sorted by user. */
  grants: list(LabGrant),
});
export type LabGrantsData = Static<typeof LabGrantsData>;

/** owner: the new owner of the lab; absent: the caller. */
export const LabAdoptPayload = Type.Object({ ...selectorFields, owner: optionalName });
export type LabAdoptPayload = Static<typeof LabAdoptPayload>;

export const LabAdoptData = Type.Object({ lab: text, owner: text, nodes: integer, links: integer });
export type LabAdoptData = Static<typeof LabAdoptData>;
