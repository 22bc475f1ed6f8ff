import { duplexPair } from "node:stream";
import { afterEach, expect, test } from "vitest";
import type { EventData } from "../contract/schemas/observe.ts";
import { type Bench, type Client, createBench, failureOf, pair, until } from "./service.fixture.ts";

/** Labs without a record on a host with labs and rights of its own, as EVE-NG is: each user gets what the host shows to that user's session. */

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const lab = "/pair";

async function unrecorded(): Promise<{ readonly made: Bench; readonly ann: Client; readonly bob: Client; readonly admin: Client }> {
  const made = createBench({ ownLabs: true, statusIntervalMs: 250, events: { intervalMs: 20, heartbeatMs: 50 } });
  benches.push(made);
  const [ann, bob, admin] = [await made.login(), await made.login("bob"), await made.login("admin")];
  await ann.call("deployProject", { yaml: pair });
  made.store.labs.delete(lab);
  return { made, ann, bob, admin };
}

test("what one user's host session reads of a lab without a record, and the console it holds open, are not another user's", async () => {
  const { ann, bob } = await unrecorded();
  expect(await ann.call("getProjectStatus", { lab })).toMatchObject({ mode: "load", live: { available: true } });
  await ann.call("listProjectConsoles", { lab });
  const { stream } = await ann.call("attachConsole", { lab, node: "r1" });
  await ann.get("streamConsole", { ticket: stream });
  for (const id of ["getProjectStatus", "listProjectConsoles", "attachConsole", "execConsole", "inspectProject"] as const) {
    const body = { lab, node: "r1", command: "hello" };
    expect([id, (await failureOf(bob.call(id, body))).code]).toEqual([id, "lab_not_found"]);
    await ann.call("getProjectStatus", { lab });
  }
});

test("events of a lab without a record go only to the user whose session read them", async () => {
  const { ann, bob, admin } = await unrecorded();
  const heard = new Map<string, EventData[]>();
  const leaving = new AbortController();
  const listen = async (name: string, client: Client, query: object) => {
    const events = (await client.get("events", {}, query)) as AsyncIterable<EventData>;
    heard.set(name, []);
    void (async () => {
      for await (const event of events) {
        if (leaving.signal.aborted) return;
        heard.get(name)!.push(event);
      }
    })();
  };
  await listen("ann", ann, { lab });
  await listen("bob", bob, {});
  expect((await failureOf(listen("bob", bob, { lab }))).code).toBe("lab_not_found");
  await admin.call("destroyProject", { lab });
  await until(() => heard.get("ann")!.some(({ type }) => type === "lab" || type === "node"));
  await until(() => heard.get("bob")!.filter(({ type }) => type === "heartbeat").length > 3);
  leaving.abort();
  expect(heard.get("bob")!.filter(({ type }) => type !== "heartbeat")).toEqual([]);
});

test("a stream of the lab ends when it gets a record", async () => {
  const { ann, admin } = await unrecorded();
  const { stream } = await ann.call("attachConsole", { lab, node: "r1" });
  const upgrade = (await ann.get("streamConsole", { ticket: stream })) as unknown as { attach(connection: unknown): void };
  const [near, far] = duplexPair();
  upgrade.attach(near);
  far.resume();
  await admin.call("adoptLab", { lab, owner: "bob" });
  await until(() => near.destroyed);
  expect((await failureOf(ann.call("getProjectStatus", { lab }))).code).toBe("lab_not_found");
});
