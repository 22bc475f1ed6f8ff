import { Failure } from "../../contract/errors.ts";
import { nodeKeys } from "../../engine/compare/join.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { RecentMap } from "../common/recent-map.ts";
import type { Observations } from "../observe/observations.ts";
import { rightOn } from "../sessions/rights.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { type LabRecord, labsHere, type Store } from "../store/store.ts";
import { type Intent, recordedIntent } from "../work/intents.ts";
import type { Work } from "../work/work.ts";
import type { Audience, News } from "./event-log.ts";
import { changesBetween, emptyView, type LabChange, type LabView, viewOf } from "./lab-view.ts";

export interface Listener {
  readonly caller: Caller;
  /** Only this lab; absent: every managed lab that the caller may see. */
  readonly lab?: string;
  /** The host has no session for this caller any more: the listener must log in again. */
  readonly expired: () => void;
}

interface WatchedLab {
  /** Key of its view: the path, with the listener's user if the lab has no record. */
  readonly key: string;
  readonly path: string;
  readonly listener: Listener;
}

export interface LiveWatchOptions {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly observations: Observations;
  readonly work: Work;
  readonly publish: (news: News, audience: Audience) => void;
  readonly intervalMs: number;
}

/** Number of labs read in parallel. */
const parallel = 8;
/** Maximum time that a new reader waits for the first read of its labs, ms. */
const firstReadMs = 2_000;

/**
 * Reports changes on the host while a reader is connected. Each lab is read once per interval; status polls share these reads. The last
 * state is kept when the last reader leaves, so that a reader that reconnects gets the changes in between.
 */
export class LiveWatch {
  readonly #options: LiveWatchOptions;
  readonly #listeners = new Set<Listener>();
  readonly #views = new RecentMap<LabView>(1_000);
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: LiveWatchOptions) {
    this.#options = options;
  }

  /** Starts watching. Resolves after the first read: every later change is reported. Returns the function that stops it. */
  async add(listener: Listener): Promise<() => void> {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#look(), this.#options.intervalMs).unref();
    // A running read may not include this listener's labs.
    await within(firstReadMs, this.#reading);
    await within(firstReadMs, this.#look());
    return () => this.#remove(listener);
  }

  /** Starts with an empty view for a new lab, so that everything created in it is reported as a change. */
  created(path: string): void {
    this.#views.set(path, emptyView);
  }

  deleted(path: string): void {
    this.#views.delete(path);
  }

  close(): void {
    this.#listeners.clear();
    clearInterval(this.#timer);
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** One read at a time, so that a slow host gets no additional load. */
  #look(): Promise<void> {
    this.#reading ??= this.#lookAll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #lookAll(): Promise<void> {
    const labs = [...this.#watched().values()];
    const next = async () => {
      for (let lab = labs.shift(); lab !== undefined; lab = labs.shift()) await this.#lookAt(lab);
    };
    await Promise.all(Array.from({ length: Math.min(parallel, labs.length) }, next));
  }

  /** Each lab with the first reader who may see it. A lab without a record is read once per user, because the host may show different content to each. */
  #watched(): ReadonlyMap<string, WatchedLab> {
    const { store } = this.#options;
    const watched = new Map<string, WatchedLab>();
    const records = [...this.#listeners].some(({ lab }) => lab === undefined) ? labsHere(store) : [];
    for (const listener of this.#listeners) {
      const { caller, lab } = listener;
      const paths = lab === undefined ? records.filter((record) => rightOn(record, caller) !== undefined).map(({ path }) => path) : [lab];
      for (const path of paths) {
        const key = store.labs.get(path) === undefined ? `${path}\0${caller.user}` : path;
        if (!watched.has(key)) watched.set(key, { key, path, listener });
      }
    }
    return watched;
  }

  async #lookAt({ key, path, listener }: WatchedLab): Promise<void> {
    const { store, sessions, observations, publish } = this.#options;
    const { caller } = listener;
    let host: HostSession;
    try {
      host = await sessions.hostSessionFor(caller, store.labs.get(path)?.owner);
    } catch (error) {
      if (error instanceof Failure && error.code === "expired_host_session") {
        this.#remove(listener);
        listener.expired();
      }
      return;
    }
    const known = this.#views.get(key);
    const read = await observations.status(host, path).then(viewOf, (error: unknown): LabView | undefined => {
      if (error instanceof Failure && error.code === "expired_host_session") {
        sessions.forgetHostSession(caller);
        return undefined;
      }
      const absent = error instanceof Failure && error.code === "lab_not_found";
      if (absent) return { live: "absent", nodes: new Map(), links: new Map() };
      return { live: "unavailable", nodes: known?.nodes ?? new Map(), links: known?.links ?? new Map() };
    });
    // During this read the lab may have been deleted or recreated.
    if (read === undefined || this.#views.get(key) !== known) return;
    const changes = known === undefined ? [] : changesBetween(known, read);
    const record = store.labs.get(path);
    const intent = changes.some(({ of }) => of === "node") ? await this.#intentOf(record) : undefined;
    if (this.#views.get(key) !== known) return;
    this.#views.set(key, read);
    if (known === undefined || changes.length === 0) return;
    const audience = key === path ? record : { only: caller.user };
    const keys = keysOf(known, read, record, intent);
    for (const change of changes) publish(newsOf(path, change, { record, intent, keys }), audience);
  }

  async #intentOf(record: LabRecord | undefined): Promise<Intent | undefined> {
    try {
      return await recordedIntent(this.#options, record);
    } catch (error) {
      // Too many intents wait to be parsed. An event without the node's key is better than none.
      if (error instanceof Failure) return undefined;
      throw error;
    }
  }
}

interface Names {
  readonly record: LabRecord | undefined;
  readonly intent: Intent | undefined;
  /** Keys of the nodes by their native ids. */
  readonly keys: ReadonlyMap<string, string>;
}

function newsOf(lab: string, change: LabChange, { record, intent, keys }: Names): News {
  if (change.of === "live") return { type: "lab", lab, data: { live: change.live } };
  if (change.of === "link") {
    const { id, now } = change;
    const { a, b } = now ?? {};
    const data = { id, link: keyOf(record?.ids.links, id), ...(a !== undefined && { a }), ...(b !== undefined && { b }) };
    return { type: "link", lab, data };
  }
  const { before, now } = change;
  const { id, name } = (now ?? before)!;
  const key = keys.get(id) ?? name;
  const isJoined = intent === undefined ? record?.ids.nodes[key] === id : intent.lab.nodes.some((node) => node.key === key);
  const data = {
    id,
    node: isJoined ? key : null,
    unique_key: key,
    name,
    ...(now === undefined ? { removed: true } : { status: now.status }),
    ...(before !== undefined && { previous: before.status }),
    ...(now?.ready !== undefined && { ready: now.ready }),
    ...(now?.exit_code !== undefined && { exit_code: now.exit_code }),
    ...(now?.forced !== undefined && { forced: now.forced }),
    ...(now?.disk_full !== undefined && { disk_full: now.disk_full }),
    ...(now?.closed_ports !== undefined && { closed_ports: now.closed_ports }),
  };
  return { type: "node", lab, data };
}

/** Returns the keys of the nodes in both views. A deleted node has the key that it had until now. */
function keysOf(before: LabView, now: LabView, record: LabRecord | undefined, intent: Intent | undefined): ReadonlyMap<string, string> {
  const [was, is] = [before, now].map(({ nodes }) => nodeKeys(intent?.lab ?? null, [...nodes.values()], record?.ids));
  return new Map([...(was ?? []), ...(is ?? [])]);
}

/** null: not joined to the intent. */
function keyOf(ids: Readonly<Record<string, string>> | undefined, id: string): string | null {
  return Object.entries(ids ?? {}).find(([, each]) => each === id)?.[0] ?? null;
}

async function within(ms: number, work: Promise<void> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
