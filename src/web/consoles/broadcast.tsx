import { useEffect, useRef, useState } from "preact/hooks";
import type { ConsoleExecResult } from "../../contract/schemas/console.ts";
import { Problem } from "../parts/problem.tsx";
import type { ConsoleNode } from "./consoles.tsx";
import { runOnMany } from "./run-on-many.ts";

interface Run {
  /** Keys, in the order of the answers. */
  readonly nodes: readonly string[];
  readonly results: ReadonlyMap<string, ConsoleExecResult>;
  readonly ended: boolean;
}

/** One command on many nodes: what each of them answered, side by side. */
export function Broadcast({ lab, nodes }: { readonly lab: string; readonly nodes: readonly ConsoleNode[] }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(
    () => new Set(nodes.filter(({ status }) => status === "running").map(({ key }) => key)),
  );
  const [command, setCommand] = useState("");
  const [seconds, setSeconds] = useState(15);
  const [run, setRun] = useState<Run>();
  const [error, setError] = useState<unknown>();
  const [told, setTold] = useState("");
  const targets = nodes.filter(({ key }) => chosen.has(key)).map(({ key }) => key);
  const busy = run !== undefined && !run.ended;
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  const start = async () => {
    setError(undefined);
    setTold("");
    setRun({ nodes: targets, results: new Map(), ended: false });
    const stopped = new AbortController();
    stop.current = stopped;
    const onResult = (result: ConsoleExecResult) =>
      setRun((now) => now && { ...now, results: new Map(now.results).set(result.node ?? "", result) });
    try {
      await runOnMany({ lab, command, timeoutMs: seconds * 1000, nodes: targets, signal: stopped.signal, onResult });
    } catch (problem) {
      if (!stopped.signal.aborted) setError(problem);
    }
    setRun((now) => now && { ...now, ended: true });
  };
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => setTold("Copied"),
      () => setTold("The browser does not let this page copy"),
    );
  const toggle = (key: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(key);
    else next.delete(key);
    setChosen(next);
  };
  return (
    <section class="broadcast" aria-label="One command on many nodes">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && command.trim() !== "" && targets.length > 0) void start();
        }}
      >
        <fieldset>
          <legend>On these nodes</legend>
          <div class="choices">
            {nodes.map(({ key, name, status }) => (
              <label key={key}>
                <input type="checkbox" checked={chosen.has(key)} onChange={(event) => toggle(key, event.currentTarget.checked)} /> {name}
                {status !== "running" && <small> {status}</small>}
              </label>
            ))}
          </div>
          <div class="buttons">
            <button
              type="button"
              onClick={() => setChosen(new Set(nodes.filter(({ status }) => status === "running").map(({ key }) => key)))}
            >
              All that run
            </button>
            <button type="button" onClick={() => setChosen(new Set())}>
              None
            </button>
          </div>
        </fieldset>
        <div class="command">
          <label>
            Command
            <input
              value={command}
              onInput={(event) => setCommand(event.currentTarget.value)}
              spellcheck={false}
              autocomplete="off"
              class="code"
            />
          </label>
          <label class="short">
            Seconds each
            <input
              type="number"
              min={1}
              max={600}
              required
              value={seconds}
              onInput={(event) => setSeconds(Math.trunc(event.currentTarget.valueAsNumber || 0))}
            />
          </label>
          <button type="submit" class="primary" disabled={busy || command.trim() === "" || targets.length === 0}>
            {busy
              ? `${run.results.size} of ${run.nodes.length} answered`
              : `Run on ${targets.length} ${targets.length === 1 ? "node" : "nodes"}`}
          </button>
          {busy && (
            <button type="button" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          )}
          {run !== undefined && run.results.size > 0 && (
            <button type="button" onClick={() => void copy(answersOf(run).map(asText).join("\n\n"))}>
              Copy all
            </button>
          )}
          <output>{told}</output>
        </div>
      </form>
      {error !== undefined && <Problem error={error} />}
      {run === undefined && error === undefined && (
        <p class="hint">The command runs on all chosen nodes; each answer is shown as soon as the node's prompt is back.</p>
      )}
      <div class="answers">
        {run?.nodes.map((node) => {
          const result = run.results.get(node);
          if (result !== undefined) return <AnswerOf key={node} result={result} onCopy={() => void copy(result.output ?? "")} />;
          return (
            <article key={node} aria-label={`Answer of ${node}`}>
              <h2>
                {node} <span class="mark">{run.ended ? "not heard" : "running…"}</span>
              </h2>
            </article>
          );
        })}
      </div>
    </section>
  );
}

function AnswerOf({ result, onCopy }: { readonly result: ConsoleExecResult; readonly onCopy: () => void }) {
  const { node, ok, output, error, truncated } = result;
  return (
    <article aria-label={`Answer of ${node}`}>
      <h2>
        {node} <span class={`mark ${ok === true ? "good" : "warn"}`}>{stateOf(result)}</span>
        {output !== undefined && output !== "" && (
          <button type="button" onClick={onCopy} aria-label={`Copy the answer of ${node}`}>
            Copy
          </button>
        )}
      </h2>
      {error !== undefined && <p>{error}</p>}
      {output !== undefined && output !== "" && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled by keys, too
        <pre tabIndex={0}>{output}</pre>
      )}
      {ok === true && (output === undefined || output === "") && <p class="hint">It said nothing.</p>}
      {truncated === true && <p>The rest was too long, and is left out.</p>}
    </article>
  );
}

function stateOf({ ok, code, duration_ms }: ConsoleExecResult): string {
  if (ok === true) return duration_ms === undefined ? "ok" : `ok, ${(duration_ms / 1000).toFixed(1)} s`;
  const words: Readonly<Record<string, string>> = {
    console_timeout: "time-out",
    node_not_running: "not running",
    console_in_use: "console in use",
    unsupported: "no text console",
  };
  return words[code ?? ""] ?? code ?? "failed";
}

/** In the order of the nodes. */
function answersOf({ nodes, results }: Run): readonly ConsoleExecResult[] {
  return nodes.flatMap((node) => results.get(node) ?? []);
}

function asText(result: ConsoleExecResult): string {
  const { node, output, error } = result;
  return [`=== ${node}: ${stateOf(result)}`, error, output].filter((part) => part !== undefined && part !== "").join("\n");
}
