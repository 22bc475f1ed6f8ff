import { exitCodeText } from "../../base/names/exit-code.ts";
import type { ResultOf, Stream } from "../../client/index.ts";
import { changeName } from "./show-job.ts";
import type { Paint, Style } from "./terminal.ts";

export type LabEvent = ResultOf<"events"> extends Stream<infer Item> ? Item : never;
type Data = Readonly<Record<string, unknown>>;

/** Returns one line with time, lab and event. */
export function showEvent(paint: Paint, event: LabEvent): string {
  const at = new Date(event.at);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  const data = typeof event.data === "object" && event.data !== null ? (event.data as Data) : {};
  return [paint("dim", time), ...(event.lab === undefined ? [] : [event.lab]), what(paint, event.type, data)].join("  ");
}

function what(paint: Paint, type: LabEvent["type"], data: Data): string {
  switch (type) {
    case "node":
      return `node ${nodeText(data)}: ${nodeState(paint, data)}`;
    case "link":
      return `link ${text(data.link ?? data.id)}: ${sides(data)}`;
    case "job":
      return `${changeName(text(data.operation))} by ${text(data.user)}: ${jobState(paint, data)}`;
    case "lab":
      return data.lease === undefined
        ? `lab ${text(data.change ?? (data.live === "available" ? "answers again" : `is ${text(data.live)}`))}`
        : `lease ${leaseText(paint, data)}`;
    case "presence":
      return `here: ${Array.isArray(data.users) ? data.users.map(text).join(", ") : "-"}`;
    case "gap":
      return paint("yellow", "events were lost: check the status");
    default:
      return `${type} ${JSON.stringify(data)}`;
  }
}

/** Returns a node's key, and its name on the host if it is another one. */
function nodeText({ unique_key, node, name }: Data): string {
  const key = text(unique_key ?? node ?? name);
  return name === undefined || name === key ? key : `${key} (${text(name)})`;
}

const styles: Readonly<Record<string, Style>> = { running: "green", stopped: "dim", failed: "red" };

function nodeState(paint: Paint, { status, previous, removed, ready, exit_code, forced, disk_full, closed_ports }: Data): string {
  if (removed === true) return "removed";
  const more = [
    ...(previous === undefined || previous === status ? [] : [`was ${text(previous)}`]),
    ...(ready === undefined ? [] : [ready === true ? "ready" : "not ready"]),
    ...(forced === true ? ["switched off: it did not shut down in time"] : []),
    ...(disk_full === true ? ["its disk is over the limit"] : []),
    ...(Array.isArray(closed_ports) ? closed_ports.map(text) : []),
    ...(exit_code === undefined ? [] : [typeof exit_code === "number" ? exitCodeText(exit_code) : `exit code ${text(exit_code)}`]),
  ];
  const word = text(status);
  return paint(styles[word] ?? "yellow", word) + (more.length > 0 ? ` (${more.join(", ")})` : "");
}

function jobState(paint: Paint, { status, step, steps, outcome, error }: Data): string {
  if (status === "running") return steps === 0 ? "begins" : `step ${text(step)} of ${text(steps)}`;
  if (status === "done") return paint("green", outcome === "finished" ? "done" : `done (${text(outcome)})`);
  const why = typeof error === "object" && error !== null ? (error as Data) : {};
  return paint("red", text(outcome ?? status)) + (why.code === undefined ? "" : ` (${text(why.code)}): ${text(why.error)}`);
}

function leaseText(paint: Paint, { lease, at_end, reason, ends_at, code }: Data): string {
  const what = at_end === "destroy" ? "destroyed" : "stopped";
  if (lease === "warning") {
    const why = reason === "idle" ? ", unless the lab is used" : "";
    return paint(
      "yellow",
      `ends at ${new Date(text(ends_at)).toLocaleTimeString()}: the lab is ${what} then${why}; labwright lease extend`,
    );
  }
  if (lease === "ended") return `has ended: the lab is ${what}`;
  if (lease === "failed") return paint("red", `could not end (${text(code)}): the lab runs on`);
  return text(lease);
}

function sides(data: Data): string {
  const shown = (["a", "b"] as const).flatMap((side) => {
    const quality = data[side];
    if (typeof quality !== "object" || quality === null) return [];
    const { delay, jitter, loss, bandwidth } = quality as Data;
    const parts = [delay && `${delay} ms`, jitter && `±${jitter} ms`, loss && `${loss} % loss`, bandwidth && `${bandwidth} kbit/s`];
    return [`${side} ${parts.filter(Boolean).join(" ")}`];
  });
  return shown.length === 0 ? "no impairments" : shown.join(", ");
}

function text(value: unknown): string {
  return String(value ?? "");
}
