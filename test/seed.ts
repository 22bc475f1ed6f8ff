/** The seed of CI: each run has the same cases, so that a failure there is a failure here. */
const fixed = 1;

/**
 * The seed of everything random in tests: properties, fuzzers, moments of crashes. LABWRIGHT_SEED is a number, or "random" for another one
 * in each run. Throws for anything else: a mistyped seed must not look like a reproduced run.
 */
export function seedOf(given: string | undefined, fallback: number | "random" = fixed): number {
  const wanted = given === undefined || given === "" ? fallback : given;
  if (wanted === "random") return Math.floor(Math.random() * 0x7fff_ffff);
  const seed = Number(wanted);
  if (!Number.isInteger(seed) || Math.abs(seed) > 0x7fff_ffff)
    throw new Error(`LABWRIGHT_SEED is a whole number of 32 bits or random, not ${given}`);
  return seed;
}
