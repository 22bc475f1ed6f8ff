import { KeyedQueue } from "../../base/keyed-queue.ts";
import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostRules, Operation } from "../../engine/model/plan.ts";
import type { SpreadMachine } from "../../engine/spread/partition.ts";
import type { Host, HostSession, LiveNode, LiveStatus, NativeIds } from "../host.ts";
import type { PartCalls } from "../host-fleet.ts";
import { isUnseen, type Merged, mergeParts, ownId, type PartView, wholeId } from "./merge.ts";
import { placesOf } from "./places.ts";
import { noteId, Records, recordKinds, type SpreadNote, type SpreadRecord } from "./records.ts";
import { type PartSession, remotePart } from "./remote-part.ts";
import type { Underlay } from "./split-steps.ts";

/** A machine of the fleet, as far as spread labs are concerned. */
export interface FleetMachine {
  readonly number: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** It answers. */
  readonly answers: boolean;
  /** It takes new nodes. */
  readonly isOpen: boolean;
  /** MiB. */
  readonly room: number;
  /** Absent: it has no address for links between machines. */
  readonly underlay?: Underlay;
}

/** A lab in the database. */
export interface RecordedLab {
  /** The host's id. */
  readonly id: string;
  readonly path: string;
  /** The ids of its nodes. */
  readonly nodes: readonly string[];
}

export interface SpreadOptions {
  readonly calls: PartCalls;
  /** The number of this machine. */
  readonly own: number;
  readonly machines: () => readonly FleetMachine[];
  /** Returns the memory of a machine that users have reserved and do not use yet, MiB, by user. Absent: none is. */
  readonly reserved?: (machine: Pick<FleetMachine, "number" | "name">) => ReadonlyMap<string, number>;
  /** Returns numbers for new tunnels that no other lab of the fleet has. */
  readonly takeVnis: (count: number) => Promise<readonly number[]>;
  /** A folder in the state directory. */
  readonly directory: string;
  /** The paths of the parts on this machine's disk. */
  readonly parts: readonly string[];
  /** The labs of this machine, as the database has them. */
  readonly recorded: readonly RecordedLab[];
  /** The start of the ids of this machine's captures. */
  readonly idMark: string;
  readonly warn: (text: string) => void;
  /** Interval at which this machine asks whether the labs of its parts still exist, ms. Default 30,000. */
  readonly sweepMs?: number;
}

/** How long a plan's view of the machines' room is kept for the apply, ms. */
const roomMs = 15 * 60_000;

/** The labs of this machine that are spread, and how their parts are reached. */
export class SpreadLabs {
  readonly options: SpreadOptions;
  /** The calls, with the name of the machine in the error of a connection that ends. */
  readonly #named: PartCalls;
  readonly local: Host;
  readonly records: Records<SpreadRecord>;
  readonly #notes: Records<SpreadNote>;
  readonly #rooms = new Map<string, { readonly at: number; readonly labels: string; readonly machines: readonly SpreadMachine[] }>();
  readonly #merged = new WeakMap<ObservedLab, { readonly others: readonly (ObservedLab | "unseen" | null)[]; readonly merged: Merged }>();
  /** Machines that the last look found dead. */
  #away: ReadonlySet<number> = new Set();
  /** The paths of labs that a change or a look at their carriers works on. */
  readonly #busy = new KeyedQueue();
  readonly #parsed = new Map<string, { readonly text: string; readonly lab: ObservedLab | null }>();

  /** Throws for a damaged record of a lab that the database does not have. */
  constructor(local: Host, options: SpreadOptions) {
    this.local = local;
    this.options = options;
    this.#named = {
      open: (machine, call, signal) =>
        options.calls.open(machine, call, signal).catch((error: unknown) => {
          if (!(error instanceof Failure) || error.code !== "machine_unreachable" || error.data?.["machine"] !== String(machine))
            throw error;
          const name = this.nameOf(machine);
          throw new Failure("machine_unreachable", `the connection to the machine ${name} ended before its answer`, {
            data: { machine: name },
            retryAfter: 5,
            cause: error,
          });
        }),
    };
    const { directory, warn } = options;
    this.records = new Records<SpreadRecord>(directory, recordKinds.spread, { warn, remake: (id) => this.#remade(id) });
    this.#notes = new Records<SpreadNote>(directory, recordKinds.note, { warn });
  }

  /** Returns the record of a lab whose own is damaged or missing, by the ids of its nodes. The next read shows what the machines have. */
  #remade(id: string): SpreadRecord | undefined {
    const lab = this.options.recorded.find((one) => one.id === id);
    if (lab === undefined) return undefined;
    const numbers = new Set(lab.nodes.map((node) => ownId(this.options.own, node).machine));
    numbers.delete(this.options.own);
    return {
      version: 1,
      id,
      path: lab.path,
      byGroup: false,
      labels: {},
      parts: Object.fromEntries([...numbers].map((one) => [one, null])),
    };
  }

  /** Makes the records again that are missing of labs with nodes on other machines: without them, these nodes would be made a second time. */
  async #remakeMissing(): Promise<void> {
    const there = new Set(await this.local.labIds!());
    for (const { id } of this.options.recorded)
      if (there.has(id) && this.records.get(id) === undefined) await this.remake(id, { onlySpread: true });
  }

  /** Returns a new record of a lab of this machine whose own is missing, although another machine has a part of it; undefined: there is no such lab. */
  async remake(id: string, { onlySpread = false } = {}): Promise<SpreadRecord | undefined> {
    const record = this.#remade(id);
    if (record === undefined || (onlySpread && Object.keys(record.parts).length === 0)) return undefined;
    if (!(await this.local.labIds!()).includes(id)) return undefined;
    await this.records.put(record);
    this.options.warn(
      `the record of ${record.path}, a spread lab, was missing: it was made again, because other machines have nodes of the lab`,
    );
    return record;
  }

  /** Finishes what a crash has left between a lab and its record. */
  async settle(): Promise<void> {
    await this.dropStale();
    await this.#remakeMissing();
    for (const note of this.#notes.all())
      await this.#settleNote(note).catch((error: Error) =>
        this.options.warn(`${note.path} was about to become a spread lab, and the next start tries again to record it: ${error.message}`),
      );
  }

  /** Removes the records of labs that do not exist any more. A lab in quarantine keeps its record. */
  async dropStale(): Promise<void> {
    // Read before the labs: a record that is added meanwhile is not among them.
    const records = this.records.all();
    if (records.length === 0) return;
    const there = new Set(await this.local.labIds!());
    for (const { id } of records) if (!there.has(id)) await this.records.remove(id);
  }

  /**
   * Makes a lab, and its record. A note on the disk makes the record if a crash comes between them.
   * @param make returns the host's id of the lab
   */
  async making(lab: Pick<SpreadRecord, "path" | "byGroup" | "labels">, make: () => Promise<string | undefined>): Promise<void> {
    const { path, byGroup, labels } = lab;
    const note: SpreadNote = { version: 1, id: noteId(path), path, byGroup, labels };
    // A change that fails must not make a spread lab of one that was there before.
    const isNew = !(await this.local.holds!(path));
    if (isNew) await this.#notes.put(note);
    try {
      const id = await make();
      if (id !== undefined) await this.#record(id, note);
    } finally {
      if (isNew) await this.#settleNote(note);
    }
  }

  async #settleNote(note: SpreadNote): Promise<void> {
    const id = await this.local.labId!(note.path);
    if (id !== undefined) await this.#record(id, note);
    // It may be in quarantine: then an administrator can restore it.
    else if (await this.local.holds!(note.path)) return;
    await this.#notes.remove(note.id);
  }

  async #record(id: string, { path, byGroup, labels }: SpreadNote): Promise<void> {
    if (this.records.get(id) === undefined) await this.records.put({ version: 1, id, path, byGroup, labels, parts: {} });
  }

  recordOf(path: string): SpreadRecord | undefined {
    return this.records.all().find((record) => record.path === path);
  }

  nameOf(machine: number): string {
    return this.options.machines().find(({ number }) => number === machine)?.name ?? `number ${machine}`;
  }

  /** Returns the session of a part. Throws machine_unreachable for a machine that does not answer. */
  part({ id, path }: Pick<SpreadRecord, "id" | "path">, machine: number, session: HostSession): PartSession {
    const found = this.options.machines().find(({ number }) => number === machine);
    if (found?.answers !== true) throw this.unreachable(machine);
    const limit = session.role === "user" ? ({ limit: "user" } as const) : {};
    return remotePart(this.#named, machine, { id, path, user: session.user, ...limit });
  }

  unreachable(machine: number, cause?: unknown): Failure {
    const name = this.nameOf(machine);
    return new Failure("machine_unreachable", `the machine ${name} does not answer, and has nodes of this lab`, {
      data: { machine: name, hint: awayHint },
      retryAfter: 5,
      ...(cause !== undefined && { cause }),
    });
  }

  /** Throws machine_unreachable if one of the machines cannot be called now. The next plan of the lab places its new nodes elsewhere. */
  async refuseAway(lab: Pick<SpreadRecord, "id" | "path">, machines: readonly number[], session: HostSession): Promise<void> {
    const others = machines.filter((machine) => machine !== this.options.own);
    const seen = await Promise.all(others.map((machine) => this.#seen(lab, machine, session)));
    const away = others.filter((_machine, at) => seen[at] === "away");
    if (away.length === 0) return;
    this.forgetRoom(lab.path);
    const [first] = away;
    const name = this.nameOf(first!);
    throw new Failure("machine_unreachable", `the machine ${name} does not answer, and the change concerns it: nothing was changed`, {
      data: { machine: name, hint: awayHint },
      retryAfter: 5,
    });
  }

  /**
   * Looks for machines that have just died, because their last report does not show it yet, and for nodes of the lab that its record does not have. Before a plan that places new
   * nodes. Throws plan_stale if there were such nodes.
   */
  async look(path: string, session: HostSession): Promise<void> {
    const machines = this.options.machines().filter((one) => mayTake(one) && one.number !== this.options.own);
    const record = this.recordOf(path);
    const seen = await Promise.all(machines.map(({ number }) => this.#seen(record ?? { id: "none", path }, number, session)));
    const away = machines.filter((_machine, at) => seen[at] === "away").map(({ number }) => number);
    if (away.some((number) => !this.#away.has(number)) || away.length !== this.#away.size) this.forgetRoom(path);
    this.#away = new Set(away);
    for (const [at, lab] of seen.entries()) {
      const { number, name } = machines[at]!;
      if (record === undefined || lab === null || lab === "away" || number in record.parts) continue;
      const names = lab.nodes.map((node) => node.name);
      if (await this.alone(path, () => this.takeBack(record.id, number, session, names)))
        throw new Failure("plan_stale", `the machine ${name} has nodes of this lab that its record did not have: plan again`);
    }
  }

  /**
   * Adds a part that a machine has to the record of its lab, unless the lab has nodes of the same names. Returns whether the part belongs to the lab. Only in `alone`.
   * @param nodes the names of the part's nodes
   */
  async takeBack(id: string, machine: number, session: HostSession, nodes: readonly string[]): Promise<boolean> {
    const record = this.records.get(id);
    if (record === undefined || machine in record.parts) return record !== undefined;
    const whole = await this.whole(record, session);
    const names = new Set(whole?.lab.nodes.map(({ name }) => name));
    if (nodes.some((name) => names.has(name))) return false;
    await this.records.put({ ...record, parts: { ...record.parts, [machine]: null }, unsettled: { owner: session.user } });
    this.options.warn(`the nodes of ${record.path} on the machine ${this.nameOf(machine)} belong to it again: ${nodes.join(", ")}`);
    return true;
  }

  /** Returns the part that a machine has now; "away": it cannot be called. */
  async #seen(lab: Pick<SpreadRecord, "id" | "path">, machine: number, session: HostSession): Promise<ObservedLab | "away" | null> {
    try {
      return await this.part(lab, machine, session).observe(lab.path);
    } catch (error) {
      if (isAway(error)) return "away";
      throw error;
    }
  }

  /** Whether a machine has left the fleet: its nodes are gone. */
  #isRemoved(machine: number): boolean {
    const machines = this.options.machines();
    return machines.some(({ number }) => number === this.options.own) && !machines.some(({ number }) => number === machine);
  }

  /** Returns the parts on other machines as they are, or as they were last seen. */
  async views(record: SpreadRecord, session: HostSession): Promise<readonly PartView[]> {
    return Promise.all(
      Object.entries(record.parts).map(async ([key, seen]): Promise<PartView> => {
        const number = Number(key);
        const name = this.nameOf(number);
        if (this.#isRemoved(number)) return { number, name, lab: null, isAway: false };
        try {
          const lab = this.#same(`${record.id} ${key}`, await this.part(record, number, session).observe(record.path));
          return { number, name, lab, isAway: false };
        } catch (error) {
          if (!isAway(error)) throw error;
          return { number, name, lab: seen, isAway: true };
        }
      }),
    );
  }

  /** Whether a machine that answers has no part of the lab, for example because an admin has deleted it from quarantine. As of the last look. */
  isMissing({ id }: SpreadRecord, machine: number): boolean {
    return this.#parsed.get(`${id} ${machine}`)?.lab === null;
  }

  /** Returns the same object for an unchanged part: callers keep computed values by it. */
  #same(key: string, lab: ObservedLab | null): ObservedLab | null {
    const text = JSON.stringify(lab);
    const known = this.#parsed.get(key);
    if (known?.text === text) return known.lab;
    this.#parsed.set(key, { text, lab });
    return lab;
  }

  /** Returns the whole lab; `null` if this machine has none at the path. */
  async whole(record: SpreadRecord, session: HostSession): Promise<Merged | null> {
    const [home, views] = await Promise.all([session.observe(record.path), this.views(record, session)]);
    if (home === null || home.id !== record.id) return null;
    const others = views.map((view) => (isUnseen(view) ? "unseen" : view.lab));
    const known = this.#merged.get(home);
    if (known !== undefined && known.others.length === others.length && known.others.every((lab, at) => lab === others[at]))
      return known.merged;
    const merged = mergeParts({ number: this.options.own, lab: home }, views);
    this.#merged.set(home, { others, merged });
    return merged;
  }

  /**
   * Keeps what the parts are now, for the time in which a machine does not answer.
   * @param isSettled whether the carriers of all machines that answer are right
   */
  async remember({ unsettled, ...record }: SpreadRecord, session: HostSession, isSettled: boolean): Promise<void> {
    const views = (await this.views(record, session)).filter(({ number }) => !this.#isRemoved(number));
    const isDone = isSettled && views.every(({ isAway: is }) => !is);
    const parts = Object.fromEntries(views.map(({ number, lab }) => [number, lab]));
    await this.records.put({ ...record, parts, ...(!isDone && unsettled !== undefined && { unsettled }) });
  }

  isBusy(path: string): boolean {
    return this.#busy.isBusy(path);
  }

  /** Runs one work on a lab after the other. */
  alone<T>(path: string, work: () => Promise<T>): Promise<T> {
    return this.#busy.run(path, work);
  }

  async status(record: SpreadRecord, session: HostSession): Promise<LiveStatus> {
    const { own } = this.options;
    const [home, merged, ...others] = await Promise.all([
      session.status(record.path),
      this.whole(record, session),
      ...Object.entries(record.parts).map(async ([key, seen]) => {
        const number = Number(key);
        if (this.#isRemoved(number)) return { number, live: { nodes: [], links: [] } };
        try {
          return { number, live: await this.part(record, number, session).status(record.path) };
        } catch (error) {
          if (isNoPart(error)) return { number, live: { nodes: [], links: [] } };
          if (!isAway(error)) throw error;
          const why = `the machine ${this.nameOf(number)} does not answer`;
          const nodes = (seen?.nodes ?? []).map(
            ({ id, name }): LiveNode => ({ id, name, status: "unknown", ready: false, not_ready: why }),
          );
          return { number, live: { nodes, links: [] } satisfies LiveStatus };
        }
      }),
    ]);
    const parts = [{ number: own, live: home }, ...others];
    const halves = new Map(
      [...(merged?.cuts ?? [])].flatMap(([vni, both]) =>
        both.flatMap((half, side) => (half === undefined ? [] : [[`${half.machine} ${half.link.id}`, { vni, side }] as const])),
      ),
    );
    const running = new Set(
      parts.flatMap(({ number, live }) =>
        live.nodes.flatMap(({ id, status }) => (status === "running" || status === "starting" ? [wholeId(own, number, id)] : [])),
      ),
    );
    /** A link has an effect only while both of its nodes run. */
    const runs = (vni: number) =>
      merged?.cuts.get(vni)?.every((half) => half !== undefined && running.has(wholeId(own, half.machine, half.node.nodeId))) === true;
    const cuts = new Map<number, { a?: Required<object>; b?: Required<object> }>();
    const links = parts.flatMap(({ number, live }) =>
      live.links.flatMap((link) => {
        const half = halves.get(`${number} ${link.id}`);
        if (half === undefined) return [{ ...link, id: wholeId(own, number, link.id) }];
        if (link.a !== undefined && runs(half.vni)) cuts.set(half.vni, { ...cuts.get(half.vni), [half.side === 0 ? "a" : "b"]: link.a });
        return [];
      }),
    );
    return {
      nodes: parts.flatMap(({ number, live }) =>
        live.nodes.map((node) => ({ ...node, id: wholeId(own, number, node.id), machine: this.nameOf(number) })),
      ),
      links: [...links, ...[...cuts].map(([vni, sides]) => ({ id: `x${vni}`, ...sides }))] as LiveStatus["links"],
    };
  }

  /** The machines that may get new nodes of a lab, with the room that its last plan has seen. A plan of a text with other labels does not count. */
  machinesFor(path: string, labels: Readonly<Record<string, string>>, user: string): readonly SpreadMachine[] {
    const known = this.#rooms.get(path);
    const wanted = JSON.stringify(Object.entries(labels).sort());
    const now = this.options
      .machines()
      .filter(
        (one) => mayTake(one) && !this.#away.has(one.number) && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
      );
    if (known?.labels === wanted && Date.now() - known.at < roomMs) {
      const open = new Set(now.map(({ number }) => number));
      return this.#withoutReserved(
        known.machines.filter(({ number }) => open.has(number)),
        user,
      );
    }
    const machines = now
      .map(({ number, name, room }) => ({ number, name, room }))
      .sort((a, b) => Number(b.number === this.options.own) - Number(a.number === this.options.own) || a.number - b.number);
    this.#rooms.set(path, { at: Date.now(), labels: wanted, machines });
    return this.#withoutReserved(machines, user);
  }

  /** Reservations since the plan count, too. */
  #withoutReserved(machines: readonly SpreadMachine[], user: string): readonly SpreadMachine[] {
    return machines.map((one) => ({ ...one, room: Math.max(0, one.room - this.#reservedByOthers(one, user)) }));
  }

  #reservedByOthers(machine: Pick<FleetMachine, "number" | "name">, user: string): number {
    const reserved = [...(this.options.reserved?.(machine) ?? [])];
    return reserved.reduce((sum, [owner, memory]) => (owner === user ? sum : sum + memory), 0);
  }

  forgetRoom(path: string): void {
    this.#rooms.delete(path);
  }

  places(
    operations: readonly Operation[],
    facts: {
      readonly path: string;
      /** The user of the change. */
      readonly user: string;
      readonly merged: Merged | undefined;
      readonly ids: NativeIds;
      readonly rules: Pick<HostRules, "templates">;
      readonly byGroup: boolean;
      readonly labels: Readonly<Record<string, string>>;
    },
  ): ReadonlyMap<string, number> {
    const machines = this.machinesFor(facts.path, facts.labels, facts.user);
    try {
      return placesOf(operations, { ...facts, home: this.options.own, machines });
    } catch (error) {
      // The next try looks at the room of the machines again.
      this.forgetRoom(facts.path);
      throw error;
    }
  }

  underlays(): ReadonlyMap<number, Underlay> {
    return new Map(
      this.options.machines().flatMap(({ number, underlay }) => (underlay === undefined ? [] : [[number, underlay] as const])),
    );
  }

  /** Returns the machine of a node or network of the lab, and its id there. */
  own(id: string): { readonly machine: number; readonly id: string } {
    return ownId(this.options.own, id);
  }
}

/** Next step if a machine with nodes of a lab does not answer. */
const awayHint = "labwright machines list shows since when; try again when it is back, or have an admin remove it if it is lost for good";

/** Whether a machine may get new nodes of spread labs. Other machines of the fleet may run no labs at all. */
function mayTake({ answers, isOpen, underlay }: FleetMachine): boolean {
  return answers && isOpen && underlay !== undefined;
}

/** Whether a machine has no part of the lab: an apply ended before it was made. */
export function isNoPart(error: unknown): boolean {
  return error instanceof Failure && error.code === "lab_not_found";
}

export function isAway(error: unknown): boolean {
  return error instanceof Failure && error.code === "machine_unreachable";
}
