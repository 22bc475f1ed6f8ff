import { expect, test } from "vitest";
import { LabwrightError } from "../client/index.ts";
import type { ProjectFile } from "./command/project.ts";
import { pathIsTaken } from "./commands/deploy.ts";
import { showError } from "./failure.ts";
import { openTerminal } from "./show/terminal.ts";

function shown(error: unknown, file?: ProjectFile): string {
  let written = "";
  const terminal = openTerminal(process, { color: false, quiet: false });
  const complain = (text: string) => {
    written += `${text}\n`;
  };
  showError({ ...terminal, complain }, error, file);
  return written;
}

const file: ProjectFile = {
  name: "lab.yaml",
  path: "/x/lab.yaml",
  folder: "/x",
  yaml: "name: x\nnodes:\n  r1: {template: frr, image: a}\n",
  files: {},
};

test("the service's diagnostics are shown with their lines, and the message only counts them", () => {
  const place = { path: "/nodes/r1/image", line: 3, column: 30, end_line: 3, end_column: 31 };
  const diagnostics = [{ severity: "error", code: "unknown_image", message: "node r1: template frr has no image a", ...place }];
  const error = new LabwrightError("node r1: template frr has no image a", { status: 422, code: "invalid_intent", data: { diagnostics } });
  const text = shown(error, file);
  expect(text).toContain("lab.yaml:3:30: error: node r1: template frr has no image a (unknown_image)\n");
  expect(text).toContain("error: lab.yaml has 1 error; nothing was changed (invalid_intent)\n");
  // Without the file the lines cannot be shown.
  expect(shown(error)).toContain("error: node r1: template frr has no image a (invalid_intent)\n");
});

test("a request without an intent of the lab is answered with the ways to get one", () => {
  const message = "the service has no intent of this lab; send yaml";
  const data = { problems: [{ path: "/yaml", message }] };
  expect(shown(new LabwrightError(`/yaml: ${message}`, { status: 400, code: "bad_request", data }))).toMatch(
    /hint: -t FILE .*labwright adopt .*labwright pull/,
  );
});

test("problems that the message already contains are not repeated", () => {
  const problems = [{ path: "/filter", message: "syntax error" }];
  expect(shown(new LabwrightError("filter: syntax error", { status: 400, code: "bad_request", data: { problems } }))).toBe(
    "error: filter: syntax error (bad_request)\n",
  );
  expect(shown(new LabwrightError("the request is wrong", { status: 400, code: "bad_request", data: { problems } }))).toContain(
    "  /filter: syntax error\n",
  );
});

test("the hint after a deploy to another user's path does not suggest deploy", () => {
  const missing = new LabwrightError("there is no lab /campus", { status: 404, code: "lab_not_found", data: { path: "/campus" } });
  let rethrown: unknown;
  try {
    pathIsTaken(missing);
  } catch (error) {
    rethrown = error;
  }
  expect(shown(rethrown)).toBe(
    "error: there is no lab /campus (lab_not_found)\n  hint: that path belongs to another user: --lab /PATH/OF/YOURS gives the lab another path\n",
  );
  const other = new LabwrightError("no", { status: 409, code: "lab_exists" });
  expect(() => pathIsTaken(other)).toThrow(other);
});

test("a rate limit shows the service's reason and the time to wait", () => {
  const error = new LabwrightError("too many large intents wait to be read", { status: 429, code: "rate_limited", retryAfter: 5 });
  expect(shown(error)).toBe("error: too many large intents wait to be read (rate_limited)\n  hint: try again in 5 s\n");
});

test("the hint for a node that is not running depends on whether it failed, and names the node", () => {
  const of = (power: string) =>
    shown(new LabwrightError("h1 does not run", { status: 409, code: "node_not_running", data: { node: "h1", power } }));
  expect(of("failed")).toContain("hint: labwright logs h1 shows why it failed; labwright start h1 starts it again\n");
  expect(of("stopped")).toContain("hint: labwright start h1 starts it");
});

test("hundreds of steps are counted, the first ones named, and each failed one has its reason", () => {
  const steps = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({ id: `start:r${from + index}`, op: "start", kind: "node", key: `r${from + index}` }));
  const failed = steps(2, 300).map((step) => ({ ...step, message: `Failed to start node ${step.key} (12)` }));
  const data = { applied: steps(300), failed, remaining: steps(400, 500) };
  const text = shown(new LabwrightError("start node r300: Failed to start node r300 (12)", { status: 502, code: "host_error", data }));
  expect(text).toContain("  done (300): start node r0, start node r1,");
  expect(text).toContain("start node r7 and 292 more\n");
  expect(text).toContain("  failed (2): start node r300, start node r301\n  start node r301: Failed to start node r301 (12)\n");
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThan(250);
});

test("a hint names the log of a node only if the host stores one", () => {
  const at = (data: object) =>
    shown(new LabwrightError("r1 does not run", { status: 409, code: "node_not_running", data: { node: "r1", ...data } }));
  expect(at({ power: "stopped", log: false })).toContain("hint: labwright start r1 starts it\n");
  expect(at({ power: "failed" })).toContain("labwright logs r1 shows why it failed");
});

test("if the host is unavailable, the hint names the plan for a change and the service's log for a read", () => {
  const away = { status: 502, code: "host_unreachable" } as const;
  expect(shown(new LabwrightError("socket hang up", { ...away, data: { applied: [], failed: [], remaining: [] } }))).toContain(
    "labwright plan shows the remaining changes",
  );
  expect(shown(new LabwrightError("socket hang up", away))).toContain("check the service's log");
});

test("an error of the host has the plan as its hint after a change, and none of it after a read", () => {
  const failed = { status: 502, code: "host_error" } as const;
  expect(shown(new LabwrightError("no", { ...failed, data: { applied: [], remaining: [] } }))).toContain(
    "labwright plan shows the remaining changes",
  );
  expect(shown(new LabwrightError("no", failed))).toContain("hint: try again; if the error stays, look at the host itself");
});
