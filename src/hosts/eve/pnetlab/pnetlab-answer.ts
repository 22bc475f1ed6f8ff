import type { Answer } from "../../../transport/transport.ts";
import { parseJson } from "../api/parse-json.ts";

/** Parses the JSON of an answer. Returns {} if it is not JSON. */
export function jsonOf(answer: Answer): Readonly<Record<string, unknown>> {
  return parseJson(answer.body) ?? {};
}

/** Returns an answer in EVE-NG's form, with the time of the original answer. */
export function eveAnswer(of: Pick<Answer, "headers"> | undefined, status: number, message: string, data?: unknown): Answer {
  const body = { code: status, status: status < 300 ? "success" : "fail", message, ...(data !== undefined && { data }) };
  return { status, headers: of?.headers ?? {}, body: Buffer.from(JSON.stringify(body)) };
}
