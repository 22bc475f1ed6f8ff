import { LabwrightError } from "../../client/index.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { Context } from "../command/context.ts";
import type { Plan } from "../show/show-plan.ts";

type Blocked = NonNullable<Plan["blocked"]>;

/** The problems that block a plan: mistakes in the file with their places, and other problems. */
export interface Explained {
  readonly mistakes: readonly Diagnostic[];
  readonly others: Blocked;
}

/** Asks the service for the places of a blocked plan's mistakes: validate finds the same mistakes. */
export async function explainBlocked(context: Context, blocked: Blocked): Promise<Explained> {
  const { file, selector } = await context.project();
  if (blocked.length === 0 || file === undefined) return { mistakes: [], others: blocked };
  const client = await context.client();
  const mistakes = await client.validateProject(selector).then(() => [], errorsOf);
  const isExplained = ({ reason }: Blocked[number]) =>
    mistakes.some(({ code, message }) => code === reason.code && message.includes(reason.text));
  return { mistakes, others: blocked.filter((action) => !isExplained(action)) };
}

/** Shows the mistakes of a blocked plan on stderr as validate does, with line, code and hint. */
export async function showBlocked(context: Context, blocked: Blocked): Promise<void> {
  const { file } = await context.project();
  const { mistakes } = await explainBlocked(context, blocked);
  if (file !== undefined && mistakes.length > 0) context.terminal.complain(showDiagnostics(mistakes, file));
}

function errorsOf(error: unknown): readonly Diagnostic[] {
  if (!(error instanceof LabwrightError)) throw error;
  const diagnostics = error.code === "invalid_intent" ? error.data?.diagnostics : undefined;
  // The plan itself names the problems. If the service cannot return their places, no problem is lost.
  return Array.isArray(diagnostics) ? (diagnostics as readonly Diagnostic[]).filter(({ severity }) => severity === "error") : [];
}
