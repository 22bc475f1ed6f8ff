import { useState } from "preact/hooks";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import type { PlanEvent, PlanState } from "../control/plan-state.ts";
import { quickFix } from "./quick-fix.ts";

interface ProblemListProps {
  readonly problems: readonly Diagnostic[];
  /** The text that they belong to. */
  readonly text: string;
  /** Shows a line of the text. */
  readonly onLine: (line: number) => void;
  /** Replaces the text; undefined: it cannot be edited. */
  readonly onFix: ((edit: (yaml: string) => string) => void) | undefined;
}

/** More are not listed, but marked in the text. */
const maxListed = 100;

/** Lists the errors and warnings of a text. Each leads to its line, and may propose a fix. */
export function ProblemList({ problems, text, onLine, onFix }: ProblemListProps) {
  // After a fix the places of the others are wrong, until the text has been checked again.
  const [repaired, setRepaired] = useState<readonly Diagnostic[]>();
  if (problems.length === 0) return null;
  const errors = problems.filter(({ severity }) => severity === "error").length;
  return (
    <section class="problem-list" aria-label="Problems of the text">
      <p role="status">{[countText(errors, "error"), countText(problems.length - errors, "warning")].filter(Boolean).join(", ")}</p>
      <ul>
        {problems.slice(0, maxListed).map((problem) => {
          const { severity, code, message, hint, file, line, column } = problem;
          const fix = repaired === problems ? undefined : quickFix(problem, text);
          return (
            <li key={`${file} ${line} ${column} ${code} ${message}`} class={severity}>
              {file === undefined ? (
                <button type="button" class="line-number" onClick={() => onLine(line)}>
                  line {line}
                </button>
              ) : (
                <span>
                  {file}:{line}
                </span>
              )}
              <span>
                <span class="visually-hidden">{severity}: </span>
                {message}
                {hint !== undefined && <small> {hint}</small>}
              </span>
              {fix !== undefined && onFix !== undefined && (
                <button
                  type="button"
                  onClick={() => {
                    setRepaired(problems);
                    onFix(fix.apply);
                  }}
                >
                  Replace by {fix.replacement}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface EditedText {
  readonly state: PlanState;
  readonly dispatch: (event: PlanEvent) => void;
}

/** Returns a function that applies a fix to the edited text; undo takes it back. */
export function fixIn({ state: { intent, options }, dispatch }: EditedText): (edit: (yaml: string) => string) => void {
  return (edit) => dispatch({ type: "drawn", intent: { ...intent, yaml: edit(intent.yaml) }, prunes: options.prune });
}

function countText(count: number, what: string): string {
  return count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"}`;
}
