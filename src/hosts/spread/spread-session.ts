import { Failure } from "../../contract/errors.ts";
import type { ObservedEndpoint, ObservedLink } from "../../engine/model/observed.ts";
import type { HostRules, Operation } from "../../engine/model/plan.ts";
import { endpointText } from "../../intent/lab/lab.ts";
import type { HostSession, LinkQualityState } from "../host.ts";
import type { HostCapture, HostCaptures } from "../host-captures.ts";
import { applySpread } from "./apply-spread.ts";
import { type Halves, type Merged, vniOf, wholeId } from "./merge.ts";
import { isPartPath, type SpreadRecord } from "./records.ts";
import type { PartSession } from "./remote-part.ts";
import { cutMtu, defaultMtu, machinesOf, nodeWord } from "./split-steps.ts";
import { isAway, isNoPart, type SpreadLabs } from "./spread-labs.ts";

/** Returns a user's session in which a lab that is spread over machines is like any other lab. Calls about other labs go to the session of the embedded host. */
export function spreadSession(labs: SpreadLabs, inner: HostSession): HostSession {
  const lab = new LabCalls(labs, inner);
  const { calls } = lab;
  return {
    ...inner,
    labs: async () => (await inner.labs()).filter((path) => !isPartPath(path)),
    observe: async (path) => {
      const record = labs.recordOf(path);
      return record === undefined ? inner.observe(path) : ((await labs.whole(record, inner))?.lab ?? inner.observe(path));
    },
    findLink: async (path, ends) => {
      const record = labs.recordOf(path);
      if (record === undefined) return inner.findLink?.(path, ends);
      const found = (await lab.merged(record)).lab.links.filter((link) => joins(link, ends));
      return found.length === 1 ? found[0] : undefined;
    },
    apply: (path, operations, progress) => {
      const spreads = operations.some(({ step }) => step.do === "create-lab" && step.lab.place?.spread !== undefined);
      if (labs.recordOf(path) === undefined && !spreads) return inner.apply(path, operations, progress);
      return labs.alone(path, () => applySpread(labs, inner, path, operations, progress));
    },
    status: (path) => {
      const record = labs.recordOf(path);
      return record === undefined ? inner.status(path) : labs.status(record, inner);
    },
    ...lab.links(),
    ...lab.nodes(),
    captures: lab.captures(),
    ...(inner.disks !== undefined && {
      disks: {
        ...inner.disks,
        transfers: {
          ...inner.disks.transfers,
          exportLab: async (path, reader) => {
            if (labs.recordOf(path) !== undefined)
              throw new Failure(
                "operation_not_allowed",
                "the lab is spread over machines: a copy would have the disks of one of them only. Copy files out of its nodes with labwright cp",
              );
            return inner.disks!.transfers.exportLab(path, reader);
          },
        },
      },
    }),
    traffic: {
      compile: (filter) => inner.traffic!.compile(filter),
      watch: async (path, id, listener, signal) => {
        const at = await lab.atLink(path, id);
        return at.session.traffic.watch(path, at.id, listener, signal);
      },
      counters: async (path) => {
        const record = labs.recordOf(path);
        if (record === undefined) return inner.traffic!.counters(path);
        const cuts = firstHalves((await lab.merged(record)).cuts);
        const found = await lab.ofAll(record, async (session, machine) =>
          [...(await session.traffic.counters(path))].flatMap(([id, counters]) => {
            const vni = cuts.get(`${machine} ${id}`);
            return vni === null ? [] : [[vni === undefined ? wholeId(labs.options.own, machine, id) : `x${vni}`, counters] as const];
          }),
        );
        return new Map(found.flat());
      },
    },
    spread: {
      facts: (path, wanted, operations, ids) => lab.facts(path, wanted, operations, ids),
      room: (path, wanted) => {
        const record = labs.recordOf(path);
        if (record === undefined && wanted?.spread === undefined) return undefined;
        return labs.machinesFor(path, record?.labels ?? wanted?.labels ?? {}, inner.user).reduce((sum, { room }) => sum + room, 0);
      },
    },
    ...calls(),
  };
}

class LabCalls {
  readonly #labs: SpreadLabs;
  readonly #inner: HostSession;

  constructor(labs: SpreadLabs, inner: HostSession) {
    this.#labs = labs;
    this.#inner = inner;
  }

  async merged(record: SpreadRecord): Promise<Merged> {
    const merged = await this.#labs.whole(record, this.#inner);
    if (merged === null) throw new Failure("lab_not_found", `there is no lab ${record.path}`);
    return merged;
  }

  /** Returns the session of one machine's part. */
  #at(record: SpreadRecord, machine: number): PartSession {
    return machine === this.#labs.options.own ? (this.#inner as unknown as PartSession) : this.#labs.part(record, machine, this.#inner);
  }

  /** Returns the session for an object of a lab, and its id there. */
  #of(path: string, id: string): { readonly session: PartSession; readonly id: string; readonly machine: number } {
    const record = this.#labs.recordOf(path);
    if (record === undefined) return { session: this.#inner as unknown as PartSession, id, machine: this.#labs.options.own };
    const { machine, id: own } = this.#labs.own(id);
    return { session: this.#at(record, machine), id: own, machine };
  }

  /** The same for a link; for a link between machines, its first end. */
  async atLink(path: string, id: string): Promise<{ readonly session: PartSession; readonly id: string }> {
    const record = this.#labs.recordOf(path);
    const vni = vniOf(id);
    if (record === undefined || vni === undefined) return this.#of(path, id);
    const [first] = await this.#halves(record, vni);
    return { session: this.#at(record, first.machine), id: first.link.id };
  }

  async #halves(record: SpreadRecord, vni: number): Promise<readonly [NonNullable<Halves[0]>, NonNullable<Halves[1]>]> {
    const [a, b] = (await this.merged(record)).cuts.get(vni) ?? [];
    if (a === undefined || b === undefined) throw new Failure("link_not_found", `the lab has no link x${vni}`);
    return [a, b];
  }

  /** Calls all parts. Those on machines that do not answer, or have none, are left out. */
  async ofAll<T>(record: SpreadRecord, work: (session: PartSession, machine: number) => Promise<T>): Promise<readonly T[]> {
    const machines = [this.#labs.options.own, ...Object.keys(record.parts).map(Number)];
    const found = await Promise.all(
      machines.map(async (machine) => {
        try {
          return [await work(this.#at(record, machine), machine)];
        } catch (error) {
          if (isAway(error) || (machine !== this.#labs.options.own && isNoPart(error))) return [];
          throw error;
        }
      }),
    );
    return found.flat();
  }

  links(): Pick<HostSession, "setLinkQuality" | "setLinkSuspend"> {
    const cutOf = (path: string, id: string) => {
      const record = this.#labs.recordOf(path);
      const vni = vniOf(id);
      return record === undefined || vni === undefined ? undefined : { record, vni };
    };
    return {
      setLinkQuality: async (path, id, quality, options) => {
        await this.#refuseLocked(path);
        const cut = cutOf(path, id);
        if (cut === undefined) {
          const at = this.#of(path, id);
          return at.session.setLinkQuality(path, at.id, quality, options);
        }
        const halves = await this.#halves(cut.record, cut.vni);
        await this.#refuseAway(cut.record, halves);
        const [first, second] = await Promise.all(
          halves.map((half, side) => {
            const wanted = side === 0 ? quality.a : quality.b;
            const sides = wanted === undefined ? {} : { a: wanted };
            return this.#at(cut.record, half.machine).setLinkQuality(path, half.link.id, sides, options);
          }),
        );
        return joinQuality(first!, second!);
      },
      setLinkSuspend: async (path, id, suspended) => {
        await this.#refuseLocked(path);
        const cut = cutOf(path, id);
        if (cut === undefined) {
          const at = this.#of(path, id);
          return at.session.setLinkSuspend(path, at.id, suspended);
        }
        const halves = await this.#halves(cut.record, cut.vni);
        await this.#refuseAway(cut.record, halves);
        const [first, second] = await Promise.all(
          halves.map((half, side) => {
            const wanted = side === 0 ? suspended.a : suspended.b;
            const sides = wanted === undefined ? {} : { a: wanted };
            return this.#at(cut.record, half.machine).setLinkSuspend(path, half.link.id, sides);
          }),
        );
        return { a: first!.a, b: second!.a };
      },
    };
  }

  /** Throws machine_unreachable before the first half changes. */
  #refuseAway(record: SpreadRecord, halves: readonly { readonly machine: number }[]): Promise<void> {
    return this.#labs.refuseAway(
      record,
      halves.map(({ machine }) => machine),
      this.#inner,
    );
  }

  /** Throws lab_locked. Only the home machine has the lock of a spread lab. */
  async #refuseLocked(path: string): Promise<void> {
    if (this.#labs.recordOf(path) === undefined) return;
    if ((await this.#inner.observe(path))?.locked === true) throw new Failure("lab_locked", "the lab is locked");
  }

  nodes(): Pick<HostSession, "console" | "consoleLog"> & Required<Pick<HostSession, "processes">> {
    return {
      console: async (path, id) => {
        const at = this.#of(path, id);
        return at.session.console(path, at.id);
      },
      consoleLog: async (path, id) => {
        const at = this.#of(path, id);
        return at.session.consoleLog(path, at.id);
      },
      processes: {
        start: async (path, id, program, signal) => {
          const at = this.#of(path, id);
          return at.session.processes.start(path, at.id, program, signal);
        },
      },
    };
  }

  /** Calls that answer with a map by node. */
  readonly calls = (): Required<Pick<HostSession, "addresses" | "switches" | "saveConfigs" | "setOwner">> => {
    const { own } = this.#labs.options;
    const joined = async <T>(path: string, call: (session: PartSession, machine: number) => Promise<ReadonlyMap<string, T>>) => {
      const record = this.#labs.recordOf(path);
      if (record === undefined) return call(this.#inner as unknown as PartSession, own);
      const found = await this.ofAll(record, async (session, machine) =>
        [...(await call(session, machine))].map(([id, one]) => [wholeId(own, machine, id), one] as const),
      );
      return new Map(found.flat());
    };
    return {
      addresses: (path) => joined(path, (session) => session.addresses(path)),
      switches: (path) => joined(path, (session) => session.switches(path)),
      saveConfigs: async (path, ids, signal) => {
        const record = this.#labs.recordOf(path);
        if (record === undefined) return this.#inner.saveConfigs!(path, ids, signal);
        await this.#refuseLocked(path);
        const found = await Promise.all(
          [...byMachine(ids.map((id) => this.#labs.own(id)))].map(async ([machine, nodes]) => {
            const saved: ReadonlyMap<string, string | Failure> = await this.#at(record, machine)
              .saveConfigs(
                path,
                nodes.map(({ id }) => id),
                signal,
              )
              .catch((error: unknown) => {
                if (error instanceof Failure) return new Map(nodes.map(({ id }) => [id, error]));
                throw error;
              });
            return [...saved].map(([id, one]) => [wholeId(own, machine, id), one] as const);
          }),
        );
        return new Map(found.flat());
      },
      setOwner: async (path, owner) => {
        const record = this.#labs.recordOf(path);
        // All before the first change: a machine that does not answer refuses the whole.
        const others = Object.keys(record?.parts ?? {}).map((machine) => this.#at(record!, Number(machine)));
        for (const session of others)
          await session.setOwner(path, owner).catch((error: unknown) => {
            if (!isNoPart(error)) throw error;
          });
        await this.#inner.setOwner!(path, owner);
      },
    };
  };

  captures(): HostCaptures {
    const inner = this.#inner.captures!;
    /** The captures of other machines have the marks of both. */
    const at = (path: string, id: string) => {
      const record = this.#labs.recordOf(path);
      const own = ownCapture(id);
      if (record === undefined || own === undefined) return { captures: inner, id, machine: this.#labs.options.own };
      return { captures: this.#at(record, own.machine).captures, id: own.id, machine: own.machine };
    };
    const whole = (machine: number, capture: HostCapture): HostCapture =>
      machine === this.#labs.options.own
        ? capture
        : { ...capture, id: `${this.#labs.options.idMark}${capture.id}`, nodeId: wholeId(this.#labs.options.own, machine, capture.nodeId) };
    return {
      start: async (path, request) => {
        const { session, id, machine } = this.#of(path, request.nodeId);
        return whole(machine, await session.captures.start(path, { ...request, nodeId: id }));
      },
      list: async (path) => {
        const record = this.#labs.recordOf(path);
        if (record === undefined) return inner.list(path);
        const found = await this.ofAll(record, async (session, machine) =>
          (await session.captures.list(path)).map((capture) => whole(machine, capture)),
        );
        return found.flat().sort((a, b) => a.startedAt - b.startedAt);
      },
      get: async (path, id) => {
        const there = at(path, id);
        return whole(there.machine, await there.captures.get(path, there.id));
      },
      stop: async (path, id) => {
        const there = at(path, id);
        return whole(there.machine, await there.captures.stop(path, there.id));
      },
      remove: (path, id) => {
        const there = at(path, id);
        return there.captures.remove(path, there.id);
      },
      read: (path, id, options) => {
        const there = at(path, id);
        return there.captures.read(path, there.id, options);
      },
      packets: (path, id, query) => {
        const there = at(path, id);
        return there.captures.packets(path, there.id, query);
      },
      packet: (path, id, number) => {
        const there = at(path, id);
        return there.captures.packet(path, there.id, number);
      },
    };
  }

  async facts(
    path: string,
    wanted: { readonly spread?: string; readonly labels?: Readonly<Record<string, string>> } | undefined,
    operations: Parameters<NonNullable<HostSession["spread"]>["facts"]>[2],
    ids: Parameters<NonNullable<HostSession["spread"]>["facts"]>[3],
  ): ReturnType<NonNullable<HostSession["spread"]>["facts"]> {
    const labs = this.#labs;
    const record = labs.recordOf(path);
    const isCreated = operations.some(({ step }) => step.do === "create-lab");
    if (record === undefined && !(isCreated && wanted?.spread !== undefined)) return undefined;
    if (operations.at(-1)?.step.do === "delete-lab") return undefined;
    if (operations.some(({ step }) => step.do === "create-node")) await labs.look(path, this.#inner);
    const merged = record === undefined ? undefined : ((await labs.whole(record, this.#inner)) ?? undefined);
    const byGroup = record?.byGroup ?? wanted?.spread === "groups";
    const labels = record?.labels ?? wanted?.labels ?? {};
    const rules = await this.#inner.rules();
    const places = labs.places(operations, {
      path,
      user: this.#inner.user,
      merged,
      ids,
      rules,
      byGroup,
      labels,
    });
    const underlays = labs.underlays();
    const machines = byMachine([...places].map(([word, machine]) => ({ word, machine })));
    const cuts = operations.flatMap(({ step }) => {
      if (step.do !== "create-link" && step.do !== "update-link") return [];
      const [a, b] = machinesOf(places, step.link);
      if (a === b) return [];
      const there = [a, b].flatMap((machine) => underlays.get(machine) ?? []);
      // In the order of the ends in the key, which need not be that of the text.
      const isSwapped = step.link.key.startsWith(`${endpointText(step.link.endpoints[1])} -- `);
      const names = (isSwapped ? [b, a] : [a, b]).map((machine) => labs.nameOf(machine)) as [string, string];
      return [{ link: step.link.key, machines: names, mtu: cutMtu(step.link, there) }];
    });
    const deleted = new Set(operations.flatMap(({ step }) => (step.do === "delete-node" ? [nodeWord(step.node)] : [])));
    return {
      machines: [...machines]
        .map(([machine, parts]) => ({
          machine: labs.nameOf(machine),
          nodes: parts
            .flatMap(({ word }) => (word.startsWith(nodeWord("")) && !deleted.has(word) ? [word.slice(nodeWord("").length)] : []))
            .sort(),
        }))
        .filter(({ nodes }) => nodes.length > 0)
        .sort((a, b) => (a.machine < b.machine ? -1 : 1)),
      cuts: cuts.sort((a, b) => (a.link < b.link ? -1 : 1)),
      uneven: unevenSwitches(operations, new Map(cuts.map(({ link, mtu }) => [link, mtu])), rules),
    };
  }
}

/** Returns the new switches whose links have different MTUs. @param cuts the MTU of each link between machines, by its key */
function unevenSwitches(
  operations: readonly Operation[],
  cuts: ReadonlyMap<string, number>,
  { templates }: Pick<HostRules, "templates">,
): NonNullable<Awaited<ReturnType<NonNullable<HostSession["spread"]>["facts"]>>>["uneven"] {
  const isSwitch = new Set(templates.flatMap(({ id, type }) => (type === "switch" ? [id] : [])));
  const mtus = new Map<string, Set<number>>();
  for (const { step } of operations) if (step.do === "create-node" && isSwitch.has(step.node.template)) mtus.set(step.node.key, new Set());
  for (const { step } of operations) {
    if (step.do !== "create-link" && step.do !== "update-link") continue;
    const { key, endpoints, mtu = defaultMtu } = step.link;
    for (const end of endpoints) if ("node" in end) mtus.get(end.node)?.add(cuts.get(key) ?? mtu);
  }
  return [...mtus]
    .flatMap(([node, all]) => (all.size > 1 ? [{ node, mtu: Math.min(...all) }] : []))
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

function byMachine<T extends { readonly machine: number }>(all: readonly T[]): ReadonlyMap<number, readonly T[]> {
  const groups = new Map<number, T[]>();
  for (const one of all) groups.set(one.machine, [...(groups.get(one.machine) ?? []), one]);
  return groups;
}

/** Returns the machine of a capture's id, and the id there; `undefined` for a capture of this machine. */
export function ownCapture(id: string): { readonly machine: number; readonly id: string } | undefined {
  return /^[0-9a-f]{20}$/.test(id) ? { machine: Number.parseInt(id.slice(4, 8), 16), id: id.slice(4) } : undefined;
}

/** By machine and id of the half: the tunnel's number for the first end, `null` for the second. */
function firstHalves(cuts: Merged["cuts"]): ReadonlyMap<string, number | null> {
  return new Map(
    [...cuts].flatMap(([vni, halves]) =>
      halves.flatMap((half, side) => (half === undefined ? [] : [[`${half.machine} ${half.link.id}`, side === 0 ? vni : null] as const])),
    ),
  );
}

function joinQuality(first: LinkQualityState, second: LinkQualityState): LinkQualityState {
  const join = <T>(a: T | undefined, b: T | undefined) => ({ ...(a !== undefined && { a }), ...(b !== undefined && { b }) });
  return { stored: join(first.stored.a, second.stored.a), effective: join(first.effective.a, second.effective.a) };
}

function joins({ endpoints: [a, b] }: ObservedLink, [x, y]: readonly [ObservedEndpoint, ObservedEndpoint]): boolean {
  const same = (one: ObservedEndpoint, other: ObservedEndpoint) =>
    "nodeId" in one
      ? "nodeId" in other && one.nodeId === other.nodeId && one.interface === other.interface
      : "networkId" in other && one.networkId === other.networkId;
  return (same(a, x) && same(b, y)) || (same(a, y) && same(b, x));
}
