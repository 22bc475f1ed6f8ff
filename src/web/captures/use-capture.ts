import { useCallback, useContext, useEffect, useReducer, useRef, useState } from "preact/hooks";
import { type BrowserDownload, LabwrightError } from "../../client/browser.ts";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { goTo } from "../parts/route.ts";
import { usePageVisible } from "../parts/use-page-visible.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { CaptureAddresses } from "./capture-routes.ts";
import { type CaptureEvent, type CaptureState, captureReducer, initialCaptureState } from "./capture-state.ts";
import { type AskPackets, PacketRows } from "./rows/packet-rows.ts";
import { saveDownload } from "./save-download.ts";

type State = CaptureState<PacketRows>;

export interface CaptureControl {
  readonly state: State;
  readonly dispatch: (event: CaptureEvent<PacketRows>) => void;
  /** Increases when the rows change. */
  readonly version: number;
  /** Reads new packets now. */
  readonly poll: () => void;
  /** Shows the packets that match a display filter; "" for all. */
  readonly applyFilter: (filter: string) => Promise<void>;
  readonly download: () => Promise<void>;
  /** Stops or removes the capture, as the open question asked. */
  readonly confirm: () => Promise<void>;
}

/** Delay between two polls, ms. */
const pollMs = 1_000;
/** Delay after a failed poll, ms. */
const retryMs = 5_000;
/** The capture itself, with its size and its lost packets, is read once in this number of polls. */
const pollsPerReload = 5;
/** Codes of errors that another poll does not solve. */
const finalErrors = new Set(["operation_not_allowed", "capture_not_found", "unsupported"]);

/** The packets of a capture and the actions of its page. @param reload reads the capture again */
export function useCapture(data: CaptureData, reload: () => void): CaptureControl {
  const { capture, lab, status } = data;
  const addresses = useContext(CaptureAddresses);
  const [version, setVersion] = useState(0);
  const onRowsChanged = useCallback(() => setVersion((count) => count + 1), []);
  const ask: AskPackets = useCallback(
    ({ skip, limit, filter }, signal) =>
      call("listCapturePackets", { id: capture, skip: String(skip), limit: String(limit), ...(filter !== "" && { filter }) }, { signal }),
    [capture],
  );
  const [state, dispatch] = useReducer<State, CaptureEvent<PacketRows>, undefined>(captureReducer<PacketRows>, undefined, () =>
    initialCaptureState(new PacketRows("", ask, onRowsChanged)),
  );
  const { rows, isRemoved, question } = state;
  useEffect(() => () => rows.close(), [rows]);
  useEffect(() => dispatch({ type: "renumbered" }), [rows.view]);
  useEvents(lab, ({ type, data: eventData }) => {
    const event = (eventData ?? {}) as { readonly capture?: string; readonly status?: string };
    const concernsThis = type === "capture" && event.capture === capture;
    if (concernsThis && event.status === "removed") dispatch({ type: "removed" });
    else if (concernsThis || type === "gap") reload();
  });
  const poll = usePolledRows({ rows, isRunning: status === "running", isRemoved, reload, dispatch });
  const applyFilter = useFilter(ask, onRowsChanged, dispatch);
  const download = async () => {
    dispatch({ type: "download-started" });
    try {
      // The browser SDK returns a BrowserDownload for a binary response.
      await saveDownload((await call("downloadCapture", { id: capture })) as unknown as BrowserDownload);
    } catch (error) {
      dispatch({ type: "failed", error });
    }
    dispatch({ type: "download-ended" });
  };
  const confirm = async () => {
    dispatch({ type: "answered" });
    dispatch({ type: "request-started" });
    try {
      if (question === "remove") {
        // No further request is sent for a removed capture.
        rows.close();
        await call("removeCapture", { id: capture });
        goTo(addresses.all(lab));
        return;
      }
      await call("stopCapture", { id: capture });
    } catch (error) {
      dispatch({ type: "failed", error });
      if (question === "remove") dispatch({ type: "rows-replaced", rows: new PacketRows(rows.filter, ask, onRowsChanged) });
    }
    reload();
  };
  return { state, dispatch, version, poll: () => void poll(), applyFilter, download, confirm };
}

interface PollInput {
  readonly rows: PacketRows;
  readonly isRunning: boolean;
  readonly isRemoved: boolean;
  readonly reload: () => void;
  readonly dispatch: (event: CaptureEvent<PacketRows>) => void;
}

/** Polls for new packets while the capture runs and the page is visible, one request after the other. Returns a function that polls now. */
function usePolledRows({ rows, isRunning, isRemoved, reload, dispatch }: PollInput): () => Promise<number | undefined> {
  const visible = usePageVisible();
  /** Returns the delay before the next poll, ms; undefined if it would be refused, too. */
  const poll = useCallback(async (): Promise<number | undefined> => {
    try {
      await rows.poll();
      dispatch({ type: "polled" });
      return pollMs;
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return pollMs;
      dispatch({ type: "failed", error });
      return error instanceof LabwrightError && finalErrors.has(error.code ?? "") ? undefined : retryMs;
    }
  }, [rows]);
  useEffect(() => {
    if (!visible || isRemoved) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    let polls = 0;
    const pollAndWait = async () => {
      const delayMs = await poll();
      if (!ended && ++polls % pollsPerReload === 0) reload();
      if (!ended && isRunning && delayMs !== undefined) timer = setTimeout(() => void pollAndWait(), delayMs);
    };
    void pollAndWait();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [poll, isRunning, visible, isRemoved, reload]);
  return poll;
}

/** Returns a function that applies a display filter. If several are applied at the same time, the newest is shown. */
function useFilter(
  ask: AskPackets,
  onRowsChanged: () => void,
  dispatch: (event: CaptureEvent<PacketRows>) => void,
): (filter: string) => Promise<void> {
  const newest = useRef<PacketRows>(undefined);
  return async (filter) => {
    dispatch({ type: "filter-started", filter });
    const rows = new PacketRows(filter.trim(), ask, onRowsChanged);
    newest.current?.close();
    newest.current = rows;
    try {
      await rows.poll();
      if (newest.current !== rows) return;
      newest.current = undefined;
      dispatch({ type: "filter-applied", rows });
    } catch (error) {
      if (newest.current !== rows) return;
      rows.close();
      dispatch({ type: "filter-failed", error });
    }
  };
}
