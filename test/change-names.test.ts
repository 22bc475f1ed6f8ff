import { expect, test } from "vitest";
import { changeName } from "../src/cli/show/show-job.ts";
import { type OperationRow, operations } from "../src/contract/operations.ts";
import { changeText } from "../src/web/labs/state-text.ts";
import { operationText } from "../src/web/service/operation-text.ts";

/** Jobs and the history of labs show changes by names for people. An id of the API there means that a new change has no name yet. */
const changes = (Object.entries(operations) as [string, OperationRow][]).filter(([, row]) => row.change).map(([id]) => id);

test.each([
  ["the command line", changeName],
  ["the pages", operationText],
  ["the state of a lab", (operation: string) => changeText({ operation, outcome: "finished" } as Parameters<typeof changeText>[0])],
])("every change has a name in %s", (_place, nameOf) => {
  expect(changes.length).toBeGreaterThan(10);
  expect(changes.filter((operation) => nameOf(operation) === operation)).toEqual([]);
});
