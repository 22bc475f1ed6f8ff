import { LabwrightError } from "../../client/browser.ts";

/** The state of a capture's page, besides the packets themselves. `Rows` is the list of packets that is shown. */
export interface CaptureState<Rows> {
  readonly rows: Rows;
  /** Whether packets were read at least once. */
  readonly isLoaded: boolean;
  /** Whether the capture was removed. */
  readonly isRemoved: boolean;
  /** The filter in the input field. */
  readonly filter: string;
  readonly isFiltering: boolean;
  /** Why the filter was refused. */
  readonly filterError: string | undefined;
  /** The error of the last request. */
  readonly error: unknown;
  /** Number of the packet whose details are shown. */
  readonly selected: number | undefined;
  /** Whether the list scrolls to new packets. */
  readonly follow: boolean;
  /** Whether times are times of day; otherwise seconds since the start. */
  readonly timeOfDay: boolean;
  readonly isDownloading: boolean;
  readonly question: "stop" | "remove" | undefined;
}

export type CaptureEvent<Rows> =
  | { readonly type: "removed" }
  | { readonly type: "polled" }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "request-started" }
  | { readonly type: "filter-typed"; readonly filter: string }
  | { readonly type: "filter-started"; readonly filter: string }
  | { readonly type: "filter-applied"; readonly rows: Rows }
  | { readonly type: "filter-failed"; readonly error: unknown }
  | { readonly type: "rows-replaced"; readonly rows: Rows }
  | { readonly type: "renumbered" }
  | { readonly type: "selected"; readonly packet: number }
  | { readonly type: "follow-changed"; readonly follow: boolean }
  | { readonly type: "time-format-toggled" }
  | { readonly type: "download-started" }
  | { readonly type: "download-ended" }
  | { readonly type: "asked"; readonly question: "stop" | "remove" }
  | { readonly type: "answered" };

export function initialCaptureState<Rows>(rows: Rows): CaptureState<Rows> {
  return {
    rows,
    isLoaded: false,
    isRemoved: false,
    filter: "",
    isFiltering: false,
    filterError: undefined,
    error: undefined,
    selected: undefined,
    follow: true,
    timeOfDay: false,
    isDownloading: false,
    question: undefined,
  };
}

export function captureReducer<Rows>(state: CaptureState<Rows>, event: CaptureEvent<Rows>): CaptureState<Rows> {
  switch (event.type) {
    case "removed":
      return { ...state, isRemoved: true };
    case "polled":
      return state.isLoaded && state.error === undefined ? state : { ...state, isLoaded: true, error: undefined };
    case "failed":
      return { ...state, error: event.error };
    case "request-started":
      return { ...state, error: undefined };
    case "filter-typed":
      return { ...state, filter: event.filter };
    case "filter-started":
      return { ...state, filter: event.filter, filterError: undefined, isFiltering: true };
    case "filter-applied":
      return { ...state, rows: event.rows, isFiltering: false, error: undefined };
    case "filter-failed": {
      const reason = filterReason(event.error);
      return { ...state, isFiltering: false, ...(reason === undefined ? { error: event.error } : { filterError: reason }) };
    }
    case "rows-replaced":
      return { ...state, rows: event.rows };
    case "renumbered":
      // The number now belongs to another packet.
      return { ...state, selected: undefined };
    case "selected":
      return { ...state, selected: event.packet, follow: false };
    case "follow-changed":
      return { ...state, follow: event.follow };
    case "time-format-toggled":
      return { ...state, timeOfDay: !state.timeOfDay };
    case "download-started":
      return { ...state, isDownloading: true };
    case "download-ended":
      return { ...state, isDownloading: false };
    case "asked":
      return { ...state, question: event.question };
    case "answered":
      return { ...state, question: undefined };
  }
}

/** Returns the decoder's message about a refused filter; undefined for any other error. */
function filterReason(error: unknown): string | undefined {
  if (!(error instanceof LabwrightError) || error.code !== "bad_request") return undefined;
  const [problem] = (error.data?.["problems"] ?? []) as readonly { readonly message?: string }[];
  return problem?.message ?? error.message;
}
