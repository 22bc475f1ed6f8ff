import { setTimeout as delay } from "node:timers/promises";

/** So long that starts which are sent together meet. */
const useraddMs = 20;

/** The unix users unl0, unl1 … in whose names nodes run. The first start of a pod makes its user; starts meanwhile fail. */
export class UnixUsers {
  readonly #fresh: boolean;
  readonly #pods = new Map<number, "being made" | "there">();

  /** @param fresh whether no user exists yet */
  constructor(fresh: boolean) {
    this.#fresh = fresh;
  }

  /** Makes the pod's user if there is none. False if another call is making it. */
  async make(pod: number): Promise<boolean> {
    const state = this.#pods.get(pod);
    if (!this.#fresh || state === "there") return true;
    if (state === "being made") return false;
    this.#pods.set(pod, "being made");
    await delay(useraddMs);
    this.#pods.set(pod, "there");
    return true;
  }
}
