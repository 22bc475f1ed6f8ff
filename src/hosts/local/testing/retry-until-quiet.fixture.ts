import { readFileSync } from "node:fs";

/**
 * For tests: takes a figure that whatever else runs on the machine can only make worse, again and again until it is right. One that stays wrong is a
 * failure where it came three times while the machine had nothing else to do; where the machine was never quiet, nothing can be told of it,
 * and the test is skipped with that as the reason.
 */
export async function retryUntilQuiet<T>(
  context: { skip(note: string): never },
  what: string,
  take: () => Promise<T>,
  right: (figure: T) => boolean,
  most = maxTries,
): Promise<T> {
  let wrong = 0;
  for (let tries = 1; ; tries++) {
    const before = cpuTimes();
    const figure = await take();
    if (right(figure)) return figure;
    const after = cpuTimes();
    if ((after.free - before.free) / Math.max(1, after.all - before.all) >= quietFree) wrong++;
    if (wrong === 3) throw new Error(`${what}: wrong three times on a quiet machine; last ${JSON.stringify(figure)}`);
    if (tries >= most) return context.skip(`${what} cannot be measured: the machine is busy (last ${JSON.stringify(figure)})`);
  }
}

/** Of all CPU time, what nobody used but programs that this process ran to their end. What is measured elsewhere here takes little of it. */
const quietFree = 0.7;
const maxTries = 6;

/** Since boot, of all CPUs, in ticks; a CPU that the machine below took away counts as used. */
function cpuTimes(): { readonly free: number; readonly all: number } {
  const [, line = ""] = /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8")) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, stolen = 0] = line.split(" ").map(Number);
  // The 16th and 17th field, of those behind the name from the 3rd on: of children that have ended.
  const own = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ").slice(13, 15).map(Number) ?? [];
  const ran = own.reduce((sum, ticks) => sum + ticks, 0);
  return { free: idle + wait + ran, all: user + nice + system + idle + wait + interrupts + soft + stolen };
}
