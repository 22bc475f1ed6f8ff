import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localPaths } from "../machine/paths.ts";
import { makeDecoderDirectory, maxRequestBytes, Sharkd } from "./sharkd.ts";

const program = localPaths(process.env, process.getuid!()).decoder;
let work: string;
let sharkd: Sharkd;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-sharkd-"));
  await makeDecoderDirectory(join(work, "view"));
  // On a busy machine, with sanitizers, sharkd takes seconds to start.
  sharkd = new Sharkd(program, join(work, "view"), work, { long: 60_000, short: 60_000 });
});
afterEach(async () => {
  await sharkd.close();
  await rm(work, { recursive: true, force: true });
});

test("a request as long as sharkd reads is answered, and a longer one is never sent", async () => {
  const around = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "check", params: { filter: "" } }).length;
  const filter = "ip".padEnd(maxRequestBytes - around, " ");
  expect(await sharkd.request("check", { filter })).toMatchObject({ status: "OK" });
  await expect(sharkd.request("check", { filter: `${filter} ` })).rejects.toMatchObject({ code: "host_error" });
  expect(await sharkd.request("check", { filter: "ip" })).toMatchObject({ status: "OK" });
});

test("a request that sharkd does not understand ends with its answer, not with its deadline", async () => {
  const refused = await sharkd.request("no such method \0").catch((error: Error) => error);
  expect(refused).toMatchObject({ code: "host_error" });
  expect((refused as Error).message).not.toMatch(/took longer/);
});

test("a request that takes longer than its deadline ends sharkd", async () => {
  const slow = new Sharkd(program, join(work, "view"), work, { long: 60_000, short: 1 });
  await expect(slow.request("status")).rejects.toMatchObject({
    code: "host_error",
    message: expect.stringContaining("sharkd took longer"),
  });
  expect(slow.ended).toBe(true);
  await slow.close();
});
