import { useContext, useState } from "preact/hooks";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { useFeature } from "../parts/use-feature.ts";
import { usePolling } from "../parts/use-polling.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { CaptureAddresses } from "./capture-routes.ts";
import { captureSummary } from "./capture-summary.ts";
import { StartCapture } from "./start-capture.tsx";
import "./captures.css";

/** How often the sizes of running captures are read, ms. */
const pollMs = 4_000;

interface CapturesViewProps {
  readonly lab: string;
  readonly nodes: readonly InspectedNode[];
  readonly mayChange: boolean;
}

/** Lists the running and ended captures of a lab, with a form to start one. */
export default function CapturesView({ lab, nodes, mayChange }: CapturesViewProps) {
  const { data: isSupported, error, again } = useFeature("capture");
  if (isSupported === false) {
    return (
      <div class="empty">
        <h2>This host cannot capture packets</h2>
        <p>The host of this lab gives no access to the packets of its links. Labs on the embedded host can be captured.</p>
      </div>
    );
  }
  if (isSupported === undefined) {
    return error === undefined ? <p class="waiting">Reading the captures…</p> : <Problem error={error} retry={again} />;
  }
  return <LabCaptures lab={lab} nodes={nodes} mayChange={mayChange} />;
}

function LabCaptures({ lab, nodes, mayChange }: CapturesViewProps) {
  const { data, error, again } = useAnswer((signal) => call("listCaptures", { lab }, { signal }), [lab]);
  const [removing, setRemoving] = useState<CaptureData>();
  const [actionError, setActionError] = useState<unknown>();
  useEvents(lab, ({ type }) => {
    if (type === "capture" || type === "gap") again();
  });
  usePolling(() => data?.captures.some(({ status }) => status === "running") === true && again(), pollMs);
  const act = async (id: "stopCapture" | "removeCapture", capture: string) => {
    setRemoving(undefined);
    setActionError(undefined);
    try {
      await call(id, { id: capture });
    } catch (problem) {
      setActionError(problem);
    }
    again();
  };
  if (data === undefined)
    return error === undefined ? <p class="waiting">Reading the captures…</p> : <Problem error={error} retry={again} />;
  return (
    <>
      {mayChange && <StartCapture lab={lab} nodes={nodes} />}
      {error !== undefined && <Problem error={error} retry={again} />}
      {actionError !== undefined && <Problem error={actionError} />}
      {data.captures.length === 0 ? (
        <NoCaptures />
      ) : (
        <CaptureTable
          captures={data.captures.toReversed()}
          mayChange={mayChange}
          onStop={({ capture }) => void act("stopCapture", capture)}
          onRemove={setRemoving}
        />
      )}
      {removing !== undefined && (
        <Confirm
          title={`Remove the capture of ${removing.node}:${removing.interface}?`}
          action="Remove"
          onCancel={() => setRemoving(undefined)}
          onConfirm={() => void act("removeCapture", removing.capture)}
        >
          {removing.status === "running" ? "It is stopped, and its" : "Its"} packets are deleted from the host.
        </Confirm>
      )}
    </>
  );
}

function NoCaptures() {
  return (
    <div class="empty">
      <h2>No captures</h2>
      <p>
        A capture records the packets of one interface on the host. You can view them here, or download them for Wireshark. A capture
        continues when this page is closed.
      </p>
      <p>
        From a terminal: <code>labwright capture r1:eth1 -w - | wireshark -k -i -</code>
      </p>
    </div>
  );
}

interface CaptureTableProps {
  readonly captures: readonly CaptureData[];
  readonly mayChange: boolean;
  readonly onStop: (capture: CaptureData) => void;
  readonly onRemove: (capture: CaptureData) => void;
}

function CaptureTable({ captures, mayChange, onStop, onRemove }: CaptureTableProps) {
  const addresses = useContext(CaptureAddresses);
  return (
    <div class="wide">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Interface</th>
            <th scope="col">State</th>
            <th scope="col">Started</th>
            <th scope="col">Packets</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {captures.map((one) => (
            <tr key={one.capture}>
              <th scope="row">
                <Link to={addresses.one(one.capture)}>
                  {one.node}:{one.interface}
                </Link>
              </th>
              <td>
                <span class={`mark${one.status === "failed" ? " warn" : one.status === "running" ? " live" : ""}`}>{one.status}</span>
              </td>
              <td>{new Date(one.started_at).toLocaleString()}</td>
              <td class="what">
                {captureSummary(one)}
                {(one.dropped ?? 0) > 0 && <span class="mark warn">{one.dropped} lost</span>}
              </td>
              <td>
                {mayChange && (
                  <div class="buttons">
                    {one.status === "running" && (
                      <button type="button" onClick={() => onStop(one)}>
                        Stop<span class="visually-hidden"> {`${one.node}:${one.interface}`}</span>
                      </button>
                    )}
                    <button type="button" class="danger" onClick={() => onRemove(one)}>
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
  );
}
