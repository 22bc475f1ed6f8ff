/** The worker thread of Expressions. Each message has one expression and one text; the answer is whether they match. */
import { parentPort } from "node:worker_threads";
import type { Outcome, Trial } from "./expressions.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the program of a worker thread");
port.on("message", ({ source, text }: Trial) => port.postMessage(outcomeOf(source, text)));

/** Some expressions are refused only when they are tried, such as those that are too large. */
function outcomeOf(source: string, text: string): Outcome {
  try {
    return { matched: new RegExp(source, "m").test(text) };
  } catch (error) {
    return { refused: (error as Error).message };
  }
}
