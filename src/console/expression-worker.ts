/** The thread of Expressions: tries one expression on one text after another. */
import { parentPort } from "node:worker_threads";
import type { Trial } from "./expressions.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the program of a worker thread");
port.on("message", ({ source, text }: Trial) => port.postMessage(new RegExp(source, "m").test(text)));
