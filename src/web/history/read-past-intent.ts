import type { HistoryEntry } from "../../contract/schemas/history.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { call } from "../service/api.ts";
import { changeTitle } from "./entry-text.ts";

/** A state of the lab's history with its text. */
export interface PastIntent {
  readonly intent: IntentText;
  /** For people. */
  readonly title: string;
}

/** Reads the text of a state. Throws LabwrightError. */
export async function readPastIntent(lab: string, entry: HistoryEntry, asWritten: boolean, signal?: AbortSignal): Promise<PastIntent> {
  const input = { lab, serial: entry.serial, ...(asWritten && { as_written: true }) };
  const { yaml, files } = await call("getHistoryText", input, signal === undefined ? {} : { signal });
  return { intent: { yaml, files }, title: `state ${changeTitle(entry).replace(/^#/, "")}` };
}
