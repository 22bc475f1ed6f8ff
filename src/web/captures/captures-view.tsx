import { useMemo, useState } from "preact/hooks";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { useFeature } from "../parts/use-feature.ts";
import { useWhileSeen } from "../parts/use-polling.ts";
import { goTo } from "../parts/route.ts";
import { captureWords } from "./capture-summary.ts";
import "./captures.css";

/** How often what was captured meanwhile is counted, ms. */
const countMs = 4_000;

interface CapturesViewProps {
  readonly lab: string;
  readonly nodes: readonly InspectedNode[];
  readonly mayChange: boolean;
}

/** The lab's captures, those that run and those that ended, and a form for another. */
export default function CapturesView({ lab, nodes, mayChange }: CapturesViewProps) {
  const { data: able, error, again } = useFeature("capture");
  if (able === false) {
    return (
      <div class="empty">
        <h2>This host cannot capture packets</h2>
        <p>The host that this lab runs on gives no access to the packets of its links. Labs on the embedded host can be captured.</p>
      </div>
    );
  }
  if (able === undefined) {
    return error === undefined ? <p class="waiting">Looking for captures…</p> : <Problem error={error} retry={again} />;
  }
  return <LabCaptures lab={lab} nodes={nodes} mayChange={mayChange} />;
}

function LabCaptures({ lab, nodes, mayChange }: CapturesViewProps) {
  const { data, error, again } = useAnswer((signal) => call("listCaptures", { lab }, { signal }), [lab]);
  const [going, setGoing] = useState<CaptureData>();
  const [failed, setFailed] = useState<unknown>();
  useEvents(lab, ({ type }) => {
    if (type === "capture" || type === "gap") again();
  });
  useWhileSeen(() => data?.captures.some(({ status }) => status === "running") === true && again(), countMs);
  const act = async (id: "stopCapture" | "removeCapture", capture: string) => {
    setGoing(undefined);
    setFailed(undefined);
    try {
      await call(id, { id: capture });
    } catch (problem) {
      setFailed(problem);
    }
    again();
  };
  if (data === undefined)
    return error === undefined ? <p class="waiting">Looking for captures…</p> : <Problem error={error} retry={again} />;
  const newest = data.captures.toReversed();
  return (
    <>
      {mayChange && <StartCapture lab={lab} nodes={nodes} />}
      {error !== undefined && <Problem error={error} retry={again} />}
      {failed !== undefined && <Problem error={failed} />}
      {newest.length === 0 ? (
        <div class="empty">
          <h2>No captures</h2>
          <p>
            A capture takes the packets of one interface while they pass, and keeps them on the host: to be looked at here, or downloaded
            for Wireshark. It goes on when this page is closed.
          </p>
          <p>
            From a terminal: <code>labwright capture r1:eth1 -w - | wireshark -k -i -</code>
          </p>
        </div>
      ) : (
        <div class="wide">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Interface</th>
                <th scope="col">State</th>
                <th scope="col">Started</th>
                <th scope="col">What there is</th>
                <th scope="col">
                  <span class="unseen">What you can do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {newest.map((one) => (
                <tr key={one.capture}>
                  <th scope="row">
                    <Link to={{ page: "capture", capture: one.capture }}>
                      {one.node}:{one.interface}
                    </Link>
                  </th>
                  <td>
                    <span class={`mark${one.status === "failed" ? " warn" : one.status === "running" ? " live" : ""}`}>{one.status}</span>
                  </td>
                  <td>{new Date(one.started_at).toLocaleString()}</td>
                  <td class="what">
                    {captureWords(one)}
                    {(one.dropped ?? 0) > 0 && <span class="mark warn">{one.dropped} lost</span>}
                  </td>
                  <td>
                    {mayChange && (
                      <div class="buttons">
                        {one.status === "running" && (
                          <button type="button" onClick={() => void act("stopCapture", one.capture)}>
                            Stop<span class="unseen"> {`${one.node}:${one.interface}`}</span>
                          </button>
                        )}
                        <button type="button" class="danger" onClick={() => setGoing(one)}>
                          Remove…
                        </button>
                      </div>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {going !== undefined && (
        <Confirm
          title={`Remove the capture of ${going.node}:${going.interface}?`}
          action="Remove"
          onCancel={() => setGoing(undefined)}
          onConfirm={() => void act("removeCapture", going.capture)}
        >
          {going.status === "running" ? "It is stopped, and its" : "Its"} packets are removed from the host for good.
        </Confirm>
      )}
    </>
  );
}

/** Node and interface, a filter where one is wanted, and the page of what is captured. */
function StartCapture({ lab, nodes }: Pick<CapturesViewProps, "lab" | "nodes">) {
  const able = useMemo(() => nodes.filter(({ interfaces }) => interfaces.length > 0), [nodes]);
  const [chosen, setChosen] = useState<string>();
  const [port, setPort] = useState<string>();
  const [filter, setFilter] = useState("");
  const [state, setState] = useState<{ readonly busy?: boolean; readonly error?: unknown }>({});
  const node = able.find((one) => keyOf(one) === chosen) ?? able[0];
  if (node === undefined) return <p>No node of the lab has an interface to capture.</p>;
  const used =
    node.interfaces.find(({ name }) => name === port) ?? node.interfaces.find(({ peer }) => peer !== undefined) ?? node.interfaces[0];
  const start = async () => {
    setState({ busy: true });
    try {
      const { capture } = await call("startCapture", {
        lab,
        node: keyOf(node),
        interface: used?.name ?? "",
        ...(filter.trim() !== "" && { filter }),
      });
      goTo({ page: "capture", capture });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <form
      class="start-capture"
      aria-label="A new capture"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <label>
        Node
        <select
          value={keyOf(node)}
          onChange={(event) => {
            setChosen(event.currentTarget.value);
            setPort(undefined);
          }}
        >
          {able.map((one) => (
            <option key={one.id} value={keyOf(one)}>
              {keyOf(one)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Interface
        <select value={used?.name} onChange={(event) => setPort(event.currentTarget.value)}>
          {node.interfaces.map(({ name, peer }) => (
            <option key={name} value={name}>
              {name}
              {peer === undefined ? "" : ` – ${peer}`}
            </option>
          ))}
        </select>
      </label>
      <label class="grows">
        Capture filter
        <input
          value={filter}
          placeholder="all packets; or as tcpdump takes it: icmp or port 179"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={state.busy === true}>
        Start a capture
      </button>
      {state.error !== undefined && <Problem error={state.error} />}
    </form>
  );
}

function keyOf({ node, name }: InspectedNode): string {
  return node ?? name;
}
