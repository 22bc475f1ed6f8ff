import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LabwrightClient, LabwrightError } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { followCapture } from "./follow-capture.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "labwright-follow-"));
});
afterEach(() => rm(base, { recursive: true }));

const away = new LabwrightError("no connection", { status: 0, code: "host_unreachable" });

/** The section header of a pcapng file. */
const head = Buffer.from("0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000", "hex");
const isWritten = async () => head.equals(await readFile(join(base, "packets")).catch(() => Buffer.alloc(0)));

/** Follows a capture. @param answers of getCapture, one after the other; an error is thrown */
async function followed(stream: () => AsyncGenerator<Buffer>, answers: readonly (object | Error)[]) {
  const told: string[] = [];
  const removed: string[] = [];
  let turn = 0;
  const client = {
    openCapture: async () => Readable.from(stream()),
    getCapture: async () => {
      const answer = answers[Math.min(turn++, answers.length - 1)]!;
      if (answer instanceof Error) throw answer;
      return answer;
    },
    removeCapture: async ({ id }: { readonly id: string }) => void removed.push(id),
    stopCapture: async () => undefined,
  } as unknown as LabwrightClient;
  const tell = (text: string) => void told.push(text);
  const context = { terminal: { note: tell, complain: tell } } as unknown as Context;
  const file = join(base, "packets");
  const end = await followCapture(context, client, { id: "c1", name: "r1:eth0", file }).catch((error: Error) => error);
  return { end, told, removed, written: await readFile(file) };
}

test("a service that is killed during a capture: the packets so far are kept, and the capture is removed when the service is back", async () => {
  const { end, told, removed, written } = await followed(
    async function* () {
      yield head;
      // A stream that fails drops what was not read yet.
      await expect.poll(isWritten).toBe(true);
      throw new Error("socket hang up");
    },
    [away, away, { status: "running", dropped: 0 }],
  );
  expect(end).toMatchObject({ message: "the connection to the capture was lost: socket hang up" });
  expect(told.filter((text) => text.includes("the service does not answer"))).toEqual([
    "the service does not answer: waiting up to 60 s to remove the capture. Later: labwright capture --remove c1",
  ]);
  expect([removed, written]).toEqual([["c1"], head]);
});

test("a service that is stopped ends the stream cleanly: that is no end of the capture", async () => {
  const stream = async function* () {
    yield head;
  };
  const { end, removed } = await followed(stream, [{ status: "running" }]);
  expect(end).toMatchObject({ message: "the service ended before the capture" });
  expect(removed).toEqual(["c1"]);
  expect(await followed(stream, [{ status: "stopped", dropped: 3 }])).toMatchObject({
    end: 0,
    told: expect.arrayContaining([expect.stringContaining("3 more were lost")]),
  });
});

test("a capture that is gone already is no error, and one that cannot be removed is named", async () => {
  const none = async function* () {};
  const gone = new LabwrightError("gone", { status: 404, code: "capture_not_found" });
  expect(await followed(none, [gone])).toMatchObject({ end: 0, removed: [] });
  const refused = new LabwrightError("not yours", { status: 403, code: "operation_not_allowed" });
  expect((await followed(none, [refused])).end).toMatchObject({
    message: "the capture c1 may still run: not yours",
    hint: "labwright capture --remove c1 ends it",
  });
});
