import { expect, test } from "vitest";
import { exitCodeText } from "./exit-code.ts";

test("an exit code above 128 has the name of its signal", () => {
  expect([0, 1, 128, 137, 139, 143, 255].map(exitCodeText)).toEqual([
    "exit code 0",
    "exit code 1",
    "exit code 128",
    "exit code 137 (SIGKILL)",
    "exit code 139 (SIGSEGV)",
    "exit code 143 (SIGTERM)",
    "exit code 255",
  ]);
});
