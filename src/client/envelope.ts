import { LabwrightError } from "./error.ts";

/** An answer as a text, whatever carried it. */
export interface TextAnswer {
  readonly status: number;
  readonly text: string;
  /** A header by its name in lower case. */
  readonly header: (name: string) => string | undefined;
}

/** `data` of a success. Throws the error that any other answer stands for. */
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

/** The error that an answer other than success stands for; also one that is no envelope, such as a proxy's page. */
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
    return new LabwrightError(`what answered is not a Labwright service (HTTP ${status}, no envelope)`, fields);
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
