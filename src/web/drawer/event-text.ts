import { exitCodeText } from "../../base/names/exit-code.ts";
import type { EventData } from "../../contract/schemas/observe.ts";
import { operationText } from "../service/operation-text.ts";

/** An event of a lab as a line of the log. */
export interface LogLine {
  readonly id: string;
  readonly at: string;
  /** The node, the link or the lab that changed. */
  readonly what: string;
  readonly text: string;
  readonly isProblem: boolean;
}

type Data = Readonly<Record<string, unknown>>;

/** Returns the line of an event; undefined for events that are not shown: heartbeats, and the single steps of a job. */
export function logLine({ id, at, type, data }: EventData): LogLine | undefined {
  const fields = (data ?? {}) as Data;
  const line = (what: string, text: string, isProblem = false): LogLine => ({ id, at, what, text, isProblem });
  switch (type) {
    case "node":
      return nodeLine(fields, line);
    case "link":
      return line(textOf(fields["link"]), "link changed: its quality, or a suspended interface");
    case "lab":
      return line("lab", labText(fields), fields["lease"] === "failed");
    case "job":
      return jobLine(fields, line);
    case "capture":
      return line(
        `${textOf(fields["node"])}:${textOf(fields["interface"])}`,
        `capture ${textOf(fields["status"])}`,
        fields["status"] === "failed",
      );
    case "gap":
      return line("lab", "events may be missing before this line: the connection was lost");
    default:
      return undefined;
  }
}

type Line = (what: string, text: string, isProblem?: boolean) => LogLine;

function nodeLine(fields: Data, line: Line): LogLine {
  const { status, ready, forced, exit_code: exit, removed } = fields;
  const parts = [
    removed === true ? "deleted" : textOf(status),
    status === "running" && ready === true ? "ready" : "",
    status === "running" && ready === false ? "not ready yet" : "",
    forced === true ? "did not stop in time and was switched off" : "",
    typeof exit === "number" ? exitCodeText(exit) : "",
    fields["disk_full"] === true ? "its disk is full" : "",
    ...(Array.isArray(fields["closed_ports"]) ? fields["closed_ports"].map(textOf) : []),
  ].filter(Boolean);
  return line(
    textOf(fields["unique_key"] ?? fields["node"] ?? fields["name"]),
    parts.join(", "),
    status === "failed" || fields["disk_full"] === true || fields["closed_ports"] !== undefined,
  );
}

function labText(data: Data): string {
  const { change, live, resume, lease } = data;
  if (lease !== undefined) return leaseEventText(data);
  if (change !== undefined) return textOf(change);
  if (live !== undefined) return live === "available" ? "its state can be read again" : `its state is ${textOf(live)}`;
  return resume === undefined ? "changed" : `restore: ${textOf(resume)}`;
}

function leaseEventText({ lease, at_end: end, ends_at: endsAt, reason, code }: Data): string {
  const isDestroyed = end === "destroy";
  if (lease === "ended") return `the lease has ended: ${isDestroyed ? "the lab is destroyed" : "its nodes are stopped"}`;
  if (lease === "failed") return `the lease could not be ended, and the service tries it again: ${textOf(code)}`;
  const when = typeof endsAt === "string" ? new Date(endsAt).toLocaleTimeString(undefined, { timeStyle: "short" }) : "soon";
  const unless = reason === "idle" ? ", unless the lab is used" : "";
  return `the lease ends ${when}: the lab ${isDestroyed ? "is destroyed" : "stops"} then${unless}`;
}

function jobLine({ operation, user, outcome, error }: Data, line: Line): LogLine | undefined {
  if (outcome === undefined) return undefined;
  const why = typeof error === "object" && error !== null ? `: ${textOf((error as Data)["error"])}` : "";
  const succeeded = outcome === "finished" || outcome === "finished_after_restart";
  return line(operationText(textOf(operation)), `${textOf(outcome).replaceAll("_", " ")}, by ${textOf(user)}${why}`, !succeeded);
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}
