import { LabwrightError } from "../../client/index.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { Context } from "../command/context.ts";
import { diagnose, type Project } from "../command/project.ts";

/**
 * Checks the file before anything is sent, with the same messages as the service. Throws LabwrightError invalid_intent with the diagnostics. Prints
 * warnings.
 */
export function checkOffline(context: Context, { file }: Project): void {
  if (file === undefined) return;
  const diagnostics = diagnose(file);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const message = `${file.name} has ${errors.length} error${errors.length === 1 ? "" : "s"}; nothing was sent`;
    throw new LabwrightError(message, { status: 0, code: "invalid_intent", data: { diagnostics } });
  }
  if (diagnostics.length > 0) context.terminal.note(showDiagnostics(diagnostics, file));
}
