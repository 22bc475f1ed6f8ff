import { type ErrorCode, Failure } from "../../contract/errors.ts";
import { shortageOf } from "../../contract/shortage.ts";
import { hidden } from "../../engine/model/sensitive.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { JobError } from "../store/store.ts";

/** Fields of an answer that hold the whole intent. */
const texts: ReadonlySet<string> = new Set(["yaml", "files"]);
/** Fields of an answer, or of an error's data, that are lists of plan actions. */
const actions: ReadonlySet<string> = new Set(["actions", "operations", "blocked"]);
const sensitiveField = /^(env|attributes|labels|files|startup-config|exec|description|texts)(?![\w-])/;
/** Fields of an answer that are lists of rows with a message, which may quote a text of the intent. */
const messages: ReadonlySet<string> = new Set(["tests", "warnings", "nodes", "failures"]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the part of a change's answer that its job stores and shows. Everything that may contain a secret is left out: the intent's text and files,
 * the values of its free texts in plans, and the text after a word such as password in messages and names of tests.
 */
export function jobResult(result: unknown): unknown {
  return isFields(result) ? kept(result) : result;
}

/** Returns the names of the fields that jobResult leaves out of an answer. */
export function leftOut(operation: string, result: unknown): readonly string[] {
  if (!isFields(result)) return [];
  if (operation === "saveConfigs") return ["files"];
  const isIntent = operation === "importProject" || (operation === "reconcileProject" && result["direction"] === "from_host");
  return isIntent ? [...texts] : [];
}

/** A line of an intent, as showDiagnostics quotes it. */
const quotedLine = /^ *\d+ \| /m;

/** Redacts an error in the same way as jobResult: diagnostics keep their positions, but no line of the intent is shown. */
export function jobError({ code, error, data }: JobError): JobError {
  if (!isFields(data)) return { code, error, ...(data !== undefined && { data }) };
  const { diagnostics } = data;
  const quotes = code === "invalid_intent" && Array.isArray(diagnostics) && quotedLine.test(error);
  return { code, error: quotes ? showDiagnostics(diagnostics as readonly Diagnostic[], { yaml: "" }) : error, data: kept(data) };
}

/** Converts an error to the error answer of a failed change. */
export function errorOf(error: unknown): JobError {
  const failure = error instanceof Failure ? error : shortageOf(error);
  if (failure === undefined) return { code: "internal", error: "a defect of the service" };
  const { code, message, data } = failure;
  return { code, error: message, ...(data !== undefined && { data }) };
}

/** Converts the error answer back to a Failure. */
export function failureOf({ code, error, data }: JobError): Failure {
  return new Failure(code as ErrorCode, error, isFields(data) ? { data } : {});
}

function kept(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => !texts.has(name))
      .map(([name, value]) => {
        if (!Array.isArray(value)) return [name, value];
        return [name, actions.has(name) ? value.map(keptAction) : messages.has(name) ? value.map(keptRow) : value];
      }),
  );
}

function keptAction(action: unknown): unknown {
  if (!isFields(action) || !Array.isArray(action["changes"])) return action;
  return { ...action, changes: action["changes"].map(keptChange) };
}

function keptChange(change: unknown): unknown {
  if (!isFields(change) || !sensitiveField.test(String(change["field"]))) return change;
  return { ...change, before: hidden, after: hidden, sensitive: true };
}

function keptRow(row: unknown): unknown {
  if (!isFields(row)) return row;
  const { name, message } = row;
  return {
    ...row,
    ...(typeof name === "string" && { name: maskText(name) }),
    ...(typeof message === "string" && { message: maskText(message) }),
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
