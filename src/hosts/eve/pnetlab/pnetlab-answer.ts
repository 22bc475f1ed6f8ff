import type { Answer } from "../../../transport/transport.ts";
import { parseJson } from "../api/parse-json.ts";

/** The JSON of an answer, {} where it is none. */
export function jsonOf(answer: Answer): Readonly<Record<string, unknown>> {
  return parseJson(answer.body) ?? {};
}

/** An answer as EVE-NG would give it, at the time of the one that it is made of. */
export function eveAnswer(of: Pick<Answer, "headers"> | undefined, status: number, message: string, data?: unknown): Answer {
  const body = { code: status, status: status < 300 ? "success" : "fail", message, ...(data !== undefined && { data }) };
  return { status, headers: of?.headers ?? {}, body: Buffer.from(JSON.stringify(body)) };
}
