import { useContext } from "preact/hooks";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { Link } from "../parts/link.tsx";
import { CaptureAddresses } from "./capture-routes.ts";
import { captureSummary } from "./capture-summary.ts";
import type { CaptureControl } from "./use-capture.ts";

interface CaptureHeadProps {
  readonly data: CaptureData;
  readonly control: CaptureControl;
  readonly mayChange: boolean;
}

/** The state of a capture, its buttons, and notices about missing packets. */
export function CaptureHead({ data, control: { state, dispatch, download }, mayChange }: CaptureHeadProps) {
  const { node, interface: name, lab, status, dropped = 0, truncated } = data;
  const addresses = useContext(CaptureAddresses);
  const isRunning = status === "running";
  return (
    <>
      <div class="lab-head">
        <h1>
          {node}:{name}
        </h1>
        <Link to={addresses.all(lab)}>Captures of {lab}</Link>
        <span class={`mark${status === "failed" ? " warn" : isRunning ? " live" : ""}`}>{status}</span>
        <span>{captureSummary(data, state.rows.total)}</span>
        <div class="buttons right">
          <button type="button" disabled={state.isDownloading} onClick={() => void download()}>
            {state.isDownloading ? "Downloading…" : "Download pcapng"}
          </button>
          {isRunning && mayChange && (
            <button type="button" onClick={() => dispatch({ type: "asked", question: "stop" })}>
              Stop…
            </button>
          )}
          {mayChange && (
            <button type="button" class="danger" onClick={() => dispatch({ type: "asked", question: "remove" })}>
              Remove…
            </button>
          )}
        </div>
      </div>
      {dropped > 0 && (
        <p class="notice" role="status">
          The machine was too busy to capture {dropped} frames: the list has gaps.
        </p>
      )}
      {truncated === true && (
        <p class="notice" role="status">
          The capture is full: new packets replace the oldest ones, and the packets are renumbered each time.
        </p>
      )}
    </>
  );
}
