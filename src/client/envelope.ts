import { LabwrightError } from "./error.ts";

/** An answer as text, independent of its transport. */
export interface TextAnswer {
  readonly status: number;
  readonly text: string;
  /** Returns a header by its name in lower case. */
  readonly header: (name: string) => string | undefined;
}

/** Returns the `data` of a success. Throws the error of any other answer. */
export function envelopeData(answer: TextAnswer): unknown {
  const envelope = parseJson(answer);
  if (isRecord(envelope) && envelope.ok === true) return envelope.data;
  throw refusal(answer);
}

export function parseJson(answer: TextAnswer): unknown {
  try {
    return JSON.parse(answer.text);
  } catch {
    throw refusal(answer);
  }
}

/** Returns the error of an answer that is not a success. The answer may have no envelope, such as a page of a proxy. */
export function refusal({ status, text, header }: TextAnswer): LabwrightError {
  let envelope: unknown;
  try {
    envelope = JSON.parse(text);
  } catch {
    envelope = undefined;
  }
  const retryAfter = Number(header("retry-after") ?? Number.NaN);
  const fields = { status, requestId: header("x-request-id"), retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined };
  if (!isRecord(envelope) || envelope.ok !== false) {
    return new LabwrightError(`the answer is not from a Labwright service (HTTP ${status}, no envelope)`, fields);
  }
  const { error, code, data } = envelope;
  return new LabwrightError(typeof error === "string" ? error : `HTTP ${status}`, {
    ...fields,
    code: typeof code === "string" ? code : undefined,
    data: isRecord(data) ? data : undefined,
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
