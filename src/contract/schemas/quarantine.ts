import Type, { type Static } from "typebox";
import { flag, list, optionalText, text } from "./shapes.ts";

/**
 * id: the host's id of the lab. reason: why it is in quarantine. lab and owner: of its last good definition, if there is one. running: its processes
 * run. restorable: it has a definition from which it can be restored.
 */
export const QuarantinedLabData = Type.Object({
  id: text,
  reason: text,
  lab: optionalText,
  owner: optionalText,
  running: flag,
  restorable: flag,
});
export type QuarantinedLabData = Static<typeof QuarantinedLabData>;

export const QuarantineData = Type.Object({
  /** Sorted by id. */
  labs: list(QuarantinedLabData),
});
export type QuarantineData = Static<typeof QuarantineData>;

export const QuarantineRestoreData = Type.Object({ id: text, lab: text });
export type QuarantineRestoreData = Static<typeof QuarantineRestoreData>;

export const QuarantineDeleteData = Type.Object({ id: text });
export type QuarantineDeleteData = Static<typeof QuarantineDeleteData>;
