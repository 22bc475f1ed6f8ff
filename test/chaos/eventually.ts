import { setTimeout as delay } from "node:timers/promises";

/** Asks until the answer is neither undefined nor false; throws after `ms` (default 90 s: a hang, not a busy machine). */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false>,
  explain: () => string,
  ms = 90_000,
): Promise<T> {
  for (const end = performance.now() + ms; ; await delay(20)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`${what}: not within ${ms / 1000} s\n${explain()}`);
  }
}
