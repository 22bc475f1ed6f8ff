import { connect } from "node:net";
import type { EvePlace } from "../labs/world.ts";
import { communityPort } from "./console.ts";

const connectMs = 2_000;
/** Ports that are looked at together. */
const width = 32;

/**
 * Returns those of the numbers on whose console port something listens. Looks at them in their order until `count` others are found. On Community Edition
 * a node of such a number would count as running, and its console would be that of the other process.
 */
export async function busyNumbers({ world, pod }: EvePlace, numbers: readonly number[], count: number): Promise<ReadonlySet<number>> {
  const busy = new Set<number>();
  for (let at = 0, closed = 0; at < numbers.length && closed < count; at += width) {
    const some = numbers.slice(at, at + width);
    const states = await Promise.all(some.map((number) => lookAt(world.address, communityPort(pod, number))));
    for (const [index, number] of some.entries()) if (states[index] === "open") busy.add(number);
    closed += states.filter((state) => state === "closed").length;
    // Behind a firewall each look takes its whole time, and no console can be reached by mistake either.
    if (states.includes("silent")) break;
  }
  return busy;
}

/** silent: no answer, as behind a firewall. */
export function lookAt(host: string, port: number): Promise<"open" | "closed" | "silent"> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (state: "open" | "closed" | "silent") => {
      socket.destroy();
      resolve(state);
    };
    socket.setTimeout(connectMs, () => end("silent"));
    socket.once("connect", () => end("open"));
    socket.once("error", ({ code }: NodeJS.ErrnoException) => end(code === "ECONNREFUSED" ? "closed" : "silent"));
  });
}
