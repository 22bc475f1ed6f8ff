import Type, { type Static } from "typebox";
import { integer, json, list, optionalText, text, time, word } from "./shapes.ts";

/** The immediate answer of a change with Prefer: respond-async. */
export const JobStarted = Type.Object({ job: text });
export type JobStarted = Static<typeof JobStarted>;

export const JobData = Type.Object({
  job: text,
  lab: text,
  /** Operation id: deployProject, reconcileProject … */
  operation: text,
  user: text,
  status: word(["running", "done", "failed", "cancelled"]),
  /** How it ended: finished, failed, cancelled; after a crash of the service finished_after_restart, rolled_back or interrupted. */
  outcome: optionalText,
  started_at: time,
  finished_at: Type.Optional(time),
  step: integer,
  steps: integer,
  /** The operation's answer with secrets redacted: values of env, attributes, configurations and commands are "(sensitive)". */
  result: Type.Optional(json),
  /** Fields that the result lacks because they hold the intent: yaml, files. getPublicProject of its lab, as_written, has them. */
  left_out: Type.Optional(list(text)),
  error: Type.Optional(Type.Object({ code: text, error: text, data: Type.Optional(json) })),
  /** The step that runs, for people. */
  text: optionalText,
  /** A start that waits for another node, and why that is not ready, for people. */
  waiting: optionalText,
  /** In a fleet, of a running change: the machine of the lab, if that is not the one that answers. */
  machine: optionalText,
  /** The last report of `machine`, which does not answer. The change goes on when it is back. */
  unreachable_since: Type.Optional(time),
});
export type JobData = Static<typeof JobData>;

/** Newest first; without results, which getJob has. */
export const JobsData = Type.Object({ jobs: list(JobData) });
export type JobsData = Static<typeof JobsData>;
