import { Failure } from "../../../contract/errors.ts";
import type { EveReply } from "./eve-call.ts";
import { withoutPaths } from "./hidden-paths.ts";
import { hostFailure } from "./host-failure.ts";
import { parseJson } from "./parse-json.ts";
import { type SentSecrets, withoutSecrets } from "./repeated-secrets.ts";
import { cut } from "./short-text.ts";

/** An answer of the REST interface, parsed as far as possible. */
export interface EveAnswer {
  /** HTTP status. */
  readonly status: number;
  /** The number at the end of the message, which alone identifies the outcome: "Lab has been saved (60023)." Absent if there is none. */
  readonly code?: number;
  /** The host's message, without paths of files on the host and without the secrets of the request. */
  readonly message: string;
  /** The message with such paths, if it has any: for the log. */
  readonly words?: string;
  readonly data?: unknown;
  /** The status word of the envelope: success, fail, unauthorized … */
  readonly word?: string;
  /** An error page instead of an envelope: the host failed during the call, and its outcome is not known. */
  readonly broken: boolean;
  /** The host's clock, ms; absent if it is not reported. */
  readonly time?: number;
  /** The lab's file, if the call was about a lab: /courses/bgp-1.unl */
  readonly file?: string;
}

/**
 * Parses the envelope. An answer that is not a JSON object is `broken` if its status is 500 or more, otherwise text. Throws host_error for JSON that
 * no host sends.
 */
export function readAnswer({ status, headers, body, secrets }: EveReply): EveAnswer {
  const date = headers.date === undefined ? Number.NaN : Date.parse(headers.date);
  const time = Number.isNaN(date) ? {} : { time: date };
  const json = parseJson(body);
  if (json === undefined) {
    return { status, ...messageOf(pageMessage(status, body.toString("utf8")), secrets), broken: status >= 500, ...time };
  }
  const { message: said, code: number, status: word, data, result } = json;
  // Only envelopes have a word; the list of icons is bare.
  if (typeof word !== "string") return { status, message: "", data: json, broken: status >= 500, ...time };
  const message = typeof said === "string" ? said : "";
  // A broken lab is identified only by the number of the message.
  const code = /\((\d+)\)\.?\s*$/.exec(message)?.[1] ?? /^(\d{5})$/.exec(message)?.[1];
  const envelope = typeof number === "string" || typeof number === "number" ? Number(number) : status;
  return {
    status: status === 200 && Number.isInteger(envelope) && envelope >= 400 ? envelope : status,
    ...(code !== undefined && { code: Number(code) }),
    ...messageOf(message, secrets),
    data: data ?? result,
    word,
    broken: false,
    ...time,
  };
}

/** Maximum characters of a message of the host. Its own messages are sentences; an error page may contain a whole file. */
const maxMessage = 1_000;

/** Joined to one line: text of the host must not look like lines of Labwright. */
export function messageOf(raw: string, secrets: SentSecrets): Pick<EveAnswer, "message" | "words"> {
  const words = withoutSecrets(raw, secrets);
  const lines = withoutPaths(words)
    .trim()
    .replace(/\s*[\r\n]\s*/g, " ");
  const message = cut(lines, maxMessage);
  return message === words ? { message } : { message, words };
}

/** PHP writes an empty map as [], one with the keys 0, 1 … as a list, and any other as an object: returns the entries in each case. */
export function entriesOf(data: unknown): readonly (readonly [key: string, value: unknown])[] {
  return typeof data === "object" && data !== null ? Object.entries(data) : [];
}

/** Returns the entries of a required list. Throws host_error for anything else, so that an invalid answer does not count as an empty list. */
export function listOf(data: unknown, doing: string): readonly (readonly [key: string, value: unknown])[] {
  if (typeof data !== "object" || data === null) throw hostFailure(`${doing}: the host answered something that is not a list`);
  return Object.entries(data);
}

export function recordOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as Readonly<Record<string, unknown>>) : {};
}

/** Returns a number from a number or its text, `undefined` for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** Returns the failure of a step with the host's own message. Only its cause, which is only logged, contains paths of the host's files. */
export function hostError(doing: string, answer: EveAnswer): Failure {
  const { code, message, status, broken, words, file = "<lab>.unl" } = answer;
  const host = { ...(code !== undefined && { code }), message: message || `HTTP ${status}`, status };
  const more = { data: { host }, ...(words !== undefined && { cause: new Error(words) }) };
  if (code === fileLocked)
    return new Failure("host_error", `${doing}: ${fileLockedText(file)}`, { ...more, data: { host, retryable: true } });
  if (code === 60000) return new Failure("lab_not_found", `${doing}: ${message}`, more);
  if (code === 20024) return new Failure("node_not_found", `${doing}: ${message}`, more);
  if (code === 90032) return new Failure("operation_not_allowed", `${doing}: the host does not allow this user to do it`, more);
  const broke = broken ? "; the host failed during its work, so it is not known what it has done" : "";
  return new Failure("host_error", `${doing}: ${host.message}${broke}`, more);
}

/** Another write has locked the lab's file, or a crashed one has left its lock. */
export const fileLocked = 60061;

function fileLockedText(file: string): string {
  return (
    "the host could not lock the lab's file for 25 s. Another change may be in progress. If the error stays, a change that died has left its lock behind, " +
    `and every change of this lab fails until an administrator of the host removes the file /opt/unetlab/labs/${file.replace(/^\//, "")}.lock`
  );
}

/** Returns the cause in a Slim error page, in one line. */
function pageMessage(status: number, text: string): string {
  const message = /<strong>Message:<\/strong>\s*([^<]*)/.exec(text)?.[1]?.trim();
  const file = /<strong>File:<\/strong>\s*([^<]*)/.exec(text)?.[1]?.trim();
  if (message !== undefined) return file === undefined ? message : `${message} in ${file}`;
  const title = /<title>([^<]*)<\/title>/.exec(text)?.[1]?.trim();
  if (status < 300) {
    const page = title === undefined ? "" : ` but a page "${cut(title, 60)}"`;
    return `the answer was not JSON${page}: check that the service's --host-url is the address of EVE-NG or PNETLab itself, and that no proxy or sign-in page answers in its place`;
  }
  return title ?? `HTTP ${status}${text.trim() === "" ? " without an answer" : ""}`;
}
