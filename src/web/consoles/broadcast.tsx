import { useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { answersText, BroadcastAnswers } from "./broadcast-answers.tsx";
import type { ConsoleNode } from "./console-list.tsx";
import { useBroadcast } from "./use-broadcast.ts";

interface BroadcastProps {
  readonly lab: string;
  readonly nodes: readonly ConsoleNode[];
}

/** Runs one command on many nodes, and shows their answers side by side. */
export function Broadcast({ lab, nodes }: BroadcastProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => runningKeys(nodes));
  const [command, setCommand] = useState("");
  const [seconds, setSeconds] = useState(15);
  const [notice, setNotice] = useState("");
  const { run, error, start, stop } = useBroadcast(lab);
  const targets = nodes.filter(({ key }) => chosen.has(key)).map(({ key }) => key);
  const busy = run !== undefined && !run.ended;
  const isReady = !busy && command.trim() !== "" && targets.length > 0;
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => setNotice("Copied"),
      () => setNotice("The browser does not allow this page to copy"),
    );
  return (
    <section class="broadcast" aria-label="One command on many nodes">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isReady) return;
          setNotice("");
          void start({ command, seconds, nodes: targets });
        }}
      >
        <NodeChoice nodes={nodes} chosen={chosen} onChange={setChosen} />
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
            Seconds per node
            <input
              type="number"
              min={1}
              max={600}
              required
              value={seconds}
              onInput={(event) => setSeconds(Math.trunc(event.currentTarget.valueAsNumber || 0))}
            />
          </label>
          <button type="submit" class="primary" disabled={!isReady}>
            {busy
              ? `${run.results.size} of ${run.nodes.length} answered`
              : `Run on ${targets.length} ${targets.length === 1 ? "node" : "nodes"}`}
          </button>
          {busy && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
          {run !== undefined && run.results.size > 0 && (
            <button type="button" onClick={() => copy(answersText(run))}>
              Copy all
            </button>
          )}
          <output>{notice}</output>
        </div>
      </form>
      {error !== undefined && <Problem error={error} />}
      {run === undefined && error === undefined && (
        <p class="hint">The command runs on all chosen nodes. Each answer is shown when the node's prompt returns.</p>
      )}
      <BroadcastAnswers run={run} onCopy={copy} />
    </section>
  );
}

interface NodeChoiceProps {
  readonly nodes: readonly ConsoleNode[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

function NodeChoice({ nodes, chosen, onChange }: NodeChoiceProps) {
  const toggle = (key: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(key);
    else next.delete(key);
    onChange(next);
  };
  return (
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
        <button type="button" onClick={() => onChange(runningKeys(nodes))}>
          All running
        </button>
        <button type="button" onClick={() => onChange(new Set())}>
          None
        </button>
      </div>
    </fieldset>
  );
}

function runningKeys(nodes: readonly ConsoleNode[]): ReadonlySet<string> {
  return new Set(nodes.filter(({ status }) => status === "running").map(({ key }) => key));
}
