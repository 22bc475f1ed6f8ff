import { readFileSync } from "node:fs";

/**
 * For tests: retries a measurement that load on the machine can only worsen, until it is right. Fails after three wrong results on a quiet
 * machine. If the machine was never quiet, the result is inconclusive, and the test is skipped with that reason.
 */
export async function retryUntilQuiet<T>(
  context: { skip(note: string): never },
  what: string,
  take: () => Promise<T>,
  right: (figure: T) => boolean,
  max = maxTries,
): Promise<T> {
  let wrong = 0;
  for (let tries = 1; ; tries++) {
    const before = cpuTimes();
    const figure = await take();
    if (right(figure)) return figure;
    const after = cpuTimes();
    if ((after.free - before.free) / Math.max(1, after.all - before.all) >= quietFree) wrong++;
    if (wrong === 3) throw new Error(`${what}: wrong three times on a quiet machine; last ${JSON.stringify(figure)}`);
    if (tries >= max) return context.skip(`${what} cannot be measured: the machine is busy (last ${JSON.stringify(figure)})`);
  }
}

/** Share of the CPU time that must be idle or used by ended children of this process. Measured programs elsewhere use little. */
const quietFree = 0.7;
const maxTries = 6;

/** CPU time of all CPUs since boot, in ticks; time stolen by the hypervisor counts as used. */
function cpuTimes(): { readonly free: number; readonly all: number } {
  const [, line = ""] = /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8")) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, stolen = 0] = line.split(" ").map(Number);
  // Fields 16 and 17: the CPU time of ended children. The list begins with field 3.
  const own = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ").slice(13, 15).map(Number) ?? [];
  const ran = own.reduce((sum, ticks) => sum + ticks, 0);
  return { free: idle + wait + ran, all: user + nice + system + idle + wait + interrupts + soft + stolen };
}
