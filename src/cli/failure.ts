import { LabwrightError, showFingerprint } from "../client/index.ts";
import type { Diagnostic } from "../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../intent/diagnostics/show.ts";
import { env } from "./command/environment.ts";
import type { ProjectFile } from "./command/project.ts";
import { UsageError } from "./command/usage-error.ts";
import { fileFailure } from "./project-files/file-failure.ts";
import { changeName, changeProgress, warningsOf } from "./show/show-job.ts";
import { shortList } from "./show/table.ts";
import type { Terminal } from "./show/terminal.ts";

/** The hint for each error code. */
const hints: Readonly<Record<string, string>> = {
  unauthenticated: "labwright login",
  expired_agent_session: "labwright login",
  expired_host_session: "labwright login",
  invalid_credentials: "check the user name and the password; LABWRIGHT_PASSWORD is used if it is set",
  lab_exists: "labwright apply changes it; labwright deploy --replace deletes and recreates it",
  plan_stale: "the lab has changed since the plan was made: check the new plan with labwright plan",
  lab_busy: "labwright status shows the running change; try again when it has ended",
  lab_locked: "labwright unlock clears the lock, then try again",
  lab_locked_mid_apply: "part of the change is done: labwright unlock clears the lock, then labwright apply does the rest",
  lab_not_found: "labwright labs lists your labs; labwright deploy creates one",
  node_not_found: "labwright status names the nodes",
  link_not_found: "labwright inspect shows each interface with its peer",
  capture_not_found: "labwright captures lists them",
  disks_not_found: "labwright disks lists them",
  job_not_found: "labwright jobs lists them",
  template_not_found: "labwright templates lists them",
  console_in_use: "another command runs on this console: try again, or open it with labwright console",
  console_timeout: "--timeout SECONDS gives it more time; labwright console shows the node's output",
  operation_not_allowed: "labwright labs shows each lab's owner and mode, labwright grants the rights of other users",
  tls_required: "use an https:// address",
};

/** Writes an error: `error: text (code)`, diagnostics with their place, and a hint. */
export function showError(terminal: Terminal, thrown: unknown, file?: ProjectFile): void {
  const error = fileFailure(thrown);
  const write = terminal.complain;
  const head = terminal.paint("red", "error:");
  if (error instanceof UsageError) {
    write(`${head} ${error.message}`);
    if (error.hint !== undefined) write(`  hint: ${error.hint}`);
    return;
  }
  if (!(error instanceof LabwrightError)) {
    write(`${head} ${error instanceof Error ? error.message : String(error)}`);
    return;
  }
  const diagnostics = diagnosticsOf(error);
  if (diagnostics.length > 0 && file !== undefined) write(showDiagnostics(diagnostics, file));
  else for (const { path, message } of diagnostics) if (!error.message.includes(message)) write(`  ${path}: ${message}`);
  write(`${head} ${messageOf(error, diagnostics, file)}${error.code === undefined ? "" : ` (${error.code})`}`);
  for (const detail of details(error)) write(`  ${detail}`);
  const hint = hintFor(error);
  if (hint !== undefined) write(`  hint: ${hint}`);
}

function diagnosticsOf(error: LabwrightError): readonly Diagnostic[] {
  const list = error.data?.diagnostics;
  return error.code === "invalid_intent" && Array.isArray(list) ? (list as Diagnostic[]) : [];
}

/** Returns the message for the command line. The service's message contains all problems of a file. They are shown with their lines already, so that the message only counts them. */
function messageOf(error: LabwrightError, diagnostics: readonly Diagnostic[], file: ProjectFile | undefined): string {
  if (error.code === "unauthenticated")
    return env("LABWRIGHT_TOKEN") !== undefined
      ? "the token in LABWRIGHT_TOKEN is not valid: it has expired, or it was revoked"
      : "you are not signed in";
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  if (errors === 0 || file === undefined || error.status === 0) return error.message;
  return `${file.name} has ${errors} error${errors === 1 ? "" : "s"}; nothing was changed`;
}

function details(error: LabwrightError): readonly string[] {
  const lines: string[] = [];
  for (const { path, message } of problemsOf(error)) if (!error.message.includes(message)) lines.push(`${path}: ${message}`);
  for (const [word, label] of [
    ["applied", "done"],
    ["failed", "failed"],
    ["remaining", "not done"],
  ] as const) {
    const value = error.data?.[word];
    if (value === undefined) continue;
    const steps = Array.isArray(value) ? value : [value];
    const shown = shortList(steps.map(nameOfStep).filter((name) => name !== ""));
    if (shown !== "") lines.push(`${label}${steps.length > 1 ? ` (${steps.length})` : ""}: ${shown}`);
    // The reason of the first failed step is the error itself.
    if (word === "failed") lines.push(...steps.slice(1, maxReasons).flatMap(reasonOf));
  }
  lines.push(...warningsOf(error.data).map((text) => `warning: ${text}`));
  const output = error.data?.output;
  if (typeof output === "string" && output.trim() !== "") lines.push(...output.trimEnd().split(/\r?\n/));
  return lines;
}

/** Returns the fields of a request that the service refused. */
function problemsOf({ data }: LabwrightError): readonly { readonly path: string; readonly message: string }[] {
  return Array.isArray(data?.problems) ? (data.problems as { path: string; message: string }[]) : [];
}

/** The maximum of failed steps with a reason. */
const maxReasons = 10;

function reasonOf(step: unknown): readonly string[] {
  const { message } = (typeof step === "object" && step !== null ? step : {}) as { readonly message?: unknown };
  if (typeof message !== "string") return [];
  const name = `${nameOfStep(step)}: `;
  return [message.startsWith(name) ? message : name + message];
}

function nameOfStep(step: unknown): string {
  if (typeof step !== "object" || step === null) return String(step);
  const { id, op, kind, key } = step as Readonly<Record<string, unknown>>;
  return op === undefined ? String(id ?? key ?? "") : `${op} ${kind} ${key}`;
}

/** After a failed change, a plan shows the remaining steps. A failed read has no steps. */
function hostErrorHint({ data }: LabwrightError): string {
  const isChange = ["applied", "failed", "remaining"].some((word) => data?.[word] !== undefined);
  return isChange ? "labwright plan shows the remaining changes" : "try again; if the error stays, look at the host itself";
}

function hintFor(error: LabwrightError): string | undefined {
  const own = error.data?.hint;
  if (typeof own === "string") return own;
  if (error.code === "unauthenticated" && env("LABWRIGHT_TOKEN") !== undefined)
    return "labwright token create makes a new one, where you are signed in with a password";
  if (error.code === "lab_not_found" && typeof error.data?.path === "string")
    return "labwright labs lists your labs; --lab PATH names another path";
  const fingerprint = error.data?.fingerprint;
  const shown = typeof fingerprint === "string" ? showFingerprint(fingerprint) : "SHA256";
  // An error with a status is the service's error about its host, and contains its own hint.
  const ours = error.status === 0;
  if (ours && error.code === "tls_untrusted")
    return `compare the fingerprint with the one that labwright serve prints, then add --pin ${shown}`;

  if (ours && error.code === "tls_pin_mismatch")
    return `compare the shown fingerprint with the one that labwright serve prints; if the service has a new certificate: labwright login --pin ${shown}`;
  if (error.code === "host_error") return hostErrorHint(error);
  if (error.code === "rate_limited") return `try again in ${error.retryAfter ?? "some"} s`;
  if (error.status === 0 && error.code === "host_unreachable")
    return "is the service running? labwright serve, or labwright up, starts one on this machine";
  if (error.status === 0 && error.code === "host_timeout")
    return "the service may be busy or blocked: check its log; --timeout SECONDS of some commands waits longer";
  const isHostAway = error.code === "host_unreachable" || error.code === "host_timeout";
  if (isHostAway && Array.isArray(error.data?.remaining))
    return "the service answers, its emulation host did not: when the host is available again, labwright plan shows the remaining changes";
  if (isHostAway) return "the service answers, its emulation host does not: check the service's log";
  if (error.status >= 500 && error.requestId !== undefined && error.code === "internal")
    return `the service's log contains the details: search for ${error.requestId}`;
  if (error.code === "lab_busy") {
    const operation = error.data?.operation as { name?: string; user?: string; step?: number; steps?: number } | undefined;
    if (operation?.name !== undefined)
      return `${changeName(operation.name)} by ${operation.user} ${changeProgress(operation.steps ?? 0, operation.step ?? 0)}; try again when it has ended`;
  }
  if (error.code === "node_not_running") {
    const { node = "NAME", power, log } = error.data ?? {};
    const start = `labwright start ${node} starts it`;
    if (log === false) return start;
    return power === "failed"
      ? `labwright logs ${node} shows why it failed; ${start} again`
      : `${start}; labwright logs ${node} shows its last output`;
  }
  if (error.code === "bad_request" && problemsOf(error).some(({ path }) => path === "/yaml"))
    return "-t FILE names the lab's file; for a lab without one, labwright adopt makes it managed and labwright pull writes its file";
  const feature = error.data?.feature;
  if (error.code === "unsupported" && feature === "webUi")
    return "this service was started without its web pages: in a checkout, npm run web builds them; then restart the service";
  return error.code === undefined ? undefined : hints[error.code];
}
