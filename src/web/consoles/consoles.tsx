import "@xterm/xterm/css/xterm.css";
import "./consoles.css";
import { useEffect, useLayoutEffect, useReducer } from "preact/hooks";
import { nodeKey, otherName } from "../../base/node-key.ts";
import type { InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";
import { type Route, replaceRoute } from "../parts/route.ts";
import { useFeature } from "../parts/use-feature.ts";
import { Broadcast } from "./broadcast.tsx";
import { addressEvent, layoutReducer, readLayout, storeLayout } from "./console-layout.ts";
import { ConsoleList, type ConsoleNode } from "./console-list.tsx";
import { hasConsole } from "./has-console.ts";
import { Screens } from "./screens.tsx";
import { nodeOfShell } from "./shell-tile.ts";
import { TerminalView } from "./terminal/terminal-view.tsx";

export interface ConsolesProps {
  readonly lab: string;
  readonly nodes: readonly InspectedNode[];
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** Key of the node in the address: its console is opened, or the shell of a key with /shell. Several keys are separated by commas. */
  readonly node: string | undefined;
  /** Returns the address of a console; undefined: the consoles are hidden, and the address is of another part of the page. */
  readonly addressOf: ((node: string | undefined) => Route) | undefined;
}

/** Shows the consoles of a lab's nodes one at a time or side by side, and runs one command on many nodes. */
export default function Consoles({ lab, nodes, live, node, addressOf }: ConsolesProps) {
  const [layout, dispatch] = useReducer(layoutReducer, lab, () => {
    const stored = readLayout(lab);
    return node === undefined ? stored : layoutReducer(stored, addressEvent(node));
  });
  const { tiles, broadcast } = layout;
  const rows = nodes
    .filter(hasConsole)
    .map((one): ConsoleNode => ({ key: nodeKey(one), name: labelOf(one), status: live.get(one.id)?.status ?? one.status }));
  const hasShells = useFeature("nodeExec").data === true;
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const open = layout.open.flatMap((tile) => tileOf(tile, byKey) ?? []);
  const current = (open.find(({ key }) => key === layout.current) ?? open.at(-1))?.key;
  const show = (key: string) => dispatch({ type: "shown", node: key });
  // Layout effects, as for the selection of the drawing: a second click can come before the next frame.
  useLayoutEffect(() => {
    if (node === undefined || node === current) return;
    dispatch(addressEvent(node));
    // Several nodes were opened: from now on the address has the current one.
    const last = node.split(",").at(-1);
    if (last !== node && addressOf !== undefined) replaceRoute(addressOf(last));
  }, [node]);
  useLayoutEffect(() => {
    if (addressOf !== undefined && current !== node) replaceRoute(addressOf(current));
  }, [current]);
  const isShown = addressOf !== undefined;
  useLayoutEffect(() => {
    // A node in the address is shown by the effect above.
    if (addressOf !== undefined && node === undefined && current !== undefined) replaceRoute(addressOf(current));
  }, [isShown]);
  useEffect(() => storeLayout(lab, layout), [lab, layout]);
  const screens = <Screens lab={lab} running={runningIds(nodes, live)} />;
  if (rows.length === 0) {
    return (
      <section class="empty">
        <h2>No text consoles</h2>
        <p>No node of this lab has a text console. Nodes of the templates linux and frr have one.</p>
        {screens}
      </section>
    );
  }
  return (
    <div class="consoles">
      <ConsoleList rows={rows} hasShells={hasShells} open={open} current={broadcast ? undefined : current} dispatch={dispatch}>
        {screens}
      </ConsoleList>
      <div class="console-area">
        <div class="console-bar">
          <button type="button" aria-pressed={!broadcast && !tiles} onClick={() => dispatch({ type: "tiles-chosen", tiles: false })}>
            One at a time
          </button>
          <button type="button" aria-pressed={!broadcast && tiles} onClick={() => dispatch({ type: "tiles-chosen", tiles: true })}>
            Side by side
          </button>
          <button type="button" aria-pressed={broadcast} onClick={() => dispatch({ type: "broadcast-toggled" })}>
            One command, many nodes
          </button>
          {!broadcast && !tiles && open.length > 1 && (
            <nav class="console-tabs" aria-label="Open consoles">
              {open.map(({ key, name, isShell }) => (
                <button key={key} type="button" aria-current={key === current} onClick={() => show(key)}>
                  {isShell ? `${name} (shell)` : name}
                </button>
              ))}
            </nav>
          )}
        </div>
        {broadcast && <Broadcast lab={lab} nodes={rows} />}
        <div class={tiles ? "tiles" : "single"} hidden={broadcast}>
          {open.map(({ key, node: its, name, isShell, status }) => (
            <div key={key} class="place" hidden={!tiles && key !== current}>
              <TerminalView
                lab={lab}
                node={its}
                name={name}
                isShell={isShell}
                status={status}
                focused={key === current && !broadcast && isShown}
                onFocus={() => dispatch({ type: "focused", node: key })}
                onClose={() => dispatch({ type: "closed", node: key })}
              />
            </div>
          ))}
          {open.length === 0 && (
            <p class="hint">
              Choose a node: its console opens here, with its last output. Other users of the lab see the same console and can type, too. In
              a console <kbd>Ctrl</kbd>+<kbd>Shift</kbd> with <kbd>C</kbd> copies, with <kbd>F</kbd> searches, and with <kbd>L</kbd> moves
              the focus to its buttons.
            </p>
          )}
        </div>
      </div>
    </div>
  );
}

interface Tile extends ConsoleNode {
  readonly node: string;
  readonly isShell: boolean;
}

/** Returns the console or shell with the key; undefined if its node does not exist any more. */
function tileOf(key: string, rows: ReadonlyMap<string, ConsoleNode>): Tile | undefined {
  const row = rows.get(key);
  if (row !== undefined) return { ...row, node: key, isShell: false };
  const node = nodeOfShell(key);
  const itsRow = node === undefined ? undefined : rows.get(node);
  return itsRow && { ...itsRow, key, node: itsRow.key, isShell: true };
}

/** Returns the ids of running nodes as one string, which changes when a node starts or stops. */
function runningIds(nodes: readonly InspectedNode[], live: ReadonlyMap<string, LiveNodeData>): string {
  const isUp = (status: string) => status === "running" || status === "starting";
  return nodes
    .filter(({ id, status }) => isUp(live.get(id)?.status ?? status))
    .map(({ id }) => id)
    .join(" ");
}

/** Returns a node's name, with its key if that is another one: several nodes of a host's lab may have the same name. */
function labelOf(node: InspectedNode): string {
  return otherName(node) === "" ? node.name : `${node.name} (${nodeKey(node)})`;
}
