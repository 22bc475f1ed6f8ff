import { Random } from "../abuse/random.ts";

/** The process that is killed. */
export const victims = ["service", "holder", "shaper", "node", "tap"] as const;
export type Victim = (typeof victims)[number] | "hypervisor";

/** The change that runs meanwhile. */
export const changes = ["deploy", "reconcile", "destroy", "stop", "start", "wipe", "quality", "suspend"] as const;
export type Change = (typeof changes)[number];

/** How the lab stands between rounds: not there, or as one of two intents says. */
export type Stand = "absent" | "plain" | "other";

export interface Round {
  readonly number: number;
  readonly victim: Victim;
  readonly change: Change;
  readonly before: Stand;
  readonly after: Stand;
  /** When the kill falls: a part of how long such a change takes; above 1 it falls after its end. */
  readonly moment: number;
  /** For what else is chosen in the round. */
  readonly random: Random;
}

/** The rounds of a seed, from the first on. A round is the same whatever runs before it: its number and the seed choose it. */
export function* roundsOf(seed: number, more: readonly Victim[] = []): Generator<Round, never> {
  let before: Stand = "absent";
  for (let number = 0; ; number++) {
    const random = new Random(seed, number);
    const victim = random.pick<Victim>([...victims, ...more]);
    const change: Change =
      before === "absent"
        ? "deploy"
        : random.weighted({ deploy: 0, reconcile: 5, destroy: 2, stop: 2, start: 2, wipe: 1, quality: 2, suspend: 1 });
    const after: Stand =
      change === "deploy"
        ? random.pick(["plain", "other"] as const)
        : change === "destroy"
          ? "absent"
          : change === "reconcile"
            ? before === "plain"
              ? "other"
              : "plain"
            : before;
    yield { number, victim, change, before, after, moment: random.int(1200) / 1000, random };
    before = after;
  }
}
