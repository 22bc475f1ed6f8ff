import { expect, test } from "vitest";
import { type ErrorCode, errors, Failure } from "./errors.ts";
import { errorData } from "./schemas/error-data.ts";

test("each row of the data of errors is of a code", () => {
  expect(Object.keys(errorData).filter((code) => !(code in errors))).toEqual([]);
});

test("the compiler refuses data of another shape than that of the code", () => {
  const made = [
    new Failure("capture_limit", "full", { data: { limit: "watched_links", most: 10 } }),
    // @ts-expect-error the code needs a limit
    new Failure("capture_limit", "full", { data: { most: 10 } }),
    // @ts-expect-error another type
    new Failure("nodes_running", "running", { data: { nodes: "r1" } }),
    // @ts-expect-error the code has no such field
    new Failure("lab_exists", "exists", { data: { limit: "watched_links" } }),
  ];
  expect(made.map(({ code }): ErrorCode => code)).toEqual(["capture_limit", "capture_limit", "nodes_running", "lab_exists"]);
});
