/** A step that takes longer is reported, ms. Usual ones take milliseconds, also with hundreds of labs. */
const slowMs = 5_000;

/** Runs a step of a longer work, and returns its result. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Returns a function that warns of each step of `what` that takes long, so that the log has the cause of a slow start. */
export function slowSteps(what: string, warn: (text: string) => void): Step {
  return async (name, work) => {
    const start = performance.now();
    try {
      return await work();
    } finally {
      const ms = performance.now() - start;
      if (ms > slowMs) warn(`${what}: ${name} took ${(ms / 1000).toFixed(1)} s`);
    }
  };
}
