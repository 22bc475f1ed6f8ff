import { type ErrorCode, Failure } from "../../contract/errors.ts";
import { shortageOf } from "../../contract/shortage.ts";

export interface FailureEnvelope {
  readonly ok: false;
  readonly error: string;
  readonly code: ErrorCode;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Problem {
  /** JSON pointer into the body or the query. */
  readonly path: string;
  readonly message: string;
}

const problemLimit = 100;

/** Maximum characters of texts that may quote the request, which may be megabytes. */
const maxCharacters = { error: 262_144, problem: 1_000 } as const;

export function failureEnvelope(code: ErrorCode, error: string, data?: Readonly<Record<string, unknown>>): FailureEnvelope {
  return { ok: false, error: clipped(error, maxCharacters.error), code, ...(data === undefined ? {} : { data: withShortProblems(data) }) };
}

function withShortProblems(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(data.problems)) return data;
  const problems = (data.problems as readonly Problem[]).slice(0, problemLimit).map((problem) => ({
    ...problem,
    path: clipped(problem.path, maxCharacters.problem),
    message: clipped(problem.message, maxCharacters.problem),
  }));
  return { ...data, problems };
}

function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** Returns a bad_request that lists every problem, up to a hundred. */
export function badRequest(problems: readonly Problem[]): Failure {
  const text = problems
    .slice(0, 3)
    .map(({ path, message }) => (path === "" ? message : `${path} ${message}`))
    .join("; ");
  return new Failure("bad_request", problems.length > 3 ? `${text}; and ${problems.length - 3} more` : text, {
    data: { problems: problems.slice(0, problemLimit) },
  });
}

/** Converts an error of a handler, of the framework or of a defect to the failure that the caller gets. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure && error.status !== 0) return error;
  if (isFrameworkError(error)) {
    if (error.validation !== undefined) return validationFailure(error.validation);
    if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
      return badRequest([{ path: "", message: error.code === "FST_ERR_BAD_URL" ? "the URL is malformed" : "the request is malformed" }]);
    }
  }
  const shortage = shortageOf(error);
  if (shortage !== undefined) return shortage;
  return new Failure("internal", "internal error", { cause: error });
}

/** Returns a failure for the log: with its stack and the host's message. The other data is left out, because it may contain console output. */
export function loggedFailure(failure: Failure): object {
  const stacks: string[] = [];
  for (let error: unknown = failure; error instanceof Error && stacks.length < 10; error = error.cause)
    stacks.push(error.stack ?? String(error));
  const host = failure.data?.host;
  return { type: failure.name, message: failure.message, stack: stacks.join("\ncaused by: "), ...(host !== undefined && { host }) };
}

interface FrameworkError {
  readonly code: string;
  readonly statusCode?: number;
  readonly validation?: readonly ValidationProblem[];
}

interface ValidationProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

function isFrameworkError(error: unknown): error is FrameworkError {
  return error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("FST_ERR_");
}

function validationFailure(found: readonly ValidationProblem[]): Failure {
  const unknown = found.filter(({ keyword }) => keyword === "additionalProperties");
  const problems = found.map(problemOf);
  if (unknown.length === 0) return badRequest(problems);
  const names = unknown.map(({ params }) => JSON.stringify(params.additionalProperty)).join(", ");
  return new Failure("unknown_field", `unknown field ${names}`, { data: { problems: problems.slice(0, problemLimit) } });
}

function problemOf({ keyword, instancePath, params, message }: ValidationProblem): Problem {
  switch (keyword) {
    case "required":
      return { path: `${instancePath}/${pointerWord(String(params.missingProperty))}`, message: "is required" };
    case "additionalProperties":
      return { path: `${instancePath}/${pointerWord(String(params.additionalProperty))}`, message: "is unknown" };
    case "enum":
      return { path: instancePath, message: `must be one of ${(params.allowedValues as readonly unknown[]).join(", ")}` };
    case "maxLength":
      return { path: instancePath, message: `has more than ${counted(params.limit, "character")}: shorten it` };
    case "minLength":
      return { path: instancePath, message: `needs at least ${counted(params.limit, "character")}` };
    case "maxItems":
      return { path: instancePath, message: `has more than ${counted(params.limit, "item")}: send fewer` };
    case "minItems":
      return { path: instancePath, message: `needs at least ${counted(params.limit, "item")}` };
    default:
      return { path: instancePath, message: message ?? `breaks ${keyword}` };
  }
}

function counted(count: unknown, noun: string): string {
  return `${String(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function pointerWord(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
