import { Failure } from "../../contract/errors.ts";
import type { BytesAnswer, OperationId } from "../../contract/operations.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import type { ConsolesPart, EventsPart, HostLoadsPart, JobsPart, LookupParts, ObservationsPart, VersionPart } from "../context/parts.ts";
import type { JobNews } from "../events/watched-store.ts";
import type { HostLoads } from "../observe/host-load.ts";
import { hostMetrics } from "./host-metrics.ts";
import { processMetrics } from "./process-metrics.ts";
import { type Counter, type Histogram, Registry, type Sample } from "./registry.ts";

/** A request that the server has handled. */
export interface EndedRequest {
  /** Absent: the path or method does not belong to the API. */
  readonly operation?: OperationId | undefined;
  /** Absent: the client disconnected before the answer. */
  readonly status?: number | undefined;
  /** Time until the answer was sent. Absent for streams, which last as long as the client reads. */
  readonly ms?: number | undefined;
}

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const jobSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 300, 600, 1800];

/** A scrape waits this long for the host's load, ms. */
const loadPatienceMs = 3_000;

type MetricsParts = LookupParts & JobsPart & ObservationsPart & ConsolesPart & EventsPart & HostLoadsPart & VersionPart;

/** The service's metrics. Only the host's load is read: node states are the last read ones. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter;
  readonly #durations: Histogram;
  readonly #jobs: Counter;
  readonly #jobDurations: Histogram;
  readonly #loads: HostLoads;
  readonly #end: () => void;

  constructor(context: MetricsParts) {
    const registry = this.#registry;
    const { host, version, sessions, store, jobs, observations, consoles, events } = context;
    registry.read(
      "labwright_build_info",
      "1; the program, by version and kind of host.",
      () => [[[version, process.version, host.kind], 1]],
      {
        labels: ["version", "node", "host"],
      },
    );
    this.#requests = registry.counter("labwright_http_requests_total", "Requests, by operation and HTTP status.", ["operation", "status"]);
    this.#durations = registry.histogram(
      "labwright_http_request_duration_seconds",
      "How long requests took, without streams.",
      ["operation"],
      seconds,
    );
    registry.read("labwright_sessions", "Sessions that are neither ended nor expired.", () => sessions.count());
    registry.read("labwright_labs", "Managed labs, by mode.", () => counted(store.labs.list().map(({ mode }) => mode)), {
      labels: ["mode"],
    });
    registry.read(
      "labwright_nodes",
      "Nodes of managed labs by their last read state; labs whose state was never read are not counted.",
      () => {
        const seen = store.labs.list().flatMap(({ path }) => observations.lastSeen(path)?.nodes ?? []);
        return counted(seen.map(({ status }) => status));
      },
      { labels: ["status"] },
    );
    this.#jobs = registry.counter("labwright_jobs_total", "Changes that ended, by operation and outcome.", ["operation", "outcome"]);
    this.#jobDurations = registry.histogram("labwright_job_duration_seconds", "How long changes took.", ["operation"], jobSeconds);
    registry.read("labwright_jobs_running", "Changes that run now.", () => jobs.count);
    registry.read(
      "labwright_streams",
      "Open streams, by kind.",
      () => [
        [["console"], consoles.viewers],
        [["events"], events.streams],
      ],
      { labels: ["kind"] },
    );
    registry.read(
      "labwright_event_streams_dropped_total",
      "Event streams that were closed because their reader was too slow.",
      () => events.dropped,
      {
        type: "counter",
      },
    );
    this.#loads = context.hostLoads;
    hostMetrics(registry, this.#loads);
    this.#end = processMetrics(registry);
  }

  request({ operation, status, ms }: EndedRequest): void {
    this.#requests.add([operation ?? "none", status === undefined ? "aborted" : String(status)]);
    if (ms !== undefined) this.#durations.observe([operation ?? "none"], ms / 1000);
  }

  job({ operation, status, outcome, duration_ms }: JobNews): void {
    if (status === "running") return;
    this.#jobs.add([operation, outcome ?? status]);
    if (duration_ms !== undefined) this.#jobDurations.observe([operation], duration_ms / 1000);
  }

  /** Throws operation_not_allowed: the numbers are about all users' labs. */
  async answer(caller: Caller, host: () => Promise<HostSession>): Promise<BytesAnswer> {
    if (caller.role === "user") throw new Failure("operation_not_allowed", "metrics are for admins and viewers");
    await this.#loads.refresh(host, loadPatienceMs);
    return { mediaType: "text/plain; version=0.0.4; charset=utf-8", body: this.#registry.text() };
  }

  close(): void {
    this.#end();
  }
}

function counted(values: readonly string[]): Iterable<Sample> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort().map(([value, count]) => [[value], count] as const);
}
