import { chmod, mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, type TestLocalHost, testLocalHost } from "../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "./create-service.ts";
import type { Handlers, Service } from "./service.ts";
import { sqliteStore } from "./store/sqlite.ts";

/** Two virtual machines with nothing to boot: one has a screen. */
const yaml = `name: screens
nodes:
  seen: {template: qemu, image: blank, ram: 32, attributes: {video: std}}
  unseen: {template: qemu, image: blank, ram: 32}
`;

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), call);
}

beforeAll(async () => {
  local = await testLocalHost();
  const home = join(local.paths.vmImages, "blank");
  await mkdir(home);
  await writeFile(join(home, "disk.raw"), Buffer.alloc(1 << 20));
  await chmod(home, 0o755);
  await chmod(join(home, "disk.raw"), 0o644);
  await local.reopen();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, call)).token!;
  await post("deployProject", { yaml });
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

test("the consoles list contains the screen address of a running virtual machine that has a screen", async () => {
  const listed = () => post("listProjectConsoles", { yaml });
  const { consoles } = await eventually(
    "both run",
    60_000,
    listed,
    ({ consoles: all = [] }) => all.length === 2 && all.every(({ status }) => status === "running"),
  );
  expect(
    consoles?.map(({ node, console_type, vnc }) => [node, console_type, vnc?.replace(/^unix:.*\/vnc-\d+\.sock$/, "a socket")]),
  ).toEqual([
    ["seen", "serial", "a socket"],
    ["unseen", "serial", undefined],
  ]);
  const path = consoles?.[0]?.vnc?.slice("unix:".length) ?? "";
  await eventually(
    "a VNC server speaks there",
    60_000,
    () => greeting(path),
    (greeting) => greeting.startsWith("RFB 003."),
  );
  await post("execProject", { yaml, action: "stop", stopmode: 1 });
  expect((await listed()).consoles?.map(({ status, vnc }) => [status, vnc])).toEqual([
    ["stopped", undefined],
    ["stopped", undefined],
  ]);
});

function greeting(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("data", (bytes) => {
      resolve(bytes.toString("latin1"));
      socket.destroy();
    });
    socket.once("error", (error) => resolve(error.message)).once("close", () => resolve(""));
  });
}
