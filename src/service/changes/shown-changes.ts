import type { PlanAction } from "../../contract/schemas/plan.ts";
import type { Action, Change, Operation } from "../../engine/model/plan.ts";

/** Maximum characters of the values of all changes in one list of an answer. A few bytes of an intent can stand for a text in each of thousands of nodes. */
export const maxShownCharacters = 4 << 20;

/** Characters that are shown of a text beyond the maximum. */
const shortText = 1000;

/** Returns host steps for the API, without the data for the driver. */
export function shownOperations(operations: readonly Operation[]): readonly PlanAction[] {
  return withBoundedTexts(operations.map(({ step: _step, ...shown }) => shown));
}

/** Returns the actions with short texts in place of long ones, from the action on that exceeds the maximum. */
export function withBoundedTexts<A extends Pick<Action, "changes">>(actions: readonly A[], max = maxShownCharacters): readonly A[] {
  let left = max;
  return actions.map((action) => {
    const size = charactersOf(action.changes);
    if (size <= left) {
      left -= size;
      return action;
    }
    return { ...action, changes: action.changes.map(shortened) };
  });
}

function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, one) => sum + charactersOf(one), 0);
}

function shortened(change: Change): Change {
  return { ...change, before: withShortTexts(change.before), after: withShortTexts(change.after) };
}

function withShortTexts(value: unknown): unknown {
  if (typeof value === "string") {
    if (value.length <= 2 * shortText) return value;
    return `${value.slice(0, shortText)}\n… ${value.length - shortText} more characters: the texts of this plan are too large to show all of them`;
  }
  if (Array.isArray(value)) return value.map(withShortTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withShortTexts(one)]));
}
