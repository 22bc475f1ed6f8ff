import { Failure } from "../../contract/errors.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { LabLink } from "../../intent/lab/lab.ts";
import type { Applied, ChangeWarning, HostSession, NativeIds, Progress } from "../host.ts";
import { StepLog, stepBatches } from "../host-batches.ts";
import { cutId, type Half, isHalfName, type Merged, vniOf, wholeId } from "./merge.ts";
import type { SpreadRecord } from "./records.ts";
import type { PartApply } from "./remote-part.ts";
import { machinesOf, nodeWord, ownIds, type SplitFacts, splitSteps } from "./split-steps.ts";
import { isAway, type SpreadLabs } from "./spread-labs.ts";

const noIds: NativeIds = { nodes: {}, networks: {}, links: {} };

/** Sets the carriers of links between machines right that a change has left wrong, as far as the machines answer. */
export function settleLinks(labs: SpreadLabs, session: HostSession, path: string): Promise<void> {
  return labs.alone(path, async () => {
    const record = labs.recordOf(path);
    if (record?.unsettled === undefined) return;
    const progress: Progress = { ids: noIds, step: () => undefined };
    const isSettled = await new SpreadApply(labs, session, path, progress, new StepLog([], progress)).settleCarriers(record);
    await labs.remember(record, session, isSettled);
  });
}

/** Runs the steps of a lab that is, or becomes, spread. The steps of a batch run on all machines at the same time. Nothing else may work on the lab meanwhile. */
export async function applySpread(
  labs: SpreadLabs,
  session: HostSession,
  path: string,
  operations: readonly Operation[],
  progress: Progress,
): Promise<Applied> {
  const log = new StepLog(operations, progress);
  let ids = progress.ids;
  let labId: string | undefined;
  const deletion = operations.findIndex(({ step }) => step.do === "delete-lab");
  const segments = deletion < 0 ? [operations] : [operations.slice(0, deletion + 1), operations.slice(deletion + 1)];
  await refuseAway(labs, session, path, { segment: segments.at(-1)!, ids, isReplaced: segments.length > 1 });
  for (const segment of segments) {
    if (segment.length === 0) continue;
    const creation = segment.find(({ step }) => step.do === "create-lab")?.step;
    // A lab that was removed by hand may have left a record of this path.
    if (creation !== undefined) await labs.dropStale();
    const record = labs.recordOf(path);
    const wanted = creation?.do === "create-lab" ? creation.lab.place?.spread : undefined;
    if (record === undefined && wanted === undefined) {
      const applied = await session.apply(path, segment, { ...progress, ids });
      ({ ids, labId } = { labId: undefined, ...applied });
      continue;
    }
    const apply = new SpreadApply(labs, session, path, progress, log);
    ids =
      segment.at(-1)?.step.do === "delete-lab" && record !== undefined
        ? await apply.remove(record, segment, ids)
        : await apply.change(segment, ids);
    labId = labs.recordOf(path)?.id;
  }
  return { ids, ...(labId !== undefined && { labId }) };
}

/** Throws machine_unreachable, before the first step, if a machine with a step does not answer. The end of a lab does not wait for its machines. */
async function refuseAway(
  labs: SpreadLabs,
  session: HostSession,
  path: string,
  { segment, ids: given, isReplaced }: { readonly segment: readonly Operation[]; readonly ids: NativeIds; readonly isReplaced: boolean },
): Promise<void> {
  if (segment.length === 0 || segment.at(-1)!.step.do === "delete-lab") return;
  const creation = segment.find(({ step }) => step.do === "create-lab")?.step;
  const place = creation?.do === "create-lab" ? creation.lab.place : undefined;
  // A creation that was cut off is repeated on the lab that it has made.
  const record = isReplaced ? undefined : labs.recordOf(path);
  if (record === undefined && place?.spread === undefined) return;
  const merged = record === undefined ? undefined : ((await labs.whole(record, session)) ?? undefined);
  const ids = merged === undefined ? (record === undefined ? noIds : given) : withMade(given, segment, merged);
  const byGroup = record?.byGroup ?? place?.spread === "groups";
  const labels = record?.labels ?? place?.labels ?? {};
  const places = labs.places(segment, { path, user: session.user, merged, ids, rules: await session.rules(), byGroup, labels });
  const facts = {
    home: labs.options.own,
    places,
    merged,
    ids,
    underlays: labs.underlays(),
    nameOf: (machine: number) => labs.nameOf(machine),
  };
  const machines = [...splitSteps(segment, { ...facts, vnis: new Map() }).keys()];
  await labs.refuseAway({ id: record?.id ?? "none", path }, machines, session);
}

class SpreadApply {
  readonly #labs: SpreadLabs;
  readonly #session: HostSession;
  readonly #path: string;
  readonly #progress: Progress;
  readonly #log: StepLog;
  readonly #own: number;
  /** The ids of each machine, as it knows them. */
  readonly #ids = new Map<number, NativeIds>();

  constructor(labs: SpreadLabs, session: HostSession, path: string, progress: Progress, log: StepLog) {
    this.#labs = labs;
    this.#session = session;
    this.#path = path;
    this.#progress = progress;
    this.#log = log;
    this.#own = labs.options.own;
  }

  /** Removes the lab from all machines. A machine that does not answer removes its part when it is back. */
  async remove(record: SpreadRecord, segment: readonly Operation[], ids: NativeIds): Promise<NativeIds> {
    const facts = await this.#factsOf(record, segment, ids);
    const steps = splitSteps(segment, facts);
    const last = segment.at(-1)!;
    this.#log.begin(segment);
    const others = Object.keys(record.parts).map(Number);
    await this.#each(others, async (machine) => {
      const own = [...(steps.get(machine) ?? []).filter(({ id }) => id !== last.id), last];
      await this.#onMachine(record, machine, own).catch((error: unknown) => {
        if (!isAway(error)) throw error;
        const name = this.#labs.nameOf(machine);
        for (const [key, at] of facts.places) {
          if (at !== machine || !key.startsWith(nodeWord(""))) continue;
          const node = key.slice(nodeWord("").length);
          const message = `${node} is on the machine ${name}, which does not answer: it is removed there when the machine is back`;
          this.#progress.warn?.({ code: "left_running", node, message });
        }
      });
    });
    // Last: until then, the parts have a home.
    await this.#onMachine(record, this.#own, [...(steps.get(this.#own) ?? []).filter(({ id }) => id !== last.id), last]);
    await this.#labs.records.remove(record.id);
    this.#labs.forgetRoom(this.#path);
    this.#log.finish(segment);
    return noIds;
  }

  async change(segment: readonly Operation[], ids: NativeIds): Promise<NativeIds> {
    let facts: SplitFacts | undefined;
    let whole = ids;
    await this.#markUnsettled();
    for (const batch of stepBatches(segment)) {
      this.#progress.signal?.throwIfAborted();
      await this.#refuseLocked();
      this.#log.begin(batch);
      const [first] = batch;
      if (first?.step.do === "create-lab") {
        await this.#begin(first, first.step.lab.place ?? {}, whole);
        await this.#markUnsettled();
        this.#log.finish(batch);
        continue;
      }
      const record = this.#labs.recordOf(this.#path);
      if (record === undefined) throw new Failure("lab_not_found", `there is no lab ${this.#path}`);
      facts ??= await this.#factsOf(record, segment, whole);
      try {
        await this.#runBatch(batch, facts);
      } catch (error) {
        // Nodes of this batch run or have stopped. If this fails too, the user needs the first error, and the next look at the record tries again.
        const unsettled = (what: string) => (later: unknown) =>
          this.#labs.options.warn(`${what} of ${this.#path} after a change that failed: ${String(later)}`);
        await this.settleCarriers(record).catch(unsettled("the links between machines"));
        await this.#rememberNodes(batch).catch(unsettled("the record"));
        throw error;
      }
      await this.#rememberNodes(batch);
      whole = this.#wholeIds(facts);
      this.#log.finish(batch);
    }
    const record = this.#labs.recordOf(this.#path);
    if (record !== undefined) {
      const isSettled = await this.settleCarriers(record);
      await this.#labs.remember(this.#labs.recordOf(this.#path)!, this.#session, isSettled);
      this.#labs.forgetRoom(this.#path);
    }
    return whole;
  }

  /** Keeps what the machines have after steps that made or removed nodes: one of them may die before the end of the change. */
  async #rememberNodes(batch: readonly Operation[]): Promise<void> {
    const record = this.#labs.recordOf(this.#path);
    if (record !== undefined && batch.some(({ step }) => step.do === "create-node" || step.do === "delete-node"))
      await this.#labs.remember(record, this.#session, false);
  }

  async #refuseLocked(): Promise<void> {
    if ((await this.#session.observe(this.#path))?.locked === true)
      throw this.#log.locked("the lab is locked", "the lab was locked during the change");
  }

  /** Makes the lab on this machine. */
  async #begin(
    operation: Operation,
    place: { readonly spread?: string; readonly labels?: Readonly<Record<string, string>> },
    ids: NativeIds,
  ) {
    const lab = { path: this.#path, byGroup: place.spread === "groups", labels: place.labels ?? {} };
    await this.#labs.making(lab, async () => {
      const { labId } = await this.#session.apply(this.#path, [operation], { ...this.#progress, ids, step: () => undefined });
      return labId;
    });
  }

  async #factsOf(record: SpreadRecord, segment: readonly Operation[], given: NativeIds): Promise<SplitFacts> {
    const labs = this.#labs;
    const [merged, rules] = await Promise.all([labs.whole(record, this.#session), this.#session.rules()]);
    const known = merged ?? undefined;
    const ids = known === undefined ? given : withMade(given, segment, known);
    const places = labs.places(segment, {
      path: this.#path,
      user: this.#session.user,
      merged: known,
      ids,
      rules,
      byGroup: record.byGroup,
      labels: record.labels,
    });
    const facts = {
      home: this.#own,
      places,
      merged: known,
      ids,
      underlays: labs.underlays(),
      nameOf: (machine: number) => labs.nameOf(machine),
    };
    for (const machine of [this.#own, ...Object.keys(record.parts).map(Number)]) this.#ids.set(machine, ownIds(ids, machine, facts));
    return { ...facts, vnis: await this.#vnis(segment, facts) };
  }

  /** Returns the numbers of the tunnels of the links between machines; new ones for new links. No two links get the same. */
  async #vnis(segment: readonly Operation[], { places, ids, merged }: Omit<SplitFacts, "vnis">): Promise<ReadonlyMap<string, number>> {
    const vnis = new Map<string, number>();
    const used = new Set<number>();
    const take = (key: string, vni: number) => {
      vnis.set(key, vni);
      used.add(vni);
    };
    for (const [key, id] of Object.entries(ids.links)) {
      const vni = vniOf(id);
      // A state that a client sends may name tunnels of other labs.
      if (vni !== undefined && merged?.cuts.has(vni) === true && !used.has(vni)) take(key, vni);
    }
    const links = segment.flatMap(({ step }) => (step.do === "create-link" || step.do === "update-link" ? [step.link] : []));
    const missing: string[] = [];
    for (const link of links) {
      const [a, b] = machinesOf(places, link);
      if (a === b || vnis.has(link.key)) continue;
      const left = halvesLeft(link, ids, merged, this.#labs, used);
      if (left === undefined) missing.push(link.key);
      else take(link.key, left);
    }
    const taken = missing.length === 0 ? [] : await this.#labs.options.takeVnis(missing.length);
    for (const [at, key] of missing.entries()) vnis.set(key, taken[at]!);
    return vnis;
  }

  async #runBatch(batch: readonly Operation[], facts: SplitFacts): Promise<void> {
    const steps = splitSteps(batch, facts);
    // Recorded first: a part that an interrupted apply has made is known.
    const record = this.#labs.recordOf(this.#path)!;
    const added = [...steps.keys()].filter((machine) => machine !== this.#own && !(machine in record.parts));
    if (added.length > 0)
      await this.#labs.records.put({
        ...record,
        parts: { ...record.parts, ...Object.fromEntries(added.map((machine) => [machine, null])) },
      });
    const done = new Map<number, ReadonlySet<string>>();
    const failures: unknown[] = [];
    await this.#each([...steps.keys()], async (machine) => {
      const own = steps.get(machine)!;
      const isNew = machine !== this.#own && record.parts[machine] === undefined;
      const part = added.includes(machine) || isNew || this.#isEmpty(record, machine) ? [partCreation(own[0]!, this.#path), ...own] : own;
      try {
        done.set(machine, await this.#onMachine(record, machine, part));
      } catch (error) {
        failures.push(error);
        done.set(machine, new Set(error instanceof PartFailure ? error.done : []));
      }
    });
    if (failures.length === 0) return;
    const isDone = ({ id }: Operation) =>
      [...steps].every(([machine, own]) => !own.some((one) => one.id === id) || done.get(machine)?.has(id) === true);
    this.#log.finish(batch.filter(isDone));
    throw this.#failed(failures.map((error) => (error instanceof PartFailure ? error.cause : error)).at(0));
  }

  /** An apply that was interrupted may have recorded a part and not made it, and a part may be gone: to make it again changes nothing. */
  #isEmpty(record: SpreadRecord, machine: number): boolean {
    return machine !== this.#own && (record.parts[machine] === null || this.#labs.isMissing(record, machine));
  }

  #failed(error: unknown): unknown {
    if (!(error instanceof Failure)) return error;
    const { applied, remaining } = this.#log;
    const failed = remaining.find((id) => id === error.data?.failed) ?? remaining[0];
    const far = { applied, ...(failed !== undefined && { failed }), remaining: remaining.filter((id) => id !== failed) };
    return new Failure(error.code, error.message, { data: { ...error.data, ...far }, cause: error });
  }

  /** Runs steps on one machine. Returns the ids of those that are done. Throws PartFailure. */
  async #onMachine(record: SpreadRecord, machine: number, operations: readonly Operation[]): Promise<ReadonlySet<string>> {
    const { signal, owner, stopMode, force, warn } = this.#progress;
    const ids = this.#ids.get(machine) ?? noIds;
    const done = new Set<string>();
    if (machine === this.#own) {
      const step: Progress["step"] = (id, state) => void (state === "done" && done.add(id));
      try {
        const applied = await this.#session.apply(this.#path, operations, { ...this.#progress, ids, step });
        this.#ids.set(machine, applied.ids);
        return done;
      } catch (error) {
        throw new PartFailure([...done], error);
      }
    }
    const change: PartApply = {
      operations,
      ids,
      owner: owner ?? this.#session.user,
      ...(stopMode !== undefined && { stopMode }),
      ...(force !== undefined && { force }),
    };
    const part = this.#labs.part(record, machine, this.#session);
    const applied = await part.applyPart(change, signal).catch((error: unknown) => {
      // Of the connection: whether the machine has begun is not known, and other machines have.
      throw isAway(error) ? this.#labs.unreachable(machine, error) : onMachine(this.#labs.nameOf(machine), error);
    });
    for (const warning of applied.warnings) warn?.(warning as ChangeWarning);
    if (applied.ids !== undefined) this.#ids.set(machine, applied.ids);
    if (applied.failure !== undefined) throw new PartFailure(applied.done, onMachine(this.#labs.nameOf(machine), applied.failure));
    return new Set(applied.done);
  }

  /** Runs work on several machines at once, and waits for all of it. */
  async #each(machines: readonly number[], work: (machine: number) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(machines.map(work));
    for (const result of results)
      if (result.status === "rejected") throw result.reason instanceof PartFailure ? result.reason.cause : result.reason;
  }

  #wholeIds({ vnis }: SplitFacts): NativeIds {
    const whole = { nodes: {} as Record<string, string>, networks: {} as Record<string, string>, links: {} as Record<string, string> };
    for (const [machine, { nodes, networks, links }] of this.#ids) {
      for (const [key, id] of Object.entries(nodes)) whole.nodes[key] = wholeId(this.#own, machine, id);
      for (const [key, id] of Object.entries(networks)) if (!key.startsWith("~")) whole.networks[key] = wholeId(this.#own, machine, id);
      for (const [key, id] of Object.entries(links))
        if (!isHalfName(key)) whole.links[key] = vnis.has(key) ? cutId(vnis.get(key)!) : wholeId(this.#own, machine, id);
    }
    return whole;
  }

  /** Recorded first: after a crash, or without a machine that does not answer, the carriers are set right later. */
  async #markUnsettled(): Promise<void> {
    const record = this.#labs.recordOf(this.#path);
    if (record === undefined || record.unsettled !== undefined) return;
    await this.#labs.records.put({ ...record, unsettled: { owner: this.#progress.owner ?? this.#session.user } });
  }

  /** Takes the carrier of each half whose node at the other end does not run, and gives back the others. Returns whether all machines with a step have done it. */
  async settleCarriers(record: SpreadRecord): Promise<boolean> {
    const merged = await this.#labs.whole(record, this.#session);
    if (merged === null) return true;
    const runs = new Set(merged.lab.nodes.flatMap(({ id, power }) => (power === "running" || power === "starting" ? [id] : [])));
    const steps = new Map<number, Operation[]>();
    for (const halves of merged.cuts.values()) {
      for (const [side, half] of halves.entries()) {
        const other = halves[side === 0 ? 1 : 0];
        const { vxlan, name } = half?.network ?? {};
        if (half === undefined || other === undefined || vxlan?.cut === undefined || name === undefined) continue;
        const isDown = !runs.has(wholeId(this.#own, other.machine, other.node.nodeId));
        if ((vxlan.cut.isDown === true) === isDown) continue;
        const { mtu } = vxlan.cut;
        const network = { key: name, name, type: "vxlan", vxlan: { ...vxlan, cut: { mtu, ...(isDown && { isDown: true as const }) } } };
        steps.set(half.machine, [...(steps.get(half.machine) ?? []), carrierStep(network)]);
        const known = this.#ids.get(half.machine) ?? noIds;
        this.#ids.set(half.machine, { ...known, networks: { ...known.networks, [name]: half.network.id } });
      }
    }
    let isDone = true;
    await this.#each([...steps.keys()], async (machine) => {
      await this.#onMachine(record, machine, steps.get(machine)!).catch((error: unknown) => {
        const cause = error instanceof PartFailure ? error.cause : error;
        if (!(cause instanceof Failure)) throw error;
        isDone = false;
        // The change itself is done: a full disk of another machine must not make a failure of it. The next look tries again.
        if (!isAway(cause)) this.#labs.options.warn(`the links of ${record.path} between machines: ${cause.message}`);
      });
    });
    return isDone;
  }
}

/** Steps of one machine that failed, with those that are done. */
class PartFailure extends Error {
  readonly done: readonly string[];

  constructor(done: readonly string[], cause: unknown) {
    super("a part failed", { cause });
    this.done = done;
  }
}

function onMachine(name: string, error: unknown): unknown {
  return error instanceof Failure
    ? new Failure(error.code, `machine ${name}: ${error.message}`, { ...(error.data !== undefined && { data: error.data }), cause: error })
    : error;
}

/** Adds the ids of nodes and networks that an interrupted apply has made: they are found by their names, as a host finds its own. */
function withMade(ids: NativeIds, segment: readonly Operation[], { lab }: Merged): NativeIds {
  const nodes = { ...ids.nodes };
  const networks = { ...ids.networks };
  const [known, knownNetworks] = [new Set(Object.values(nodes)), new Set(Object.values(networks))];
  const byName = new Map(lab.nodes.flatMap(({ id, name }) => (known.has(id) ? [] : [[name, id] as const])));
  const networkByName = new Map(lab.networks.flatMap(({ id, name }) => (knownNetworks.has(id) ? [] : [[name, id] as const])));
  for (const { step } of segment) {
    if (step.do === "create-node") nodes[step.node.key] ??= byName.get(step.node.name) ?? "";
    if (step.do === "create-network") networks[step.network.key] ??= networkByName.get(step.network.name) ?? "";
  }
  const there = (all: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(all).filter(([, id]) => id !== ""));
  return { ...ids, nodes: there(nodes), networks: there(networks) };
}

/** Returns the number of the halves that an interrupted apply of this link has left; undefined: there are none. @param used the numbers of other links */
function halvesLeft(
  link: LabLink,
  ids: NativeIds,
  merged: Merged | undefined,
  labs: SpreadLabs,
  used: ReadonlySet<number>,
): number | undefined {
  const isAtEnd = ({ machine, node }: Half) =>
    link.endpoints.some((end) => {
      if (!("node" in end) || end.interface !== node.interface) return false;
      const id = ids.nodes[end.node];
      return id !== undefined && labs.own(id).machine === machine && labs.own(id).id === node.nodeId;
    });
  const found = [...(merged?.cuts ?? [])].find(
    ([vni, halves]) => !used.has(vni) && halves.every((half) => half === undefined || isAtEnd(half)),
  );
  return found?.[0];
}

/** Returns the step that makes a part: an empty lab. */
function partCreation(before: Operation, path: string): Operation {
  const name = path.split("/").at(-1) ?? path;
  return {
    ...before,
    id: "part",
    kind: "lab",
    step: { do: "create-lab", lab: { name, nodes: [], networks: [], links: [], texts: [], trafficFilters: [] } },
  };
}

function carrierStep(network: Extract<Operation["step"], { readonly do: "update-network" }>["network"]): Operation {
  return {
    id: `carrier ${network.key}`,
    of: `carrier ${network.key}`,
    op: "update",
    kind: "network",
    key: network.key,
    reason: { code: "changed", text: "the other end of the link" } as never,
    disruption: "link",
    affects: [],
    changes: [],
    prune: false,
    step: { do: "update-network", network },
  };
}
