import type { Context } from "../command/context.ts";
import { table } from "../show/table.ts";
import type { Outcome } from "./class-labs.ts";

/** Shows the outcome of each lab, then the reasons of the failures. Returns the exit code. */
export function showOutcomes(context: Context, outcomes: readonly Outcome[]): 0 | 1 {
  const failed = outcomes.filter(({ error }) => error !== undefined);
  context.result({ labs: outcomes }, () =>
    table(
      ["STUDENT", "LAB", "RESULT"],
      outcomes.map(({ student, lab, outcome, error }) => [student, lab, error === undefined ? outcome : `${outcome} (${error.code})`]),
    ),
  );
  for (const { student, error } of failed) context.terminal.complain(`error: ${student}: ${error?.message}`);
  if (failed.length > 0)
    context.terminal.complain(`error: ${failed.length} of ${outcomes.length} labs failed; the same command again tries them again`);
  return failed.length > 0 ? 1 : 0;
}
