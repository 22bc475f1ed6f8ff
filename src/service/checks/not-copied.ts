import { Failure } from "../../contract/errors.ts";
import type { Plan } from "../../engine/model/plan.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { Intent } from "../work/intents.ts";

/** Returns the blocked actions of a copy. A missing image is described without advice about a text, because the user has none. */
export function copyProblems(blocked: Plan["blocked"], { lab }: Pick<Intent, "lab">): Plan["blocked"] {
  return blocked.map((action) => {
    const node = action.kind === "node" ? lab.nodes.find(({ key }) => key === action.key) : undefined;
    const { code } = action.reason;
    if (node === undefined || (code !== "unknown_image" && code !== "no_image")) return action;
    const image = node.image === undefined ? "no image" : `no image ${node.image}`;
    return { ...action, reason: { ...action.reason, text: `the host has ${image} for template ${node.template}` } };
  });
}

/**
 * Returns a function for `catch`. If the text of a copy is refused, the message has no line numbers, because the user does not
 * have that text.
 * @param source path of the copied lab
 */
export function notCopied(source: string) {
  return (error: unknown): never => {
    if (!(error instanceof Failure) || error.code !== "invalid_intent") throw error;
    const all = (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[];
    const errors = all.filter(({ severity }) => severity === "error");
    const advice = [...new Set(errors.flatMap(({ hint }) => hint ?? []))].map((hint) => `${hint}. `);
    const hint = `${advice.join("")}Add what is missing to the host, or change the nodes in ${source}; then import it again`;
    const text = errors.map(({ message }) => message).join(errors.length > 3 ? "\n  " : "; ");
    throw new Failure("invalid_intent", `${source} was not copied: ${text}`, {
      data: { ...error.data, diagnostics: all, hint },
      cause: error,
    });
  };
}
