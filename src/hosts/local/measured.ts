import { readFileSync } from "node:fs";

/**
 * For tests: takes a figure that whatever else runs on the machine can only make worse, again and again until it is right. One that stays wrong is a
 * failure where it came three times while the machine had nothing else to do; where the machine was never quiet, nothing can be told of it,
 * and the test is skipped with that as the reason.
 */
export async function measured<T>(
  context: { skip(note: string): never },
  what: string,
  take: () => Promise<T>,
  right: (figure: T) => boolean,
): Promise<T> {
  let wrong = 0;
  for (let tries = 1; ; tries++) {
    const before = cpuTimes();
    const figure = await take();
    if (right(figure)) return figure;
    const after = cpuTimes();
    if ((after.idle - before.idle) / Math.max(1, after.all - before.all) >= quietIdle) wrong++;
    if (wrong === 3) throw new Error(`${what}: wrong three times on a quiet machine; last ${JSON.stringify(figure)}`);
    if (tries >= mostTries) return context.skip(`${what} cannot be measured: the machine is busy (last ${JSON.stringify(figure)})`);
  }
}

/** Of all CPU time, what nobody used. What is measured here takes little of it. */
const quietIdle = 0.7;
const mostTries = 6;

/** Since boot, of all CPUs; a CPU that the machine below took away counts as used. */
function cpuTimes(): { readonly idle: number; readonly all: number } {
  const [, line = ""] = /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8")) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupts = 0, soft = 0, stolen = 0] = line.split(" ").map(Number);
  return { idle: idle + wait, all: user + nice + system + idle + wait + interrupts + soft + stolen };
}
