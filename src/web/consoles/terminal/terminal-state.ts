import type { LinkState } from "./console-link.ts";
import { linkStateText } from "./link-state-text.ts";
import type { Paste } from "./paste.ts";

export interface TerminalState {
  readonly link: LinkState;
  /** A paste of several lines that waits for confirmation. */
  readonly paste: Paste | undefined;
  readonly isSearching: boolean;
  /** Shown instead of the connection's state until it expires; "": none. */
  readonly notice: string;
}

export type TerminalEvent =
  | { readonly type: "link-changed"; readonly link: LinkState }
  | { readonly type: "paste-requested"; readonly paste: Paste }
  | { readonly type: "paste-ended" }
  | { readonly type: "search-opened" }
  | { readonly type: "search-closed" }
  | { readonly type: "noticed"; readonly notice: string }
  | { readonly type: "notice-expired"; readonly notice: string };

export const initialTerminalState: TerminalState = {
  link: { kind: "connecting" },
  paste: undefined,
  isSearching: false,
  notice: "",
};

export function terminalReducer(state: TerminalState, event: TerminalEvent): TerminalState {
  switch (event.type) {
    case "link-changed":
      return { ...state, link: event.link };
    case "paste-requested":
      return { ...state, paste: event.paste };
    case "paste-ended":
      return { ...state, paste: undefined };
    case "search-opened":
      return { ...state, isSearching: true };
    case "search-closed":
      return { ...state, isSearching: false };
    case "noticed":
      return { ...state, notice: event.notice };
    case "notice-expired":
      // A newer notice has a timer of its own.
      return state.notice === event.notice ? { ...state, notice: "" } : state;
  }
}

/** Returns the text of the terminal's bar: the notice, or else the state of the connection. */
export function statusText({ notice, link }: TerminalState): string {
  return notice || linkStateText(link);
}

/** Returns the state of a node that has the same dot as the connection. */
export function linkDot({ kind }: LinkState): "running" | "failed" | "starting" | "stopped" {
  if (kind === "open") return "running";
  return kind === "refused" ? "failed" : kind === "ended" ? "stopped" : "starting";
}
