import type { ConsoleExecResult } from "../../contract/schemas/console.ts";
import type { BroadcastRun } from "./use-broadcast.ts";

interface BroadcastAnswersProps {
  readonly run: BroadcastRun | undefined;
  readonly onCopy: (text: string) => void;
}

/** Shows the answers of a command, one per node, in the order of the nodes. */
export function BroadcastAnswers({ run, onCopy }: BroadcastAnswersProps) {
  return (
    <div class="answers">
      {run?.nodes.map((node) => {
        const result = run.results.get(node);
        if (result !== undefined) return <Answer key={node} result={result} onCopy={() => onCopy(result.output ?? "")} />;
        return (
          <article key={node} aria-label={`Answer of ${node}`}>
            <h2>
              {node} <span class="mark">{run.ended ? "no answer" : "running…"}</span>
            </h2>
          </article>
        );
      })}
    </div>
  );
}

/** Returns all answers as one text, for the clipboard. */
export function answersText({ nodes, results }: BroadcastRun): string {
  return nodes
    .flatMap((node) => results.get(node) ?? [])
    .map((result) => {
      const { node, output, error } = result;
      return [`=== ${node}: ${resultText(result)}`, error, output].filter((part) => part !== undefined && part !== "").join("\n");
    })
    .join("\n\n");
}

function Answer({ result, onCopy }: { readonly result: ConsoleExecResult; readonly onCopy: () => void }) {
  const { node, ok, output, error, truncated } = result;
  return (
    <article aria-label={`Answer of ${node}`}>
      <h2>
        {node} <span class={`mark ${ok === true ? "good" : "warn"}`}>{resultText(result)}</span>
        {output !== undefined && output !== "" && (
          <button type="button" onClick={onCopy} aria-label={`Copy the answer of ${node}`}>
            Copy
          </button>
        )}
      </h2>
      {error !== undefined && <p>{error}</p>}
      {output !== undefined && output !== "" && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll long lines
        <pre tabIndex={0}>{output}</pre>
      )}
      {ok === true && (output === undefined || output === "") && <p class="hint">No output.</p>}
      {truncated === true && <p>The output was too long. The rest is not shown.</p>}
    </article>
  );
}

function resultText({ ok, code, duration_ms }: ConsoleExecResult): string {
  if (ok === true) return duration_ms === undefined ? "ok" : `ok, ${(duration_ms / 1000).toFixed(1)} s`;
  const texts: Readonly<Record<string, string>> = {
    console_timeout: "timeout",
    node_not_running: "not running",
    console_in_use: "console in use",
    unsupported: "no text console",
  };
  return texts[code ?? ""] ?? code ?? "failed";
}
