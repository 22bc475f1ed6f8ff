import { Failure } from "../../contract/errors.ts";
import { storedRequest } from "../changes/change-kind.ts";
import { guarded } from "../changes/managed.ts";
import { addressRecorded } from "../context/address.ts";
import type { ChangeParts, EventsPart, ResumePart } from "../context/parts.ts";
import { choosePlace, imagesOf, memoryOf, notReported, type PlacedSince } from "../placement/choose-place.ts";
import { deployKind } from "../projects/deploy.ts";
import { arriving, reservedRoom } from "../reservations/admit.ts";
import type { MachineStore } from "../store/machines.ts";
import type { LabRecord } from "../store/store.ts";
import { recordedIntent } from "../work/intents.ts";
import { endLab } from "./end-lab.ts";

type Parts = ChangeParts & EventsPart & ResumePart;

/** Interval of looks, ms: that of the reports of machines. */
const everyMs = 3_000;
/**
 * After its start, and after the database was away so long that leases ended, a machine takes no labs over for this time, ms: the others are just coming
 * back, too.
 */
const graceMs = { start: 60_000, renewal: 30_000 } as const;

/**
 * Starts labs of a lost machine here if their policy is `resume: always`, and ends labs here that another machine has taken over meanwhile. A machine is lost
 * when its service could not renew its lease; a service that was stopped keeps its labs.
 */
export class Failover {
  readonly #context: Parts;
  readonly #settleMoves: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  /** `performance.now()` before which this machine takes nothing over by itself. */
  #notBefore = 0;
  #looking: Promise<void> | undefined;
  /** Labs that this machine has taken over since its last report. */
  #placed: readonly PlacedSince[] = [];
  /** Labs of lost machines that no machine can take now: logged once. */
  #waiting: ReadonlySet<string> = new Set();
  /** Labs of other machines with a change that still runs here. */
  readonly #busy = new Set<string>();
  /** Labs whose end failed: tried again, logged once. */
  readonly #failed = new Set<string>();

  /** @param settleMoves finishes moves to other machines: their labs are not lost */
  constructor(context: Parts, settleMoves: () => Promise<void> = async () => {}) {
    this.#context = context;
    this.#settleMoves = settleMoves;
  }

  /** Looks from now on, if this service is part of a fleet. */
  begin(): void {
    const { shared } = this.#context.store;
    if (shared?.machines.own === undefined) return;
    this.#wait(graceMs.start);
    shared.onRenewed(() => this.#wait(graceMs.renewal));
    const look = () => void this.look(performance.now() >= this.#notBefore);
    look();
    this.#timer ??= setInterval(look, everyMs).unref();
  }

  #wait(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + ms);
  }

  /**
   * Looks once. Never rejects: what fails is logged and tried again. Resolves when the labs that it starts or ends are started or ended.
   * @param mayTake whether it may take labs over; otherwise it only ends labs that it has lost
   */
  look(mayTake = true): Promise<void> {
    this.#looking ??= this.#look(mayTake).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(mayTake: boolean): Promise<void> {
    const machines = this.#context.store.shared?.machines;
    if (machines?.own === undefined) return;
    try {
      await this.#endLostHere(machines);
      const isAnySilent = machines.list().some(({ number, silentMs }) => number !== machines.own && silentMs > everyMs * 3);
      if (mayTake && isAnySilent) await this.#takeOver(machines);
    } catch (error) {
      // The database does not answer, which it has logged itself.
      if (error instanceof Failure && error.code === "store_unavailable") return;
      this.#context.log("error", "the labs of lost machines could not be checked", { error: String(error) });
    }
  }

  async #takeOver(machines: MachineStore): Promise<void> {
    const { store, log } = this.#context;
    const rows = machines.list();
    this.#placed = notReported(this.#placed, rows);
    // All machines look at the same rows in the same order, so that each lab has one machine that takes it; the database admits only one in any case.
    let placed = this.#placed;
    const others = new Map<string, number>();
    const waiting = new Set<string>();
    for (const path of await machines.lostLabs()) {
      const record = store.labs.get(path);
      if (record === undefined || (record.resume ?? this.#context.resumeDefault) !== "always") continue;
      const lab = (await recordedIntent(this.#context, record))?.lab;
      if (lab === undefined) continue;
      const memory = memoryOf(lab);
      const reserved = reservedRoom(this.#context, arriving(record, this.#context.clock.now()), others);
      const chosen = choosePlace(rows, memory, placed, lab.place, imagesOf(lab), reserved);
      if ("refused" in chosen) {
        waiting.add(path);
        if (!this.#waiting.has(path)) log("warn", "a lab of a lost machine waits for room", { lab: path, refused: chosen.refused });
        continue;
      }
      const place = { machine: chosen.machine.number, memory, at: Date.now() };
      placed = [...placed, place];
      others.set(path, place.machine);
      if (place.machine !== machines.own || !(await machines.takeOver(path))) continue;
      this.#placed = [...this.#placed, place];
      log("warn", "a lab of a lost machine is started here", { lab: path });
      await this.#start(path, record).catch((error: unknown) =>
        log("error", "a lab of a lost machine could not be started", { lab: path, error: String(error) }),
      );
    }
    this.#waiting = waiting;
  }

  async #start(path: string, record: LabRecord): Promise<void> {
    const context = this.#context;
    const host = await context.sessions.resume(record.owner);
    const publish = (resume: string) => context.events.publish({ type: "lab", lab: path, data: { resume } });
    try {
      publish("begins");
      const target = await addressRecorded(context, path, record.owner, host, `failover of ${path}`);
      const { yaml = "", files } = record;
      const request = { yaml, files, replace: false };
      const { result } = await context.jobs.startWhenIdle({
        operation: deployKind.operation,
        lab: path,
        user: record.owner,
        request: storedRequest(deployKind, request),
        work: (job) => guarded(context, target, job, () => deployKind.run({ context, job, target }, request)),
      });
      await result;
      publish("done");
    } catch (error) {
      publish("failed");
      throw error;
    } finally {
      await host.close();
    }
  }

  /** Ends the labs on this host that other machines own now. */
  async #endLostHere(machines: MachineStore): Promise<void> {
    const { store, log, host, jobs } = this.#context;
    const moved = new Set([...this.#failed, ...this.#busy, ...machines.takeMoved()]);
    this.#busy.clear();
    if (moved.size > 0) await this.#settleMoves();
    const leaving = new Set(moved.size === 0 ? [] : (await host.moves?.leaving())?.map(({ lab }) => lab));
    for (const path of moved) {
      // A move removes its own copy, and nobody keeps the disks of that.
      if (jobs.running(path) !== undefined || leaving.has(path)) {
        this.#busy.add(path);
        continue;
      }
      const record = store.labs.get(path);
      if (record === undefined || machines.elsewhere(path) === undefined || (await host.holds?.(path)) !== true) {
        this.#failed.delete(path);
        continue;
      }
      try {
        if (await endLab(this.#context, record)) log("warn", "another machine has taken a lab over: it was ended here", { lab: path });
        this.#failed.delete(path);
      } catch (error) {
        const text = "a lab that another machine has taken over could not be ended";
        if (!this.#failed.has(path)) log("error", text, { lab: path, error: String(error) });
        this.#failed.add(path);
      }
    }
  }
}
