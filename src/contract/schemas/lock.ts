import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { flag, text } from "./shapes.ts";

export const LabLockPayload = Type.Object({ ...selectorFields, locked: flag });
export type LabLockPayload = Static<typeof LabLockPayload>;

/** locked: as read back from the host. */
export const LabLockData = Type.Object({ lab: text, locked: flag });
export type LabLockData = Static<typeof LabLockData>;
