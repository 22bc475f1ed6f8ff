/** The program of a thread of the pool: runs one task after another. */
import { parentPort } from "node:worker_threads";
import { type Order, outcomeOf } from "./messages.ts";
import { type Packed, packed, unpacked } from "./shared-texts.ts";
import { tasks } from "./tasks.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the program of a worker thread");
port.on("message", async (message: Packed) => {
  const { name, input } = unpacked(message) as Order;
  const task = tasks[name] as (...input: readonly unknown[]) => unknown;
  port.postMessage(packed(await outcomeOf(() => task(...input))));
});
