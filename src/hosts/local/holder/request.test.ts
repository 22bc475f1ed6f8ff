import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { request } from "./request.ts";

/** A holder in a thread: it answers at once, or never. */
const holder = `
const { createServer } = require("node:net");
const { workerData, parentPort } = require("node:worker_threads");
const answer = Buffer.from([1, 0, 0, 0, "R".charCodeAt(0)]);
createServer((socket) => socket.on("error", () => {}).once("data", () => workerData.answers && socket.write(answer)))
  .listen(workerData.path, () => parentPort.postMessage("listens"));
`;

let folder: string;
let worker: Worker | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "labwright-request-"));
});
afterEach(async () => {
  await worker?.terminate();
  await rm(folder, { recursive: true });
});

async function holderThat(answers: boolean): Promise<string> {
  const path = join(folder, "holder.sock");
  worker = new Worker(holder, { eval: true, workerData: { path, answers } });
  await new Promise((resolve) => worker?.once("message", resolve));
  return path;
}

test("time in which this process does not run is not taken for silence of the holder", async () => {
  const path = await holderThat(true);
  const answer = request(path, "info", [], { deadlineMs: 200 });
  // The process is stopped, or gets no processor, before it has sent the request.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  expect(await answer).toMatchObject({ type: "R" });
});

test("a holder that does not answer is reported when the time is over", async () => {
  const path = await holderThat(false);
  await expect(request(path, "info", [], { deadlineMs: 200 })).rejects.toMatchObject({
    code: "host_timeout",
    message: expect.stringContaining("did not answer info in 200 ms"),
  });
});
