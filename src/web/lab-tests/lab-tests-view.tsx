import type { TestData } from "../../contract/schemas/tests.ts";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";
import "./lab-tests.css";
import { keyOf, useLabTests } from "./use-lab-tests.ts";

interface LabTestsViewProps {
  readonly lab: string;
  readonly mayRun: boolean;
}

/** Runs the tests of the lab's text and shows their results. */
export default function LabTestsView({ lab, mayRun }: LabTestsViewProps) {
  const feature = useFeature("nodeExec");
  const { results, isRunning, error, run, cancel } = useLabTests(lab);
  if (feature.data === false)
    return <Empty title="This host runs no tests">Tests run programs in nodes, and this host has only consoles.</Empty>;
  if (!mayRun)
    return <Empty title="You may not run the tests of this lab">The owner of the lab can give you the right to operate it.</Empty>;
  const failed = [...new Set(results?.flatMap(({ name, outcome }) => (outcome === "passed" ? [] : [name])))];
  return (
    <section class="lab-tests" aria-label="Tests of the lab">
      <div class="buttons">
        <button type="button" class="primary" disabled={isRunning} onClick={() => void run()}>
          Run all tests
        </button>
        {failed.length > 0 && (
          <button type="button" disabled={isRunning} onClick={() => void run(failed)}>
            Run failed again
          </button>
        )}
        {isRunning && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <output>{isRunning ? "Running…" : results === undefined ? "" : countsText(results)}</output>
      </div>
      {error !== undefined && <Problem error={error} />}
      {results === undefined && (
        <p class="hint">
          The tests are in the lab's text, under <code>tests:</code>. Tests with <code>given</code> pull cables or stop nodes while they
          run, and restore them.
        </p>
      )}
      {results?.length === 0 && <p>The lab's text has no tests.</p>}
      {results !== undefined && results.length > 0 && <Results results={results} />}
    </section>
  );
}

const marks = { passed: "good", failed: "bad", error: "warn" } as const;

function Results({ results }: { readonly results: TestData["tests"] }) {
  return (
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Test</th>
            <th scope="col">Node</th>
            <th scope="col">Time</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {results.map((result) => (
            <tr key={keyOf(result)}>
              <td>
                <span class={`mark ${marks[result.outcome]}`}>{result.outcome === "error" ? "not made" : result.outcome}</span>
              </td>
              <th scope="row">{result.name}</th>
              <td>{result.node}</td>
              <td>{(result.duration_ms / 1000).toFixed(1)} s</td>
              <td>{result.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Empty({ title, children }: { readonly title: string; readonly children: string }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

function countsText(results: TestData["tests"]): string {
  const count = (outcome: string) => results.filter((one) => one.outcome === outcome).length;
  const errors = count("error");
  return `${count("passed")} passed, ${count("failed")} failed${errors > 0 ? `, ${errors} not made` : ""}`;
}
