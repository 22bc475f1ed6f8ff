import { Failure } from "../../contract/errors.ts";
import type { HistoryData, HistoryTextData, HistoryTextPayload } from "../../contract/schemas/history.ts";
import { maskLab } from "../../engine/show/mask.ts";
import { printLab } from "../../intent/write/print.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { addressManaged } from "../context/address.ts";
import type { LookupParts } from "../context/parts.ts";
import type { Selector } from "../context/selector.ts";
import { readable } from "../work/intents.ts";

/** Returns the earlier intents of a lab and the changes that recorded them. Throws lab_not_found for an unmanaged lab. */
export async function listHistory(context: LookupParts, caller: Caller, selector: Selector): Promise<HistoryData> {
  const { record, path } = await addressManaged(context, caller, selector, "view");
  const rows = await context.store.history.list(record.identity);
  const entries = rows.map(({ at, steps, stepCount, hasText, ...row }, index) => ({
    ...row,
    at: timeText(at),
    ...(steps !== undefined && { steps: steps.map(({ op, kind, key }) => ({ op, kind, key })) }),
    ...(stepCount !== undefined && { step_count: stepCount }),
    has_text: hasText,
    is_current: index === 0,
  }));
  return { lab: path, entries };
}

/**
 * Returns an earlier intent of a lab, without secrets. as_written: the original text, for users who may edit the lab. Throws history_not_found if the
 * history does not have its text.
 */
export async function historyText(context: LookupParts, caller: Caller, payload: HistoryTextPayload): Promise<HistoryTextData> {
  const { serial, as_written: asWritten = false, ...selector } = payload;
  const { record, path } = await addressManaged(context, caller, selector, asWritten ? "edit" : "view");
  const text = await context.store.history.text(record.identity, serial);
  if (text === undefined) throw notKept(path, serial);
  if (asWritten) return { lab: path, serial, yaml: text.yaml, files: text.files };
  const intent = await readable(context.work, text.yaml, text.files);
  // Secrets are found in the parsed lab: a text that cannot be read any more is shown to nobody who may not edit it.
  if (intent === undefined) throw notKept(path, serial);
  const { yaml, files } = printLab(maskLab(intent.lab));
  return { lab: path, serial, yaml, files };
}

function notKept(path: string, serial: number): Failure {
  return new Failure(
    "history_not_found",
    `the history of ${path} has no text with serial ${serial}; labwright history lists the kept ones`,
  );
}
