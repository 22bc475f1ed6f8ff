import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import type { HostSession } from "../hosts/host.ts";
import { ConsoleDesk } from "./console-desk.ts";

test("a console that could not be opened is opened by the session of who asks next, as the first may have ended", async () => {
  const desk = new ConsoleDesk(() => true);
  const ended = { console: () => Promise.reject(new Failure("expired_host_session", "the session was closed")) } as unknown as HostSession;
  const fresh = { console: async () => ({ stream: new PassThrough() }) } as unknown as HostSession;
  await expect(desk.view(ended, "/a", "1")).rejects.toMatchObject({ code: "expired_host_session" });
  const turn = { timeoutMs: 1_000, signal: new AbortController().signal };
  await expect(desk.inTurn(ended, { path: "/a", nodeId: "2" }, turn, async () => {})).rejects.toMatchObject({
    code: "expired_host_session",
  });
  // Nothing is kept of what nobody could look at.
  expect(desk.count).toBe(0);
  const stream = await desk.view(fresh, "/a", "1");
  expect(stream.destroyed).toBe(false);
  expect(desk.count).toBe(1);
  stream.destroy();
  await desk.close();
});
