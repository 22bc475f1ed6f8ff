import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { files, flag, integer, list, optionalFlag, optionalInteger, optionalText, text, time } from "./shapes.ts";

/** One step of a change, without the contents of configurations. */
export const HistoryStep = Type.Object({ op: text, kind: text, key: text });
export type HistoryStep = Static<typeof HistoryStep>;

/** A state of a lab's intent, and the change that recorded it. */
export const HistoryEntry = Type.Object({
  /** Increases with each change of the lab. */
  serial: integer,
  at: time,
  /** Absent for a state that an older version of the service recorded. */
  user: optionalText,
  /** Operation id: deployProject, reconcileProject, editProject … Absent as user. */
  operation: optionalText,
  /** The change of the host; absent if only the text was saved. */
  job: optionalText,
  /** How the job ended, as in getJob; absent while it runs. */
  outcome: optionalText,
  nodes: integer,
  links: integer,
  /** The steps of the change, after its end; absent if they are too many to keep. */
  steps: Type.Optional(list(HistoryStep)),
  step_count: optionalInteger,
  /** false: the text was too large to keep. */
  has_text: flag,
  /** The intent that the lab has now. */
  is_current: flag,
});
export type HistoryEntry = Static<typeof HistoryEntry>;

/** The newest first. */
export const HistoryData = Type.Object({ lab: text, entries: list(HistoryEntry) });
export type HistoryData = Static<typeof HistoryData>;

/** as_written true: the original text with comments and secrets, for users who may edit the lab. */
export const HistoryTextPayload = Type.Object({ ...selectorFields, serial: integer, as_written: optionalFlag });
export type HistoryTextPayload = Static<typeof HistoryTextPayload>;

/** The intent of one state, without secrets; with as_written as it was written. */
export const HistoryTextData = Type.Object({ lab: text, serial: integer, yaml: text, files });
export type HistoryTextData = Static<typeof HistoryTextData>;
