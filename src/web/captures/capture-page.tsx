import { useMemo } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { CaptureHead } from "./capture-head.tsx";
import { NoPackets, PacketsNotAllowed, Removed } from "./capture-states.tsx";
import { FilterField } from "./filter-field.tsx";
import { PacketDetails } from "./packet/packet-details.tsx";
import { packetCount } from "./packet-count.ts";
import { PacketList } from "./rows/packet-list.tsx";
import { clockTime, secondsSince } from "./rows/packet-time.ts";
import { type CaptureControl, useCapture } from "./use-capture.ts";
import "./captures.css";

interface CapturePageProps {
  readonly capture: string;
  readonly mayChange: boolean;
}

/** The page of a capture: its packets as they arrive, with the fields and bytes of each. */
export default function CapturePage({ capture, mayChange }: CapturePageProps) {
  const { data, error, again } = useAnswer((signal) => call("getCapture", { id: capture }, { signal }), [capture]);
  if (data === undefined)
    return error === undefined ? <p class="waiting">Reading the capture…</p> : <Problem error={error} retry={again} />;
  return <Capture data={data} mayChange={mayChange} reload={again} error={error} />;
}

interface CaptureProps {
  readonly data: CaptureData;
  readonly mayChange: boolean;
  readonly reload: () => void;
  /** The error of the last reload. */
  readonly error: unknown;
}

function Capture({ data, mayChange, reload, error }: CaptureProps) {
  const control = useCapture(data, reload);
  const { state, dispatch, poll, confirm } = control;
  const { rows, isLoaded, question } = state;
  const isRunning = data.status === "running";
  if (state.isRemoved) return <Removed capture={data} />;
  if (!isLoaded && state.error instanceof LabwrightError && state.error.code === "operation_not_allowed") {
    return <PacketsNotAllowed capture={data} />;
  }
  return (
    <section class="capture">
      <CaptureHead data={data} control={control} mayChange={mayChange} />
      {error !== undefined && <Problem error={error} retry={reload} />}
      {state.error !== undefined && <Problem error={state.error} retry={poll} />}
      {rows.error !== undefined && <Problem error={rows.error} retry={() => rows.retry()} />}
      <CaptureTools control={control} isRunning={isRunning} />
      {!isLoaded ? (
        state.error === undefined && <p class="waiting">Reading the packets… A large capture takes some seconds.</p>
      ) : rows.total === 0 ? (
        <NoPackets capture={data} />
      ) : (
        <Packets data={data} control={control} isRunning={isRunning} />
      )}
      {question !== undefined && (
        <Confirm
          title={question === "stop" ? "Stop the capture?" : "Remove the capture?"}
          action={question === "stop" ? "Stop" : "Remove"}
          onCancel={() => dispatch({ type: "answered" })}
          onConfirm={() => void confirm()}
        >
          {question === "stop"
            ? "No more packets are captured. The captured packets are kept: you can still view and download them. The capture cannot be started again."
            : `${isRunning ? "It is stopped, and its" : "Its"} packets are deleted from the host. Download them first if you need them.`}
        </Confirm>
      )}
    </section>
  );
}

interface CapturePartProps {
  readonly control: CaptureControl;
  readonly isRunning: boolean;
}

/** The display filter, the number of packets, and the options of the list. */
function CaptureTools({ control: { state, dispatch, applyFilter }, isRunning }: CapturePartProps) {
  const { rows, filter, filterError, isFiltering, follow, timeOfDay } = state;
  const count = rows.filter === "" ? packetCount(rows.count) : `${rows.count} of ${packetCount(rows.total)}`;
  return (
    <div class="capture-tools">
      <FilterField
        value={filter}
        applied={rows.filter}
        error={filterError}
        onApply={(text) => void applyFilter(text)}
        onInput={(text) => dispatch({ type: "filter-typed", filter: text })}
      />
      <output class="count">{isFiltering ? "Filtering…" : count}</output>
      {isRunning && (
        <button type="button" aria-pressed={follow} onClick={() => dispatch({ type: "follow-changed", follow: !follow })}>
          Follow new packets
        </button>
      )}
      <button type="button" aria-pressed={timeOfDay} onClick={() => dispatch({ type: "time-format-toggled" })}>
        Time of day
      </button>
    </div>
  );
}

/** The list of packets, and the details of the selected packet. */
function Packets({ data, control, isRunning }: CapturePartProps & { readonly data: CaptureData }) {
  const { state, dispatch, version, applyFilter } = control;
  const { rows, selected, follow, timeOfDay } = state;
  const { started_at: start } = data;
  const formatTime = useMemo(() => (timeOfDay ? clockTime : (at: string) => secondsSince(start, at)), [timeOfDay, start]);
  const select = (packet: number) => dispatch({ type: "selected", packet });
  return (
    <div class="packets">
      {rows.filter !== "" && rows.count === 0 ? (
        <p class="packet-list packet-hint">None of {packetCount(rows.total)} matches the filter.</p>
      ) : (
        <PacketList
          rows={rows}
          version={version}
          selected={selected}
          onSelect={select}
          formatTime={formatTime}
          follow={isRunning && follow}
          onFollow={(next) => dispatch({ type: "follow-changed", follow: next })}
        />
      )}
      <PacketDetails
        capture={data.capture}
        number={selected}
        view={rows.view}
        onFilter={(text) => void applyFilter(text)}
        onGo={(packet) => {
          select(packet);
          // The button with the focus disappears with the details of its packet.
          document.querySelector<HTMLElement>(".packet-list")?.focus();
        }}
      />
    </div>
  );
}
