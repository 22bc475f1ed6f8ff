import "@xterm/xterm/css/xterm.css";
import "./consoles.css";
import { useEffect, useState } from "preact/hooks";
import type { InspectedNode, LiveNodeData } from "../../contract/schemas/observe.ts";
import { Broadcast } from "./broadcast.tsx";
import { Screens } from "./screens.tsx";
import { TerminalView } from "./terminal-view.tsx";

export interface ConsolesProps {
  readonly lab: string;
  readonly nodes: readonly InspectedNode[];
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** Key of the node whose console the address names. */
  readonly node: string | undefined;
}

/** A node with a text console, as this page lists it. */
export interface ConsoleNode {
  readonly key: string;
  readonly name: string;
  readonly status: string;
}

interface Desk {
  /** Keys of the nodes whose consoles are open, in the order in which they were opened. */
  readonly open: readonly string[];
  readonly current: string | undefined;
  readonly tiles: boolean;
}

/** So many at once are opened by one button. */
const mostAtOnce = 12;

/** The consoles of a lab's nodes, one at a time or side by side, and one command for many. */
export default function Consoles({ lab, nodes, live, node }: ConsolesProps) {
  const [desk, setDesk] = useState<Desk>(() => storedDesk(lab));
  const [query, setQuery] = useState("");
  const [many, setMany] = useState(false);
  const rows = nodes
    .filter(({ console }) => console.type !== "none" && console.type !== "vnc")
    .map((one): ConsoleNode => ({ key: one.node ?? one.name, name: one.name, status: live.get(one.id)?.status ?? one.status }));
  const known = new Map(rows.map((row) => [row.key, row]));
  const open = desk.open.filter((key) => known.has(key));
  const current = open.find((key) => key === desk.current) ?? open.at(-1);

  const show = (key: string) => {
    setMany(false);
    setDesk((now) => ({ ...now, open: now.open.includes(key) ? now.open : [...now.open, key], current: key }));
  };
  const close = (key: string) => setDesk((now) => ({ ...now, open: now.open.filter((one) => one !== key) }));
  useEffect(() => {
    if (node !== undefined) show(node);
  }, [node]);
  useEffect(() => sessionStorage.setItem(storageKey(lab), JSON.stringify(desk)), [lab, desk]);

  const running = nodes
    .map(({ id, status }) => (isUp(live.get(id)?.status ?? status) ? id : ""))
    .filter((id) => id !== "")
    .join(" ");
  if (rows.length === 0) {
    return (
      <section class="empty">
        <h2>No text consoles</h2>
        <p>No node of this lab has a console to type into. Nodes of the templates linux and frr have one.</p>
        <Screens lab={lab} running={running} />
      </section>
    );
  }
  const found = rows.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
  const closed = found.filter(({ key, status }) => status === "running" && !open.includes(key)).slice(0, mostAtOnce);
  return (
    <div class="consoles">
      <nav class="console-list" aria-label="Consoles">
        <input
          type="search"
          placeholder="Find a node"
          aria-label="Find a node"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <ul>
          {found.map(({ key, name, status }) => (
            <li key={key}>
              <button
                type="button"
                class={`console-row${open.includes(key) ? " open" : ""}`}
                aria-current={key === current && !many}
                onClick={() => show(key)}
              >
                <span class={`dot ${status}`} aria-hidden="true" /> {name} <small>{status}</small>
              </button>
            </li>
          ))}
        </ul>
        {closed.length > 1 && (
          <button
            type="button"
            onClick={() => {
              setMany(false);
              setDesk((now) => ({ ...now, open: [...now.open, ...closed.map(({ key }) => key)], tiles: true }));
            }}
          >
            Open {closed.length} side by side
          </button>
        )}
        <Screens lab={lab} running={running} />
      </nav>
      <div class="desk">
        <div class="desk-bar">
          <button type="button" aria-pressed={!many && !desk.tiles} onClick={() => pick(false)}>
            One at a time
          </button>
          <button type="button" aria-pressed={!many && desk.tiles} onClick={() => pick(true)}>
            Side by side
          </button>
          <button type="button" aria-pressed={many} onClick={() => setMany(!many)}>
            One command, many nodes
          </button>
          {!many && !desk.tiles && open.length > 1 && (
            <nav class="desk-tabs" aria-label="Open consoles">
              {open.map((key) => (
                <button key={key} type="button" aria-current={key === current} onClick={() => show(key)}>
                  {known.get(key)!.name}
                </button>
              ))}
            </nav>
          )}
        </div>
        {many && <Broadcast lab={lab} nodes={rows} />}
        <div class={desk.tiles ? "tiles" : "single"} hidden={many}>
          {open.map((key) => (
            <div key={key} class="place" hidden={!desk.tiles && key !== current}>
              <TerminalView
                lab={lab}
                node={key}
                name={known.get(key)!.name}
                status={known.get(key)!.status}
                focused={key === current && !many}
                onFocus={() => setDesk((now) => (now.current === key ? now : { ...now, current: key }))}
                onClose={() => close(key)}
              />
            </div>
          ))}
          {open.length === 0 && (
            <p class="hint">
              Choose a node on the left: its console opens here, with what it said last. Others may look on and type, too. In a console{" "}
              <kbd>Ctrl</kbd>+<kbd>Shift</kbd> with <kbd>C</kbd> copies, with <kbd>F</kbd> searches, and with <kbd>L</kbd> leaves it for the
              buttons above.
            </p>
          )}
        </div>
      </div>
    </div>
  );

  function pick(tiles: boolean): void {
    setMany(false);
    setDesk((now) => ({ ...now, tiles }));
  }
}

function isUp(status: string): boolean {
  return status === "running" || status === "starting";
}

const storageKey = (lab: string) => `labwright-consoles:${lab}`;

/** As this tab of the browser left it. */
function storedDesk(lab: string): Desk {
  const text = sessionStorage.getItem(storageKey(lab));
  return text === null ? { open: [], current: undefined, tiles: false } : (JSON.parse(text) as Desk);
}
