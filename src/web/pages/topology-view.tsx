import type { ComponentType } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { InspectedLink, InspectedNode, InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { saveMoves } from "../intent/edit-intent.ts";
import { hasConsole } from "../consoles/has-console.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { LinkPanel } from "../panels/link-panel.tsx";
import { NodePanel } from "../panels/node-panel.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Answer } from "../parts/use-answer.ts";
import type { Chosen } from "../traffic/traffic-bar.tsx";
import { TrafficSwitch } from "../traffic/traffic-switch.tsx";
import { graphOf, ownPlace } from "../topology/graph/graph.ts";
import { keptPlaces } from "../topology/layout/cached-layout.ts";
import type { Place } from "../topology/layout/layout.ts";
import { contestedMoves, type HostPlaces, type Moves, shownPlaces, unsavedMoves, withMove } from "../topology/graph/moves.ts";
import { type OverlayProps, Topology } from "../topology/topology.tsx";

interface TopologyViewProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly rights: LabRights;
  /** Asks the service for the lab anew. */
  readonly again: () => void;
  /** Asks for the state of its nodes anew. */
  readonly look: () => void;
  readonly drift: Answer<PlanData | undefined>;
  /** Opens a node's console, where it has one; by native id. */
  readonly onConsole: (id: string) => void;
}

/** The lab drawn, beside it what is selected, above it what was moved and not yet saved. */
export function TopologyView({ lab, inspection, live, rights, again, look, drift, onConsole }: TopologyViewProps) {
  const [selected, setSelected] = useState<string>();
  const [moves, setMoves] = useState<Moves>(new Map());
  const [state, setState] = useState<{ readonly busy?: boolean; readonly told?: string; readonly error?: unknown }>({});
  const [overlay, setOverlay] = useState<ComponentType<OverlayProps>>();
  const place = useMemo(keptPlaces, []);
  const host = useMemo(() => placesOf(inspection), [inspection]);
  const graph = useMemo(() => graphOf(inspection, { moved: shownPlaces(moves, host), place }), [inspection, moves]);
  const unsaved = useMemo(() => new Set(unsavedMoves(moves, host)), [moves, host]);
  const contested = useMemo(() => contestedMoves(moves, host), [moves, host]);
  const labels = (ids: readonly string[]) => graph.nodes.flatMap(({ id, label }) => (ids.includes(id) ? [label] : [])).join(", ");
  const move = (id: string, at: Place) => {
    setMoves((all) => withMove(all, host, id, at));
    setState({});
  };
  const undo = () => {
    setMoves((all) => new Map([...all].filter(([id]) => !unsaved.has(id))));
    setState({});
  };
  const save = async () => {
    setState({ busy: true });
    // What the picture placed by itself is saved, too: around nodes that have a place it would be drawn otherwise.
    const keep = graph.nodes.filter(({ id, placed }) => placed || unsaved.has(id));
    const of = (kind: "node" | "network") =>
      new Map(keep.flatMap(({ kind: own, key, at }) => (own === kind && key !== null ? [[key, at] as const] : [])));
    const unknown = keep.filter(({ id, key }) => key === null && unsaved.has(id)).map(({ label }) => label);
    try {
      const { applied } = await saveMoves(lab, { nodes: of("node"), networks: of("network") });
      setMoves((all) => new Map([...all, ...keep.map(({ id, at }) => [id, { at, base: host.get(id), saved: true }] as const)]));
      const kept = applied ? "Saved." : "Saved to the intent. The host learns it when you apply: other changes wait there, see the plan.";
      setState({ told: unknown.length === 0 ? kept : `${kept} Not in the intent, so not kept: ${unknown.join(", ")}.` });
    } catch (error) {
      setState({ error });
    }
    again();
  };
  const node = inspection.nodes.find(({ id }) => id === selected);
  const link = inspection.links.find(({ id }) => `link:${id}` === selected);
  const panel = useRef<HTMLDivElement>(null);
  const byKeys = useRef(false);
  const select = (id: string | undefined, keys: boolean) => {
    byKeys.current = keys && id !== undefined;
    setSelected(id);
  };
  useLayoutEffect(() => {
    // Who works with the keyboard does not have to pass all the other nodes on the way to what has opened.
    const opened = panel.current?.querySelector<HTMLElement>(".panel");
    if (byKeys.current) opened?.focus();
    // On a narrow page it opens below the picture.
    else if (matchMedia("(max-width: 50rem)").matches) opened?.scrollIntoView({ block: "nearest" });
    byKeys.current = false;
  }, [selected]);
  const close = () => {
    const shape = [...document.querySelectorAll(".stage [data-node], .stage [data-link]")].find(
      (one) => one.getAttribute("data-node") === selected || `link:${one.getAttribute("data-link")}` === selected,
    );
    setSelected(undefined);
    (shape?.querySelector<SVGElement>(".cable") ?? (shape as SVGElement | undefined))?.focus();
  };
  return (
    <>
      {(unsaved.size > 0 || state.told !== undefined || state.error !== undefined) && (
        <div class="saving">
          {unsaved.size > 0 && (
            <>
              <span>{unsaved.size === 1 ? "1 node moved" : `${unsaved.size} nodes moved`}</span>
              <button type="button" class="primary" disabled={state.busy === true} onClick={() => void save()}>
                Save places
              </button>
              <button type="button" disabled={state.busy === true} onClick={undo}>
                Undo
              </button>
              {contested.length > 0 && (
                <span class="mark warn" role="status">
                  Somebody else has moved {labels(contested)} meanwhile: saving puts it where you have it, Undo where they have it.
                </span>
              )}
            </>
          )}
          <output>{state.busy === true ? "Saving…" : state.told}</output>
          {state.error !== undefined && <Problem error={state.error} />}
        </div>
      )}
      <TrafficSwitch lab={lab} chosen={chosenOf(node, link)} onOverlay={(next) => setOverlay(() => next)} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape leaves whatever panel is open in it */}
      <div
        class="split"
        ref={panel}
        onKeyDown={(event) => {
          if (event.key === "Escape" && (event.target as Element).closest(".panel") !== null) close();
        }}
      >
        <Topology
          graph={graph}
          live={live}
          selected={selected}
          onSelect={select}
          // What is not known yet is not refused: the view of consoles waits for it.
          onOpen={rights.operate || rights.why === undefined ? onConsole : undefined}
          onMove={rights.edit ? move : undefined}
          Overlay={overlay}
        />
        {node !== undefined && (
          <NodePanel
            lab={lab}
            mode={inspection.mode}
            node={node}
            live={live.get(node.id)}
            drift={drift}
            mayChange={rights.operate}
            look={look}
            onLink={(key) => setSelected(`link:${inspection.links.find((one) => one.key === key)?.id}`)}
            onConsole={rights.operate && hasConsole(node) ? () => onConsole(node.id) : undefined}
            onClose={close}
          />
        )}
        {link !== undefined && (
          <LinkPanel
            key={link.id}
            lab={lab}
            link={link}
            interfaces={link.endpoints.map((end) => interfaceAt(inspection, end))}
            rights={rights}
            onClose={close}
            onChanged={again}
          />
        )}
      </div>
    </>
  );
}

/** For whom keys of the lab are what is chosen. */
function chosenOf(node: InspectedNode | undefined, link: InspectedLink | undefined): Chosen | undefined {
  if (node !== undefined) return { kind: "node", key: node.node ?? node.name };
  return link === undefined ? undefined : { kind: "link", key: link.key };
}

/** By id of the picture. */
function placesOf({ nodes, networks }: InspectionData): HostPlaces {
  return new Map([
    ...nodes.map((node) => [node.id, ownPlace(node)] as const),
    ...networks.map(({ id, position }) => [`net:${id}`, position] as const),
  ]);
}

/** Of "r1:eth1"; undefined for a network's key. */
function interfaceAt({ nodes }: InspectionData, end: string) {
  const colon = end.indexOf(":");
  if (colon < 0) return undefined;
  const [name, wanted] = [end.slice(0, colon), end.slice(colon + 1)];
  return nodes.find((one) => (one.node ?? one.name) === name)?.interfaces.find((one) => one.name === wanted);
}
