import { Failure } from "../../contract/errors.ts";
import type { EventData, EventsQuery } from "../../contract/schemas/observe.ts";
import type { Host } from "../../hosts/host.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import type { Call, Caller } from "../common/call.ts";
import type { Clock } from "../common/clock.ts";
import { badRequest, labNotFound } from "../common/refusals.ts";
import type { Observations } from "../observe/observations.ts";
import { refuseElsewhere } from "../placement/refuse-elsewhere.ts";
import { recordFor } from "../sessions/record-for.ts";
import { reaches, rightOn } from "../sessions/rights.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { LabRecord, Store } from "../store/store.ts";
import type { Work } from "../work/work.ts";
import { type Audience, type Entry, EventLog, type News } from "./event-log.ts";
import { LiveWatch } from "./live-watch.ts";
import { Presence } from "./presence.ts";
import type { JobNews, RecordChange } from "./watched-store.ts";

export interface EventsLimits {
  /** Number of events kept for readers that reconnect. Default 4,096. */
  readonly history?: number;
  /** Longest silence on a stream, ms. Default 15,000. */
  readonly heartbeatMs?: number;
  /** Interval of reading labs while a reader is connected, ms. Default 750. */
  readonly intervalMs?: number;
}

export interface EventsParts {
  readonly host: Pick<Host, "holds">;
  readonly store: Store;
  readonly sessions: Sessions;
  readonly observations: Observations;
  readonly clock: Clock;
  readonly work: Work;
}

const types = ["node", "link", "lab", "job", "capture"] as const;
/** Only for readers that ask for it: a reader of a lab that does is itself shown to the others. */
const presenceType = "presence";
/** Event types that come from reading the host. */
const looked: ReadonlySet<string> = new Set(["node", "link", "lab"]);

/** Event streams of labs: changes from the journal, and states from the host while a reader is connected. */
export class Events {
  readonly #parts: EventsParts;
  readonly #log: EventLog;
  readonly #watch: LiveWatch;
  readonly #presence: Presence;
  readonly #heartbeatMs: number;

  constructor(parts: EventsParts, limits: EventsLimits = {}) {
    this.#parts = parts;
    this.#heartbeatMs = limits.heartbeatMs ?? 15_000;
    this.#log = new EventLog(parts.clock, limits.history ?? 4_096);
    this.#watch = new LiveWatch({
      ...parts,
      intervalMs: limits.intervalMs ?? 750,
      publish: (news, audience) => this.#log.publish(news, audience),
    });
    this.#presence = new Presence({
      recordOf: (lab) => parts.store.labs.get(lab),
      changed: (lab, users) => this.publish({ type: presenceType, lab, data: { users } }),
    });
  }

  /** Open streams. */
  get streams(): number {
    return this.#log.followers;
  }

  /** Streams that were ended because their reader was too slow. */
  get dropped(): number {
    return this.#log.dropped;
  }

  /** Publishes an event of a lab to users who have a right on the lab now, or to admins if it has no record. */
  publish(news: News): void {
    this.#log.publish(news, this.#parts.store.labs.get(news.lab));
  }

  /** Publishes an event of a lab to users who have a right on this record, also if the lab does not exist any more. */
  publishFor(news: News, record: LabRecord): void {
    this.#log.publish(news, record);
  }

  job({ lab, identity, owner, ...data }: JobNews): void {
    const record = this.#parts.store.labs.get(lab);
    // If the lab has no record yet, or no record any more, another lab may be at its path.
    const audience = record !== undefined && record.identity === identity ? record : { owner: owner ?? data.user };
    this.#log.publish({ type: "job", lab, data }, audience);
  }

  record(change: RecordChange, record: LabRecord): void {
    if (change === "created") this.#watch.created(record.path);
    if (change === "deleted") this.#watch.deleted(record.path);
    this.#log.publish({ type: "lab", lab: record.path, data: { change } }, record);
  }

  /** Throws bad_request, lab_not_found, and what hostSession throws. */
  async open(caller: Caller, query: EventsQuery, call: Pick<Call, "signal">): Promise<AsyncIterable<EventData>> {
    const { sessions } = this.#parts;
    const wanted = typesOf(query.types);
    const lab = await this.#lab(caller, query.lab);
    const ended = new AbortController();
    const end = () => ended.abort();
    const signal = AbortSignal.any([call.signal, ended.signal]);
    const listener = { caller, ...(lab !== undefined && { lab }), expired: end };
    const watches = [...wanted].some((type) => looked.has(type));
    const unwatch = watches ? await this.#watch.add(listener) : () => {};
    // After the first read: its results are new only for readers that reconnect.
    const from = this.#log.place(query.after);
    const forget = sessions.onEnd(caller.session, end);
    const leave = lab !== undefined && wanted.has(presenceType) ? this.#presence.enter(lab, caller) : () => {};
    const close = () => {
      leave();
      unwatch();
      forget();
    };
    // Needed if the stream is never read: a generator that was not started runs no finally block.
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
    const accepts = ({ event, audience }: Entry) =>
      wanted.has(event.type) && (lab === undefined || event.lab === lab) && sees(caller, event.lab, audience);
    const alive = () => sessions.alive(caller.session);
    return closing(this.#log.follow({ from, accepts, alive, heartbeatMs: this.#heartbeatMs, signal }), end);
  }

  close(): void {
    this.#watch.close();
  }

  async #lab(caller: Caller, lab: string | undefined): Promise<string | undefined> {
    const host = await this.#parts.sessions.hostSession(caller);
    if (lab === undefined) return undefined;
    const checked = checkLabPath(lab);
    if ("problem" in checked) throw badRequest("/lab", checked.problem);
    const { path } = checked;
    await refuseElsewhere(this.#parts, path, (known) => (rightOn(known, caller) === undefined ? labNotFound(path) : undefined));
    const record = recordFor(this.#parts, caller, path);
    if (record === undefined && !(await host.labs()).includes(path)) throw labNotFound(path);
    return path;
  }
}

function sees(caller: Caller, lab: string | undefined, audience: Audience): boolean {
  if (lab !== undefined && !reaches(caller, lab)) return false;
  if (audience === undefined) return caller.role === "admin";
  return "only" in audience ? audience.only === caller.user : rightOn({ path: lab ?? "", ...audience }, caller) !== undefined;
}

function typesOf(text: string | undefined): ReadonlySet<string> {
  if (text === undefined || text === "") return new Set(types);
  const names = text.split(",").map((name) => name.trim());
  const all: readonly string[] = [...types, presenceType];
  const unknown = names.find((name) => !all.includes(name));
  if (unknown === undefined) return new Set(names);
  throw new Failure("bad_request", `types: ${JSON.stringify(unknown)} is none of ${all.join(", ")}`, {
    data: { problems: [{ path: "/types", message: `${JSON.stringify(unknown)} is none of ${all.join(", ")}` }] },
  });
}

/** Yields the same items. Calls `end` when they end, or when the reader leaves. */
function closing<T>(items: AsyncGenerator<T, void, undefined>, end: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const result = await items.next();
        if (result.done) end();
        return result;
      },
      return: async () => {
        end();
        return items.return();
      },
    }),
  };
}
