import { setTimeout as delay } from "node:timers/promises";

/** The time that useradd takes if no meetings are given, ms. */
const useraddMs = 20;

/** Whether the first start of a pod makes its unix user. `meets`: useradd ends when this many other starts have met it. */
export type FreshPods = boolean | { readonly meets: number };

interface Pod {
  made: boolean;
  meetings: number;
  met?: () => void;
}

/** The unix users unl0, unl1 … that own the processes of nodes. The first start of a pod makes its user; starts meanwhile fail. */
export class UnixUsers {
  readonly #fresh: FreshPods;
  readonly #pods = new Map<number, Pod>();

  constructor(fresh: FreshPods) {
    this.#fresh = fresh;
  }

  /** Makes the pod's user if there is none. False if another call is making it. */
  async make(pod: number): Promise<boolean> {
    if (this.#fresh === false) return true;
    const known = this.#pods.get(pod);
    if (known !== undefined) {
      known.meetings++;
      known.met?.();
      return known.made;
    }
    const fresh: Pod = { made: false, meetings: 0 };
    this.#pods.set(pod, fresh);
    await this.#useradd(fresh);
    fresh.made = true;
    return true;
  }

  async #useradd(pod: Pod): Promise<void> {
    if (this.#fresh === true || this.#fresh === false) return delay(useraddMs);
    const { meets } = this.#fresh;
    await new Promise<void>((resolve) => {
      pod.met = () => {
        if (pod.meetings >= meets) resolve();
      };
      pod.met();
    });
  }
}
