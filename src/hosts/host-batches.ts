import { Failure } from "../contract/errors.ts";
import type { Operation, Step } from "../engine/model/plan.ts";
import type { Progress } from "./host.ts";

/** Steps of a plan that are done together: all edits of the lab are one write, and nodes start, stop and lose their disks together. */
export type StepKind = "create-lab" | "delete-lab" | "edit" | "start" | "stop" | "wipe";

export function stepKind(step: Step): StepKind {
  switch (step.do) {
    case "create-lab":
    case "delete-lab":
    case "start":
    case "stop":
    case "wipe":
      return step.do;
    default:
      return "edit";
  }
}

/** Joins neighbours of one kind into batches, in the order of the plan. Creating or deleting the lab is a batch of its own, as are stops of each mode. */
export function stepBatches(operations: readonly Operation[]): readonly (readonly Operation[])[] {
  const batches: Operation[][] = [];
  for (const operation of operations) {
    const batch = batches.at(-1);
    const last = batch?.[0]?.step;
    const { step } = operation;
    const joins =
      last !== undefined &&
      stepKind(last) === stepKind(step) &&
      step.do !== "create-lab" &&
      step.do !== "delete-lab" &&
      !(last.do === "stop" && step.do === "stop" && last.mode !== step.mode);
    if (joins) batch?.push(operation);
    else batches.push([operation]);
  }
  return batches;
}

/** Records which steps of an apply are finished, and reports them to the caller. */
export class StepLog {
  readonly #operations: readonly Operation[];
  readonly #progress: Progress;
  readonly #finished = new Set<string>();
  #begun: string | undefined;

  constructor(operations: readonly Operation[], progress: Progress) {
    this.#operations = operations;
    this.#progress = progress;
  }

  /** Reports that the first step of the batch runs. */
  begin(batch: readonly Operation[]): void {
    const first = batch[0]?.id;
    if (first === undefined) return;
    this.#begun = first;
    this.#progress.step(first, "running");
  }

  /** Reports these steps as done; again is harmless. */
  finish(steps: readonly Operation[]): void {
    for (const { id } of steps) {
      if (this.#finished.has(id)) continue;
      if (id !== this.#begun) this.#progress.step(id, "running");
      this.#progress.step(id, "done");
      this.#finished.add(id);
    }
  }

  /** Ids of the finished steps. */
  get applied(): readonly string[] {
    return [...this.#finished];
  }

  /** Ids of the other steps, in the order of the plan. */
  get remaining(): readonly string[] {
    return this.#operations.flatMap(({ id }) => (this.#finished.has(id) ? [] : [id]));
  }

  /** Returns the failure for a lab that is locked: lab_locked, or lab_locked_mid_apply if steps are finished. */
  locked(before: string, during: string): Failure {
    if (this.#finished.size === 0) return new Failure("lab_locked", before);
    return new Failure("lab_locked_mid_apply", during, { data: { applied: this.applied, remaining: this.remaining } });
  }
}
