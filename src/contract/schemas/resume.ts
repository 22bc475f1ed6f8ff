import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { flag, list, text, word } from "./shapes.ts";

/**
 * policy: whether nodes that ended with the host come back by themselves when the service starts. The rest only where some wait: waiting, the
 * names of nodes that stopped without a request; reason host_restart (the machine or its labs restarted) or lab_killed; error,
 * why the last resume failed.
 */
export const ResumeState = Type.Object({
  policy: word(["always", "never"]),
  waiting: Type.Optional(list(text)),
  reason: Type.Optional(word(["host_restart", "lab_killed"])),
  error: Type.Optional(Type.Object({ code: text, error: text })),
});
export type ResumeState = Static<typeof ResumeState>;

/** default: the service's own policy. */
export const ResumePayload = Type.Object({ ...selectorFields, resume: word(["always", "never", "default"]) });
export type ResumePayload = Static<typeof ResumePayload>;

/** own: the lab has a policy of its own. */
export const ResumeData = Type.Object({ lab: text, resume: word(["always", "never"]), own: flag });
export type ResumeData = Static<typeof ResumeData>;
