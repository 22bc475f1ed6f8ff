import { readFileSync } from "node:fs";

/** One request to a real host and what it answered. */
export interface RecordedExchange {
  /** Among all transcripts. */
  readonly order: number;
  /** ISO 8601, to the second. */
  readonly at: string;
  readonly method: string;
  /** As sent: percent-encoded. */
  readonly path: string;
  readonly body?: string;
  /** The body was a file, of which the transcript has no copy. */
  readonly upload?: string;
  /** Absent where only the status was written down: then what of the answer was white space may have been changed too. */
  readonly statusLine?: string;
  readonly status?: number;
  /** In order, without Date, which `at` is. */
  readonly headers?: readonly (readonly [string, string])[];
  /** Absent where it was a file. */
  readonly answer?: string;
}

export function readTranscript(name: string): readonly RecordedExchange[] {
  return readFileSync(new URL(`recorded/${name}.jsonl`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordedExchange);
}
