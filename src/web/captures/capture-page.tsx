import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type BrowserDownload, LabwrightError } from "../../client/browser.ts";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { goTo } from "../parts/route.ts";
import { Kept, NoPackets, Removed } from "./capture-states.tsx";
import { captureWords } from "./capture-summary.ts";
import { FilterField } from "./filter-field.tsx";
import { PacketDetails } from "./packet/packet-details.tsx";
import { PacketList } from "./rows/packet-list.tsx";
import { type AskPackets, PacketRows } from "./rows/packet-rows.ts";
import { clockTime, secondsSince } from "./rows/packet-time.ts";
import { packetsWord } from "./packet-count.ts";
import { saveDownload } from "./save-download.ts";
import { usePresence } from "../parts/use-page-visible.ts";
import "./captures.css";

interface CapturePageProps {
  readonly capture: string;
  readonly mayChange: boolean;
}

/** How soon packets that came are shown, ms after the last look. */
const lookMs = 1_000;
/** After a look that failed. */
const retryMs = 5_000;
/** What looking again does not mend. */
const final = new Set(["operation_not_allowed", "capture_not_found", "unsupported"]);

/** A capture: its packets as they come, each to the last byte. */
export default function CapturePage({ capture, mayChange }: CapturePageProps) {
  const { data, error, again } = useAnswer((signal) => call("getCapture", { id: capture }, { signal }), [capture]);
  if (data === undefined)
    return error === undefined ? <p class="waiting">Looking at the capture…</p> : <Problem error={error} retry={again} />;
  return <Packets capture={data} mayChange={mayChange} again={again} error={error} />;
}

interface PacketsProps {
  readonly capture: CaptureData;
  readonly mayChange: boolean;
  readonly again: () => void;
  readonly error: unknown;
}

function Packets({ capture: told, mayChange, again, error }: PacketsProps) {
  const { capture, node, interface: name, lab, status } = told;
  const running = status === "running";
  const [gone, setGone] = useState(false);
  useEvents(lab, ({ type, data }) => {
    const event = (data ?? {}) as { readonly capture?: string; readonly status?: string };
    const ours = type === "capture" && event.capture === capture;
    if (ours && event.status === "removed") setGone(true);
    else if (ours || type === "gap") again();
  });
  const present = usePresence();
  const [version, setVersion] = useState(0);
  const changed = useCallback(() => setVersion((count) => count + 1), []);
  const ask: AskPackets = useCallback(
    ({ skip, limit, filter }, signal) =>
      call("listCapturePackets", { id: capture, skip: String(skip), limit: String(limit), ...(filter !== "" && { filter }) }, { signal }),
    [capture],
  );
  const [rows, setRows] = useState(() => new PacketRows("", ask, changed));
  useEffect(() => () => rows.close(), [rows]);
  const [filter, setFilter] = useState("");
  const [filterError, setFilterError] = useState<string>();
  const [failed, setFailed] = useState<unknown>();
  const [loaded, setLoaded] = useState(false);
  const [selected, setSelected] = useState<number>();
  const [follow, setFollow] = useState(true);
  const [clock, setClock] = useState(false);
  const [saving, setSaving] = useState(false);
  const [filtering, setFiltering] = useState(false);
  const [asking, setAsking] = useState<"stop" | "remove">();
  const timeOf = useMemo(() => (clock ? clockTime : (at: string) => secondsSince(told.started_at, at)), [clock, told.started_at]);

  // The numbers of before mean other packets.
  useEffect(() => setSelected(undefined), [rows.view]);

  /** Answers when to look again, ms; undefined: it would be refused again. */
  const look = useCallback(async (): Promise<number | undefined> => {
    try {
      await rows.look();
      setFailed(undefined);
      setLoaded(true);
      return lookMs;
    } catch (problem) {
      if (problem instanceof DOMException && problem.name === "AbortError") return lookMs;
      setFailed(problem);
      return problem instanceof LabwrightError && final.has(problem.code ?? "") ? undefined : retryMs;
    }
  }, [rows]);
  // Asked one after the other, each for the last of the rows only; not while nobody looks.
  useEffect(() => {
    if (!present || gone) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let over = false;
    let looks = 0;
    const go = async () => {
      const waitMs = await look();
      // What it takes on disk, and what was lost.
      if (!over && ++looks % 5 === 0) again();
      if (!over && running && waitMs !== undefined) timer = setTimeout(() => void go(), waitMs);
    };
    void go();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [look, running, present, gone, again]);

  // The newest filter that was asked for wins.
  const newest = useRef<PacketRows>(undefined);
  const apply = async (text: string) => {
    const wanted = text.trim();
    setFilter(text);
    setFilterError(undefined);
    setFiltering(true);
    const next = new PacketRows(wanted, ask, changed);
    newest.current?.close();
    newest.current = next;
    try {
      await next.look();
      if (newest.current !== next) return;
      newest.current = undefined;
      setFiltering(false);
      setRows(next);
      setFailed(undefined);
    } catch (problem) {
      if (newest.current !== next) return;
      next.close();
      setFiltering(false);
      if (problem instanceof LabwrightError && problem.code === "bad_request") setFilterError(reasonOf(problem));
      else setFailed(problem);
    }
  };
  const download = async () => {
    setSaving(true);
    try {
      // In the browser an answer of bytes is a BrowserDownload.
      await saveDownload((await call("downloadCapture", { id: capture })) as unknown as BrowserDownload);
    } catch (problem) {
      setFailed(problem);
    }
    setSaving(false);
  };
  const end = async () => {
    const act = asking;
    setAsking(undefined);
    setFailed(undefined);
    try {
      if (act === "remove") {
        // Nothing more is asked of it.
        rows.close();
        await call("removeCapture", { id: capture });
        goTo({ page: "lab", lab, view: "captures" });
        return;
      }
      await call("stopCapture", { id: capture });
    } catch (problem) {
      setFailed(problem);
      if (act === "remove") setRows(new PacketRows(rows.filter, ask, changed));
    }
    again();
  };

  const choose = (number: number) => {
    setSelected(number);
    setFollow(false);
  };

  if (gone) return <Removed capture={told} />;
  if (!loaded && failed instanceof LabwrightError && failed.code === "operation_not_allowed") return <Kept capture={told} />;
  return (
    <section class="capture">
      <div class="lab-head">
        <h1>
          {node}:{name}
        </h1>
        <Link to={{ page: "lab", lab, view: "captures" }}>Captures of {lab}</Link>
        <span class={`mark${status === "failed" ? " warn" : running ? " live" : ""}`}>{status}</span>
        <span>{captureWords(told, rows.total)}</span>
        <div class="buttons right">
          <button type="button" disabled={saving} onClick={() => void download()}>
            {saving ? "Downloading…" : "Download pcapng"}
          </button>
          {running && mayChange && (
            <button type="button" onClick={() => setAsking("stop")}>
              Stop…
            </button>
          )}
          {mayChange && (
            <button type="button" class="danger" onClick={() => setAsking("remove")}>
              Remove…
            </button>
          )}
        </div>
      </div>
      {(told.dropped ?? 0) > 0 && (
        <p class="notice" role="status">
          {told.dropped} frames were lost: the machine was too busy to take them. What is below has gaps.
        </p>
      )}
      {told.truncated === true && (
        <p class="notice" role="status">
          The capture is full, so that the oldest packets go as new ones come. Packets are numbered anew when that happens.
        </p>
      )}
      {error !== undefined && <Problem error={error} retry={again} />}
      {failed !== undefined && <Problem error={failed} retry={() => void look()} />}
      {rows.error !== undefined && <Problem error={rows.error} retry={() => rows.retry()} />}
      <div class="capture-tools">
        <FilterField value={filter} applied={rows.filter} error={filterError} onApply={(text) => void apply(text)} onInput={setFilter} />
        <output class="count">
          {filtering ? "Filtering…" : rows.filter === "" ? packetsWord(rows.count) : `${rows.count} of ${packetsWord(rows.total)}`}
        </output>
        {running && (
          <button type="button" aria-pressed={follow} onClick={() => setFollow(!follow)}>
            Follow the newest
          </button>
        )}
        <button type="button" aria-pressed={clock} onClick={() => setClock(!clock)}>
          Time of day
        </button>
      </div>
      {!loaded ? (
        failed === undefined && <p class="waiting">Reading the packets… Those of a full capture take some seconds.</p>
      ) : rows.total === 0 ? (
        <NoPackets capture={told} />
      ) : (
        <>
          {rows.filter !== "" && rows.count === 0 ? (
            <p class="packet-list packet-hint">None of {packetsWord(rows.total)} matches the filter.</p>
          ) : (
            <PacketList
              rows={rows}
              version={version}
              selected={selected}
              onSelect={choose}
              timeOf={timeOf}
              follow={running && follow}
              onFollow={setFollow}
            />
          )}
          <PacketDetails
            capture={capture}
            number={selected}
            view={rows.view}
            onFilter={(text) => void apply(text)}
            onGo={(number) => {
              choose(number);
              // What led there goes with the packet it was of.
              document.querySelector<HTMLElement>(".packet-list")?.focus();
            }}
          />
        </>
      )}
      {asking !== undefined && (
        <Confirm
          title={asking === "stop" ? "Stop the capture?" : "Remove the capture?"}
          action={asking === "stop" ? "Stop" : "Remove"}
          onCancel={() => setAsking(undefined)}
          onConfirm={() => void end()}
        >
          {asking === "stop"
            ? "No more packets are taken; those that are there stay, and can be looked at and downloaded. It cannot be started again."
            : `${running ? "It is stopped, and its" : "Its"} packets are removed from the host for good. Download them first where they are needed.`}
        </Confirm>
      )}
    </section>
  );
}

/** What the decoder says of a filter. */
function reasonOf({ message, data }: LabwrightError): string {
  const [problem] = (data?.["problems"] ?? []) as readonly { readonly message?: string }[];
  return problem?.message ?? message;
}
