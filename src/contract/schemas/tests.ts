import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, list, text, time, word } from "./shapes.ts";

/** tests: names of tests of the intent; absent: all. The intent is yaml, else the one of the last apply. */
export const TestPayload = Type.Object({ ...selectorFields, tests: Type.Optional(list(text)) });
export type TestPayload = Static<typeof TestPayload>;

/**
 * One test in one node. passed: the check passed within its time or, if it should fail, failed until its end. failed: it did not; message is the last reason.
 * error: it could not be made, for example because the node does not run. line: of the test in the yaml.
 */
export const TestResult = Type.Object({
  name: text,
  node: text,
  check: word(["ping", "http", "port", "command", "route", "neighbor", "path", "config"]),
  outcome: word(["passed", "failed", "error"]),
  message: text,
  /** Number of times that the check was made. */
  attempts: integer,
  duration_ms: integer,
});
export type TestResult = Static<typeof TestResult>;

export const TestData = Type.Object({ lab: text, passed: integer, failed: integer, errors: integer, tests: list(TestResult) });
export type TestData = Static<typeof TestData>;

/** Result of the newest run of all tests of the recorded intent. */
export const TestSummary = Type.Object({ passed: integer, failed: integer, errors: integer, at: time });
export type TestSummary = Static<typeof TestSummary>;
