import { LabwrightError } from "../../../client/browser.ts";
import type { LinkState } from "./console-link.ts";

/** Describes the state of a console's connection. */
export function linkStateText(state: LinkState): string {
  switch (state.kind) {
    case "connecting":
      return "Connecting…";
    case "open":
      return "Connected";
    case "stopped":
      return "Not running; waiting for its start";
    case "broken":
      return "Connection lost; reconnecting";
    case "ended":
      return state.text;
    case "refused":
      return state.error instanceof LabwrightError ? state.error.message : String(state.error);
  }
}
