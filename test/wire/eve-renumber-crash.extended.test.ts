import { afterEach, describe, expect, it } from "vitest";
import { eveHost } from "../../src/hosts/eve/host.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import type { RawClient } from "./raw-client.ts";
import { serve } from "./served.ts";

const yaml = (name: string, start: boolean) =>
  `name: ${name}\nnodes:\n  pc1: {template: vpcs, start: ${start}}\n  pc2: {template: vpcs, start: ${start}}\nlinks:\n  - ["pc1:eth0", "pc2:eth0"]\n`;

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Clash {
  readonly fake: FakeEve;
  readonly client: RawClient;
  /** The numbers in the lab's file. */
  readonly numbers: () => readonly string[];
  /** A renumber of /b by a service that ends before it records the result. */
  readonly lostRenumber: () => Promise<unknown>;
}

/** /a runs; /b is stopped, has the same numbers and, with sameId, the same lab id, and the service has a record of both. */
async function clash(notices: "visible" | "hidden", sameId: boolean): Promise<Clash> {
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], lockTimeoutMs: 200, notices });
  ends.push(async () => {
    await fake.close();
    expect([fake.defects, fake.locks()]).toEqual([[], []]);
  });
  const timing = { pollMs: 10, patienceMs: 5_000, comeUpMs: 1_000, settleMs: 300, othersMs: 0 };
  const host = eveHost({ url: fake.url, plainHttp: true, warn: () => {}, timing });
  const service = await serve({ host });
  ends.push(async () => service[Symbol.asyncDispose]());
  const client = await service.signIn("admin", "eve");
  expect((await client.post("/api/v1/projects/deploy", { yaml: yaml("a", true) })).status).toBe(200);
  const id = sameId ? "$&" : `$1${crypto.randomUUID()}`;
  fake.putLabFile("/b.unl", (fake.labFile("/a.unl") ?? "").replace(/(<lab [^>]*\bid=")[^"]*/, id));
  expect((await client.post("/api/v1/labs/adopt", { lab: "/b" })).status).toBe(200);
  const lostRenumber = async () => {
    const session = await host.login("admin", "eve");
    const result = await session.renumber?.("/b", { nodes: {}, networks: {}, links: {} }).catch((error: unknown) => error);
    await session.close();
    // The service that starts again does not know which lab runs.
    fake.expireSession("admin");
    return result;
  };
  const numbers = () => [...(fake.labFile("/b.unl") ?? "").matchAll(/<node [^>]*\bid="(\d+)"/g)].map(([, number = ""]) => number);
  return { fake, client, numbers, lostRenumber };
}

describe.each([
  ["visible", false],
  ["hidden", false],
  ["visible", true],
] as const)("with notices %s, a renumber that broke off (two labs with one id: %s)", (notices, sameId) => {
  const planned = async ({ client }: Clash) => (await client.post("/api/v1/projects/plan", { lab: "/b", yaml: yaml("b", true) })).json.data;

  it("after the new numbers were written is found by the next plan, which starts the nodes by their new numbers", async () => {
    const here = await clash(notices, sameId);
    await here.lostRenumber();
    expect(here.numbers()).toEqual(["3", "4"]);
    const plan = await planned(here);
    expect([plan.applicable, plan.blocked, plan.operations.map(({ id }: { readonly id: string }) => id)]).toEqual([
      true,
      [],
      ["start:node:pc1", "start:node:pc2"],
    ]);
    const applied = await here.client.post("/api/v1/projects/reconcile", {
      lab: "/b",
      yaml: yaml("b", true),
      confirm: true,
      plan_identity: plan.plan_identity,
    });
    expect([applied.status, applied.json.error]).toEqual([200, undefined]);
    expect(here.fake.running()).toHaveLength(4);
    expect((await planned(here)).actions).toEqual([]);
  });

  it("before the new numbers were written is repeated: plan and stop lead to labwright renumber, which then works", async () => {
    const here = await clash(notices, sameId);
    here.fake.breakNext(/POST \/api\/import/, "cut before");
    expect(await here.lostRenumber()).toMatchObject({ code: expect.stringMatching(/^host_/) });
    expect(here.numbers()).toEqual(["1", "2"]);
    const { applicable, blocked } = await planned(here);
    expect([applicable, blocked.map(({ reason }: { readonly reason: { readonly code: string } }) => reason.code)]).toEqual([
      false,
      ["number_clash", "number_clash"],
    ]);
    expect(blocked[0].reason.text).toContain("labwright stop");
    // Which lab runs is settled by a stop of the lab that does not, and with one id by nothing but the renumber.
    const stop = await here.client.post("/api/v1/projects/exec", { lab: "/b", action: "stop" });
    expect([stop.status, stop.json.error]).toEqual(sameId ? [409, expect.stringContaining("labwright renumber")] : [200, undefined]);
    if (!sameId) expect((await planned(here)).blocked[0].reason.text).toContain("labwright renumber");
    expect(here.fake.running()).toHaveLength(2);
    const again = await here.client.post("/api/v1/projects/renumber", { lab: "/b" });
    expect([again.status, again.json.error]).toEqual([200, undefined]);
    expect(here.numbers()).toEqual(["3", "4"]);
    expect((await planned(here)).blocked).toEqual([]);
    expect(here.fake.running()).toHaveLength(2);
  });
});
