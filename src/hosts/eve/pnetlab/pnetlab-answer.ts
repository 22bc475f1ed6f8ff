import type { EveReply } from "../api/eve-call.ts";
import { parseJson } from "../api/parse-json.ts";
import { noSecrets } from "../api/repeated-secrets.ts";

/** Parses the JSON of an answer. Returns {} if it is not JSON. */
export function jsonOf(answer: Pick<EveReply, "body">): Readonly<Record<string, unknown>> {
  return parseJson(answer.body) ?? {};
}

/** Returns an answer in EVE-NG's form, with the time of the original answer. */
export function eveAnswer(
  of: Pick<EveReply, "headers" | "secrets"> | undefined,
  status: number,
  message: string,
  data?: unknown,
): EveReply {
  const body = { code: status, status: status < 300 ? "success" : "fail", message, ...(data !== undefined && { data }) };
  return { status, headers: of?.headers ?? {}, secrets: of?.secrets ?? noSecrets, body: Buffer.from(JSON.stringify(body)) };
}
