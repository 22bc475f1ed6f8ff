import { useState } from "preact/hooks";
import { useEvents } from "../service/events.ts";
import { type LogLine, logLine } from "./event-text.ts";

/** Older lines are dropped. */
const maxLines = 500;

/** The events of a lab since its page was opened, newest first. */
export function useEventLog(lab: string): readonly LogLine[] {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  useEvents(lab, (event) => {
    const line = logLine(event);
    if (line !== undefined) setLines((before) => [line, ...before].slice(0, maxLines));
  });
  return lines;
}
