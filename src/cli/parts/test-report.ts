import type { ResultOf } from "../../client/index.ts";
import { testLines } from "../../intent/places/test-lines.ts";
import type { ProjectFile } from "../command/project.ts";

type Tested = ResultOf<"testProject">;

/** Returns the results as JUnit XML: one suite for the lab, one case for each test and node. */
export function junitReport({ lab, tests, failed, errors }: Tested): string {
  const seconds = (ms: number) => (ms / 1000).toFixed(3);
  const total = tests.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  const cases = tests.map(({ name, node, outcome, message, duration_ms }) => {
    const attributes = `classname="${xml(lab)}" name="${xml(`${name} [${node}]`)}" time="${seconds(duration_ms)}"`;
    if (outcome === "passed") return `  <testcase ${attributes}/>`;
    const element = outcome === "failed" ? "failure" : "error";
    return `  <testcase ${attributes}>\n    <${element} message="${xml(message)}"/>\n  </testcase>`;
  });
  const counts = `tests="${tests.length}" failures="${failed}" errors="${errors}" time="${seconds(total)}"`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuite name="${xml(lab)}" ${counts}>`, ...cases, "</testsuite>", ""].join("\n");
}

/** Returns a workflow command of GitHub Actions for each test that did not pass, at the test's line of the lab's file. */
export function githubAnnotations({ tests }: Tested, file: ProjectFile | undefined): readonly string[] {
  const lines = file === undefined ? new Map<string, number>() : testLines(file.yaml, file.files);
  return tests
    .filter(({ outcome }) => outcome !== "passed")
    .map(({ name, node, message }) => {
      const place = file === undefined ? "" : `file=${property(file.name)},line=${lines.get(name) ?? 1},`;
      return `::error ${place}title=${property(`${name} [${node}]`)}::${data(message)}`;
    });
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;",
};

/** Escapes text for XML 1.0, which has no control characters but tabs and line ends, and no half surrogates. */
function xml(text: string): string {
  return text.replace(/[&<>"\n\r\t]/g, (one) => escapes[one] ?? "").replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, "\ufffd");
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
