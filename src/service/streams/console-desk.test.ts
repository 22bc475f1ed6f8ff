import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { ConsoleDesk } from "./console-desk.ts";

test("after a failed open, a console is opened with the next caller's session, because the first session may have ended", async () => {
  const desk = new ConsoleDesk(
    () => true,
    async () => "",
  );
  const ended = { console: () => Promise.reject(new Failure("expired_host_session", "the session was closed")) } as unknown as HostSession;
  const fresh = { console: async () => ({ stream: new PassThrough() }) } as unknown as HostSession;
  await expect(desk.view(ended, "/a", "1")).rejects.toMatchObject({ code: "expired_host_session" });
  const turn = { timeoutMs: 1_000, signal: new AbortController().signal };
  await expect(desk.inTurn(ended, { path: "/a", nodeId: "2" }, turn, async () => {})).rejects.toMatchObject({
    code: "expired_host_session",
  });
  // A console that failed to open is not kept.
  expect(desk.count).toBe(0);
  const stream = await desk.view(fresh, "/a", "1");
  expect(stream.destroyed).toBe(false);
  expect(desk.count).toBe(1);
  stream.destroy();
  await desk.close();
});

test("the next lab at a path has consoles of its own; consoles of the lab that left end", async () => {
  let lab = "first";
  const desk = new ConsoleDesk(
    () => true,
    async () => lab,
  );
  const opened: { readonly lab: string; readonly stream: PassThrough }[] = [];
  const host = {
    console: async () => {
      const one = { lab, stream: new PassThrough() };
      opened.push(one);
      return one;
    },
  } as unknown as HostSession;
  const before = await desk.view(host, "/a", "1");
  lab = "second";
  const after = await desk.view(host, "/a", "1");
  expect(opened.map((one) => one.lab)).toEqual(["first", "second"]);
  desk.closeLab("/a");
  for (const stream of [before, after]) await expect.poll(() => stream.resume().destroyed).toBe(true);
  expect(opened.map(({ stream }) => stream.destroyed)).toEqual([true, true]);
  expect(desk.count).toBe(0);
  await desk.close();
});

test("a console of a lab that left its path while the console was opened is refused", async () => {
  let lab = "first";
  const desk = new ConsoleDesk(
    () => true,
    async () => lab,
  );
  const stream = new PassThrough();
  const host = {
    console: async () => {
      lab = "second";
      return { stream };
    },
  } as unknown as HostSession;
  await expect(desk.view(host, "/a", "1")).rejects.toMatchObject({ code: "lab_not_found" });
  expect(stream.destroyed).toBe(true);
  await desk.close();
});

test("a console that closes while it opens is refused with its node, its lab and the reason", async () => {
  for (const [end, why] of [
    [(desk: ConsoleDesk) => desk.closeLab("/a"), "the lab is no longer at this path, or has another owner"],
    [(desk: ConsoleDesk) => desk.close(), "the service is shutting down"],
  ] as const) {
    const desk = new ConsoleDesk(
      () => true,
      async () => "lab",
    );
    const host = {
      console: async () => {
        await end(desk);
        return { stream: new PassThrough() };
      },
    } as unknown as HostSession;
    await expect(desk.view(host, "/a", "7")).rejects.toMatchObject({
      code: "node_not_running",
      message: `the console of node 7 of /a is closed: ${why}`,
    });
    await desk.close();
  }
});
