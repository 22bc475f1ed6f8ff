import { useEffect } from "preact/hooks";
import type { InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { ConsoleLog } from "./console-log.tsx";
import { durationWords } from "./duration-text.ts";
import { NodeConfig } from "./node-config.tsx";
import { NodeInterfaces } from "./node-interfaces.tsx";
import { NodePower } from "./node-power.tsx";
import type { Answer } from "../parts/use-answer.ts";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { useWhileSeen } from "../parts/use-polling.ts";

interface NodePanelProps {
  readonly lab: string;
  readonly mode: string;
  readonly node: InspectedNode;
  readonly live: LiveNodeData | undefined;
  readonly drift: Answer<PlanData | undefined>;
  readonly mayChange: boolean;
  /** Asks for the state anew: load and memory change without an event. */
  readonly look: () => void;
  /** Shows a link, by key, or another node. */
  readonly onLink: (key: string) => void;
  /** Opens its console; absent where it has none. */
  readonly onConsole: (() => void) | undefined;
  readonly onClose: () => void;
}

/** How often load and memory are read while somebody looks at them, ms. */
const lookMs = 2_000;

const lostWords = { host_restart: "ended when the host went down", lab_killed: "ended with its lab" } as const;

/** One node: what it is, how it does, and what can be done with it. */
export function NodePanel({ lab, mode, node, live, drift, mayChange, look, onLink, onConsole, onClose }: NodePanelProps) {
  useWhileSeen(look, lookMs);
  // What a node saves by itself makes no event.
  useEffect(drift.again, [node.id]);
  const able = useCapabilities();
  const status = live?.status ?? node.status;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["State", stateWords(status, live)],
    ["Up", live?.uptime_ms === undefined ? undefined : durationWords(live.uptime_ms)],
    ["Template", node.image === undefined ? node.template : `${node.template} (${node.image})`],
    ["CPU", loadWords(live?.cpu_percent === undefined ? undefined : `${live.cpu_percent.toFixed(0)} %`, node.cpu, "of")],
    ["Memory", loadWords(live?.memory_bytes === undefined ? undefined : mebibytes(live.memory_bytes), node.ram && `${node.ram} MiB`, "of")],
    [
      "Disk",
      loadWords(
        live?.disk_bytes === undefined ? undefined : mebibytes(live.disk_bytes),
        node.limits?.disk_bytes === undefined ? undefined : mebibytes(node.limits.disk_bytes),
        "of",
      ),
    ],
    ["In the intent", node.node === null ? "no: only the host has it" : node.node === node.name ? undefined : node.node],
  ];
  return (
    <aside class="panel" aria-label={`Node ${node.name}`} tabIndex={-1}>
      <h2>
        <span class={`dot ${status}`} aria-hidden="true" /> {node.name}
        <button type="button" class="close" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      <dl>
        {rows.map(([title, words]) =>
          words === undefined ? null : (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{words}</dd>
            </div>
          ),
        )}
      </dl>
      {onConsole !== undefined && (
        <p>
          <button type="button" onClick={onConsole}>
            Console
          </button>
        </p>
      )}
      {mayChange && <NodePower key={node.id} lab={lab} able={able?.projectModes?.[mode]} node={node} status={status} />}
      <h3>Interfaces</h3>
      <NodeInterfaces
        lab={lab}
        node={node.node ?? node.name}
        mayCapture={mayChange && status === "running"}
        interfaces={node.interfaces}
        onLink={onLink}
      />
      <NodeConfig lab={lab} node={node} drift={drift} />
      {onConsole !== undefined && mayChange && able?.features?.["consoleLog"] === true && (
        <ConsoleLog key={node.id} lab={lab} node={node.node ?? node.name} status={status} />
      )}
    </aside>
  );
}

function stateWords(status: string, live: LiveNodeData | undefined): string {
  const more = [
    live?.ready === false ? "not ready yet" : "",
    live?.forced === true ? "did not end in time and was switched off" : "",
    live?.disk_full === true ? "its disk takes more than it may; started, it goes on and can make room" : "",
    live?.exit_code === undefined ? "" : `exit code ${live.exit_code}`,
    live?.lost === undefined ? "" : lostWords[live.lost],
  ].filter(Boolean);
  return more.length === 0 ? status : `${status} (${more.join(", ")})`;
}

/** What it uses of what it may use, or what is known of the two. */
function loadWords(used: string | undefined, most: string | number | undefined, of: string): string | undefined {
  if (used === undefined) return most === undefined || most === "" ? undefined : `at most ${most}`;
  return most === undefined || most === "" ? used : `${used} ${of} ${most}`;
}

function mebibytes(bytes: number): string {
  const value = bytes / 2 ** 20;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} MiB`;
}
