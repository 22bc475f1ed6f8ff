import { setTimeout as delay } from "node:timers/promises";
import { type LabwrightClient, LabwrightError } from "../../src/client/index.ts";

interface JobFacts {
  readonly job: string;
  readonly status: string;
  readonly step: number;
}

/** Follows the events of all labs through one machine, and checks their order. */
export class Watcher {
  readonly problems: string[] = [];
  count = 0;
  readonly #name: string;
  readonly #ending = new AbortController();
  readonly #following: Promise<void>;
  #lastId = "";
  /** Jobs that have begun: their last step; ended ones: undefined. */
  readonly #jobs = new Map<string, number | undefined>();

  constructor(name: string, client: LabwrightClient) {
    this.#name = name;
    this.#following = this.#followAlways(client);
  }

  async end(): Promise<void> {
    this.#ending.abort();
    await this.#following;
  }

  /** A stream of the SDK ends after two minutes without the machine: the next one begins again. */
  async #followAlways(client: LabwrightClient): Promise<void> {
    while (!this.#ending.signal.aborted) {
      try {
        await this.#follow(client);
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (!(error instanceof LabwrightError) || error.code !== "host_unreachable") {
          this.problems.push(`the events of ${this.#name} ended: ${String(error)}`);
          return;
        }
        this.#jobs.clear();
        await delay(1_000);
      }
    }
  }

  async #follow(client: LabwrightClient): Promise<void> {
    for await (const { id, type, lab = "", data } of await client.events({}, { signal: this.#ending.signal })) {
      this.count += 1;
      if (type === "gap") this.#jobs.clear();
      if (type !== "heartbeat" && id === this.#lastId) this.problems.push(`the event ${id} came twice`);
      this.#lastId = id;
      if (type === "job") this.#job(lab, data as unknown as JobFacts);
    }
  }

  #job(lab: string, { job, status, step }: JobFacts): void {
    const isKnown = this.#jobs.has(job);
    const before = this.#jobs.get(job);
    if (isKnown && before === undefined) this.problems.push(`${this.#name}: ${lab}: an event of the job ${job} (${status}) after its end`);
    // A change that was interrupted begins again with its first step.
    if (before !== undefined && step < before && step > 0 && status === "running")
      this.problems.push(`${lab}: the job ${job} went from step ${before} back to ${step}`);
    this.#jobs.set(job, status === "running" ? step : undefined);
  }
}
