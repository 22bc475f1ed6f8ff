import { Failure } from "../../contract/errors.ts";
import type { DrainData, DrainPayload } from "../../contract/schemas/machines.ts";
import { storedRequest } from "../changes/change-kind.ts";
import { guarded } from "../changes/managed.ts";
import type { Caller } from "../common/call.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import { addressRecorded } from "../context/address.ts";
import type { Context } from "../context/context.ts";
import { fleetOf, unknownMachine } from "../fleet/machines.ts";
import { ownMachine } from "../placement/own-machine.ts";
import { type MachineDrain, runsLabs } from "../store/machines.ts";
import { type LabRecord, labsHere } from "../store/store.ts";
import { type MovedLab, moveKind } from "./move-lab.ts";
import { settleMoves } from "./settle-moves.ts";

/** Interval of looks, ms: that of the reports of machines. */
const everyMs = 3_000;

type Move = DrainData["moves"][number];
type Staying = DrainData["staying"][number];

/** The next step for a lab that cannot move. */
const destroyIt = "it stays until it is destroyed";

/**
 * Moves the labs of this machine to others while it is drained: one after the other, those with running nodes only if the drain stops them. The drain is in the
 * database, so that a restart continues it.
 */
export class Drains {
  readonly #context: Context;
  /** The moves since the drain was asked for. A lab whose move failed or was cancelled waits until it is asked for again. */
  readonly #moves = new Map<string, Move>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #settling: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(context: Context) {
    this.#context = context;
  }

  begin(): void {
    if (this.#context.store.shared?.machines.own === undefined) return;
    this.#timer ??= setInterval(() => void this.look(), everyMs).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#settling.catch(() => undefined);
  }

  /** Finishes what a crash or a broken connection has left of moves. Throws store_unavailable. */
  settle(): Promise<void> {
    // Begins after the call: an earlier one may have looked before the end of a move.
    this.#settling = this.#settling.catch(() => undefined).then(() => settleMoves(this.#context));
    return this.#settling;
  }

  /** Moves the labs that can be moved now. Never rejects: failures are logged, and kept for answers. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /**
   * Begins to drain a machine, or looks at its drain. Throws as setMachine, and machine_unreachable if the machine does not answer.
   * @throws Elsewhere for another machine, which answers then
   */
  async drain(caller: Caller, { name, stop_labs: stopLabs = false, look = false }: DrainPayload): Promise<DrainData> {
    const machines = fleetOf(this.#context, caller);
    const row = machines.list().find((one) => one.name === name);
    if (row === undefined) throw unknownMachine(machines, name);
    if (row.number !== machines.own) throw new Elsewhere(row.number);
    if (!runsLabs(row))
      throw new Failure("operation_not_allowed", `${name} runs no labs (--host none): there are none to move away`, {
        data: { hint: "labwright machines cordon and remove work for it" },
      });
    if (this.#context.host.moves === undefined)
      throw new Failure("operation_not_allowed", "labs of this host cannot move to other machines");
    if (!look) {
      this.#moves.clear();
      await machines.set(name, { state: "cordoned", drain: { stopLabs, by: caller.user } });
      this.#context.log("info", "this machine is drained", { machine: name, stop_labs: stopLabs, by: caller.user });
      void this.look();
    }
    return this.#data(name);
  }

  get #drain(): MachineDrain | undefined {
    const machines = this.#context.store.shared?.machines;
    return machines?.list().find(({ number }) => number === machines.own)?.drain;
  }

  async #data(name: string): Promise<DrainData> {
    const drain = this.#drain;
    const labs = labsHere(this.#context.store);
    const states = await Promise.all(labs.map(async (record) => ({ lab: record.path, ...(await this.#stateOf(record, drain)) })));
    const isTried = (lab: string) => ["failed", "cancelled"].includes(this.#moves.get(lab)?.state ?? "");
    const waiting = states.filter(({ lab, stay }) => drain !== undefined && !this.#moves.has(lab) && stay === undefined);
    const staying = states.flatMap(({ lab, stay }) =>
      stay !== undefined && !isTried(lab) && this.#moves.get(lab)?.state !== "moving" ? [{ lab, ...stay }] : [],
    );
    const parts = this.#context.host.parts?.labs() ?? [];
    return {
      machine: name,
      draining: drain !== undefined,
      stop_labs: drain?.stopLabs === true,
      moves: [...this.#moves.values(), ...waiting.map(({ lab }): Move => ({ lab, state: "waiting" }))],
      staying: [...staying, ...parts.map((lab) => ({ lab, reason: "it is spread over machines, and has nodes here", hint: destroyIt }))],
    };
  }

  /** Returns why a lab stays; absent: it can move now. */
  async #stateOf({ path }: LabRecord, drain: MachineDrain | undefined): Promise<{ readonly stay?: Pick<Staying, "reason" | "hint"> }> {
    try {
      await this.#context.host.moves?.describe(path);
      return {};
    } catch (error) {
      const code = error instanceof Failure ? error.code : undefined;
      if (code === "operation_not_allowed") return { stay: { reason: "it is spread over machines", hint: destroyIt } };
      if (code !== "nodes_running")
        return { stay: { reason: "the host does not answer about it", hint: `labwright status --lab ${path}` } };
      if (drain?.stopLabs === true) return {};
      const nodes = (error as Failure).data?.["nodes"] as readonly string[];
      const { machine = "" } = ownMachine(this.#context.store);
      return {
        stay: {
          reason: nodes.length === 1 ? "a node runs" : `${nodes.length} nodes run`,
          hint: `labwright stop --lab ${path}, or labwright machines drain ${machine} --stop-labs`,
        },
      };
    }
  }

  async #look(): Promise<void> {
    const { store, log, jobs } = this.#context;
    try {
      await this.settle();
      for (const record of labsHere(store)) {
        const drain = this.#drain;
        if (drain === undefined || this.#isClosed) return;
        const { path } = record;
        if (this.#moves.has(path) || jobs.running(path) !== undefined) continue;
        if ((await this.#stateOf(record, drain)).stay !== undefined) continue;
        await this.#move(record, drain);
      }
    } catch (error) {
      // The database does not answer, which it has logged itself.
      if (error instanceof Failure && error.code === "store_unavailable") return;
      log("error", "the labs of this machine could not be moved", { error: String(error) });
    }
  }

  async #move({ path, owner }: LabRecord, { by, stopLabs }: MachineDrain): Promise<void> {
    const context = this.#context;
    let id: string | undefined;
    const set = (move: Omit<Move, "lab" | "job">) => this.#moves.set(path, { lab: path, ...(id !== undefined && { job: id }), ...move });
    set({ state: "moving" });
    try {
      const host = await context.sessions.resume(owner);
      try {
        const target = await addressRecorded(context, path, by, host, `move of ${path}`);
        const request = { stop: stopLabs };
        const started = await context.jobs.start({
          operation: moveKind.operation,
          lab: path,
          user: by,
          request: storedRequest(moveKind, request),
          work: (job) => guarded(context, target, job, () => moveKind.run({ context, job, target }, request)),
        });
        id = started.id;
        set({ state: "moving" });
        const { machine, notes } = (await started.result) as MovedLab;
        set({ state: "moved", machine, ...(notes.length > 0 && { text: notes.join("; ") }) });
      } finally {
        await host.close();
      }
    } catch (error) {
      const isCancelled = error instanceof Failure && error.code === "cancelled";
      set({ state: isCancelled ? "cancelled" : "failed", text: (error as Error).message });
      context.log("warn", "a lab was not moved", { lab: path, error: String(error) });
    }
    await this.settle();
  }
}
