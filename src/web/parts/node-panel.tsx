import { useState } from "preact/hooks";
import type { InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";
import { call } from "../api.ts";
import { Confirm } from "./confirm.tsx";
import { Problem } from "./problem.tsx";

interface NodePanelProps {
  readonly lab: string;
  readonly node: InspectedNode;
  readonly live: LiveNodeData | undefined;
  readonly mayChange: boolean;
  /** Opens its console; absent where it has none. */
  readonly onConsole: (() => void) | undefined;
  readonly onClose: () => void;
}

/** One node: what it is, how it does, and what can be done with it. */
export function NodePanel({ lab, node, live, mayChange, onConsole, onClose }: NodePanelProps) {
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [wiping, setWiping] = useState(false);
  const key = node.node ?? node.name;
  const status = live?.status ?? node.status;
  const power = async (action: "start" | "stop" | "wipe", words: string) => {
    setBusy(words);
    setError(undefined);
    try {
      await call("execProject", { lab, action, node: key });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <aside class="panel" aria-label={`Node ${node.name}`}>
      <h2>
        <span class={`dot ${status}`} aria-hidden="true" /> {node.name}
        <button type="button" class="close" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      <dl>
        <dt>State</dt>
        <dd>
          {status}
          {live?.ready === false && " (not ready yet)"}
          {live?.forced === true && " (did not end in time and was switched off)"}
          {live?.exit_code !== undefined && ` (exit code ${live.exit_code})`}
        </dd>
        <dt>Template</dt>
        <dd>
          {node.template}
          {node.image !== undefined && ` (${node.image})`}
        </dd>
        {live?.cpu_percent !== undefined && (
          <>
            <dt>CPU</dt>
            <dd>{live.cpu_percent.toFixed(0)} %</dd>
          </>
        )}
        {live?.memory_bytes !== undefined && (
          <>
            <dt>Memory</dt>
            <dd>{(live.memory_bytes / 2 ** 20).toFixed(1)} MiB</dd>
          </>
        )}
      </dl>
      {onConsole !== undefined && (
        <p>
          <button type="button" onClick={onConsole}>
            Console
          </button>
        </p>
      )}
      {mayChange && (
        <div class="buttons">
          {status === "running" || status === "starting" ? (
            <button type="button" disabled={busy !== undefined} onClick={() => void power("stop", "Stopping…")}>
              Stop
            </button>
          ) : (
            <button type="button" class="primary" disabled={busy !== undefined} onClick={() => void power("start", "Starting…")}>
              Start
            </button>
          )}
          <button type="button" class="danger" disabled={busy !== undefined} onClick={() => setWiping(true)}>
            Wipe…
          </button>
          <output>{busy}</output>
        </div>
      )}
      {error !== undefined && <Problem error={error} />}
      <h3>Interfaces</h3>
      <table class="rows">
        <tbody>
          {node.interfaces.map(({ name, peer, suspended }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                {peer ?? "free"}
                {suspended && <span class="mark warn">suspended</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {wiping && (
        <Confirm
          title={`Wipe ${node.name}?`}
          action="Wipe"
          onCancel={() => setWiping(false)}
          onConfirm={() => {
            setWiping(false);
            void power("wipe", "Wiping…");
          }}
        >
          The node is stopped and its disk is dropped: it begins anew with its startup-config at the next start.
        </Confirm>
      )}
    </aside>
  );
}
