import { useEffect, useState } from "preact/hooks";
import { exitCodeText } from "../../base/names/exit-code.ts";
import { nodeKey, otherName } from "../../base/node-key.ts";
import type { InspectedInterface, InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { ConfigSection } from "../inside/config-section.tsx";
import { FilesSection } from "../inside/files-section.tsx";
import type { LoadSample } from "../load/load-history.ts";
import { Sparkline } from "../load/sparkline.tsx";
import { lazy } from "../parts/lazy.tsx";
import type { Answer } from "../parts/use-answer.ts";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { usePolling } from "../parts/use-polling.ts";
import { ConsoleLog } from "./console-log.tsx";
import { durationText } from "./duration-text.ts";
import { interfaceState } from "./interface-state.ts";
import { NodeConfig } from "./node-config.tsx";
import { NodeInterfaces } from "./node-interfaces.tsx";
import { NodePower } from "./node-power.tsx";
import { SwitchPorts } from "./switch-ports.tsx";

interface NodePanelProps {
  readonly lab: string;
  readonly mode: string;
  readonly node: InspectedNode;
  readonly live: LiveNodeData | undefined;
  /** Its load in the last two minutes. */
  readonly load: readonly LoadSample[];
  readonly drift: Answer<PlanData | undefined>;
  /** The section that a menu opened; a new object each time. */
  readonly shown: { readonly section: string } | undefined;
  readonly mayChange: boolean;
  /** Reads the state again: load and memory change without an event. */
  readonly reloadStatus: () => void;
  /** Reads the lab again: addresses change without an event. */
  readonly reload: () => void;
  /** The other end of the link of an interface. */
  readonly peerOf: (port: InspectedInterface) => { readonly isPeerSuspended: boolean; readonly peerStatus: string | undefined };
  /** Selects a link, by key. */
  readonly onLink: (key: string) => void;
  /** Opens the console; undefined if the node has none or the user may not use it. */
  readonly onConsole: (() => void) | undefined;
  /** Opens a shell; undefined as for the console. */
  readonly onShell: (() => void) | undefined;
  readonly onClose: () => void;
}

const NodeLive = lazy(() => import("../links/node-live.tsx"));

/** How often load and memory are read while the panel is visible, ms. */
const pollMs = 2_000;
const addressPollMs = 10_000;

const lostText = { host_restart: "ended when the machine went down", lab_killed: "ended because its lab was killed" } as const;

/** Shows one node: its state, load and interfaces, its differences from the intent, and buttons to start, stop and wipe it. */
export function NodePanel(props: NodePanelProps) {
  const { lab, mode, node, live, load, drift, shown, mayChange, reloadStatus, reload, peerOf, onLink, onConsole, onShell, onClose } = props;
  usePolling(reloadStatus, pollMs);
  usePolling(reload, addressPollMs);
  // A node can save its configuration, and change its addresses, by itself, which causes no event.
  useEffect(() => {
    drift.again();
    reload();
  }, [node.id]);
  const capabilities = useCapabilities();
  const status = live?.status ?? node.status;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["State", stateText(status, live)],
    ["Up", live?.uptime_ms === undefined ? undefined : durationText(live.uptime_ms)],
    ["Template", node.image === undefined ? node.template : `${node.template} (${node.image})`],
    ["CPU", loadText(live?.cpu_percent === undefined ? undefined : `${live.cpu_percent.toFixed(0)} %`, node.cpu || undefined)],
    [
      "Memory",
      loadText(live?.memory_bytes === undefined ? undefined : mebibytes(live.memory_bytes), node.ram ? `${node.ram} MiB` : undefined),
    ],
    [
      "Disk",
      loadText(
        live?.disk_bytes === undefined ? undefined : mebibytes(live.disk_bytes),
        node.limits?.disk_bytes === undefined ? undefined : mebibytes(node.limits.disk_bytes),
      ),
    ],
    ["Management", [node.management, node.management_ipv6].filter((one) => one !== undefined).join(", ") || undefined],
    ["In the intent", node.node === null ? notInIntent(node) : node.node === node.name ? undefined : node.node],
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
        {rows.map(([title, value]) =>
          value === undefined ? null : (
            <div key={title}>
              <dt>{title}</dt>
              <dd>
                {value}
                <LoadLine title={title} load={load} />
              </dd>
            </div>
          ),
        )}
      </dl>
      {onConsole !== undefined && (
        <p>
          <button type="button" onClick={onConsole}>
            Console
          </button>{" "}
          {onShell !== undefined && status === "running" && capabilities?.features?.["nodeExec"] === true && (
            <button type="button" onClick={onShell}>
              Shell
            </button>
          )}
        </p>
      )}
      {mayChange && <NodePower key={node.id} lab={lab} modeCaps={capabilities?.projectModes?.[mode]} node={node} status={status} />}
      <h3>Interfaces</h3>
      <NodeInterfaces
        lab={lab}
        node={nodeKey(node)}
        mayCapture={mayChange && status === "running"}
        interfaces={node.interfaces}
        stateOf={(port) => interfaceState({ port, status, ...peerOf(port) })}
        onLink={onLink}
      />
      {node.type === "switch" && capabilities?.features?.["switching"] === true && (
        <SwitchPorts key={node.id} lab={lab} node={nodeKey(node)} />
      )}
      {mayChange && status === "running" && capabilities?.features?.["traffic"] === true && node.interfaces.length > 0 && (
        <NodeTraffic key={node.id} lab={lab} node={nodeKey(node)} />
      )}
      <NodeConfig lab={lab} node={node} drift={drift} />
      {mayChange && status === "running" && (
        <ConfigSection
          key={`config ${node.id}`}
          lab={lab}
          node={nodeKey(node)}
          opened={shown?.section === "configuration" ? shown : undefined}
          isReadable={node.type === "router" && capabilities?.features?.["nodeExec"] === true}
          onSaved={drift.again}
        />
      )}
      {mayChange && status === "running" && capabilities?.features?.["nodeExec"] === true && (
        <FilesSection key={`files ${node.id}`} lab={lab} node={nodeKey(node)} />
      )}
      {onConsole !== undefined && mayChange && capabilities?.features?.["consoleLog"] === true && (
        <ConsoleLog key={node.id} lab={lab} node={nodeKey(node)} status={status} />
      )}
    </aside>
  );
}

/** Shows the traffic of the interfaces. It is watched while the section is open. */
function NodeTraffic({ lab, node }: { readonly lab: string; readonly node: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Traffic</summary>
      {open && <NodeLive lab={lab} node={node} />}
    </details>
  );
}

/** A small graph beside the CPU or the memory. */
function LoadLine({ title, load }: { readonly title: string; readonly load: readonly LoadSample[] }) {
  if (title !== "CPU" && title !== "Memory") return null;
  const points = load.flatMap(({ at, cpu, memory }) => {
    const value = title === "CPU" ? cpu : memory;
    return value === undefined ? [] : [{ at, value }];
  });
  return <Sparkline label={`${title}, last two minutes`} points={points} top={title === "CPU" ? 100 : 0} />;
}

function stateText(status: string, live: LiveNodeData | undefined): string {
  const more = [
    status === "running" && live?.ready === false ? "not ready yet" : "",
    live?.forced === true ? "did not stop in time and was switched off" : "",
    live?.disk_full === true ? "stopped because its disk is full; start it to free space" : "",
    ...(live?.closed_ports ?? []),
    live?.exit_code === undefined ? "" : exitCodeText(live.exit_code),
    live?.lost === undefined ? "" : lostText[live.lost],
  ].filter(Boolean);
  return more.length === 0 ? status : `${status} (${more.join(", ")})`;
}

/** Formats a load and its limit; with only one of them, that one. */
function loadText(used: string | undefined, max: string | number | undefined): string | undefined {
  if (used === undefined) return max === undefined ? undefined : `at most ${max}`;
  return max === undefined ? used : `${used} of ${max}`;
}

function mebibytes(bytes: number): string {
  const value = bytes / 2 ** 20;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} MiB`;
}

function notInIntent(node: InspectedNode): string {
  const text = "no, only on the host";
  return otherName(node) === "" ? text : `${text}; its key is ${nodeKey(node)}`;
}
