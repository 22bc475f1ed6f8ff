import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OperationId, operations } from "../../contract/operations.ts";
import { requestSchemas } from "../../contract/schemas/table.ts";
import type { PostgresAddress } from "../../service/store/address/address.ts";
import { cluster, postgresPrograms } from "../../service/store/testing/cluster.fixture.ts";
import { forwardedHeader, forwardedText } from "../forwarding/forwarded.ts";
import { createCertificate } from "../tls/x509.ts";
import { type Member, openMember } from "./fleet.fixture.ts";

const pair = (name: string) => `name: ${name}\nnodes:\n  h1: {template: linux}\n  h2: {template: linux}\nlinks: [[h1:eth0, h2:eth0]]\n`;

let cleanup: AsyncDisposableStack;
let address: PostgresAddress;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function member(name: string, place: number, more: { readonly token?: string; readonly stateDir?: string } = {}): Promise<Member> {
  return cleanup.use(await openMember({ name, place, address, ...more }));
}

/** A fleet of two members, and a session that both know. */
async function two(): Promise<{ readonly one: Member; readonly other: Member; readonly admin: string; readonly ann: string }> {
  address = await (await cluster()).database();
  const one = await member("one", 1);
  const { token } = await one.fleet.calls.createToken(60_000);
  const other = await member("other", 2, { token });
  await one.hasFree(1_000);
  const [admin, ann] = [await one.login("admin"), await one.login("ann")];
  await expect.poll(async () => (await other.client(ann).get("/api/v1/session")).status).toBe(200);
  return { one, other, admin, ann };
}

/** Makes a lab that belongs to `owner`. */
async function deploy(owner: Member, rest: readonly Member[], token: string, name: string): Promise<void> {
  for (const { name: machine } of rest) await owner.store.shared!.machines.set(machine, { state: "cordoned" });
  const answer = await owner.client(token).post("/api/v1/projects/deploy", { yaml: pair(name) });
  expect(answer.json).toMatchObject({ ok: true, data: { placement: { machine: owner.name } } });
  for (const { name: machine } of rest) await owner.store.shared!.machines.set(machine, { state: "active" });
  for (const { store } of rest) await expect.poll(() => store.labs.get(`/${name}`)).toBeDefined();
}

const is = { skip: postgresPrograms === undefined, timeout: 180_000 };

describe("the machines of a fleet", () => {
  test("any of them answers a call about a lab of another one: data, failures, events, streams and changes", is, async () => {
    const { one, other, ann } = await two();
    await deploy(one, [other], ann, "away");
    const client = other.client(ann);
    const status = await client.post("/api/v1/projects/status", { lab: "/away" });
    expect(status.json).toMatchObject({ ok: true, data: { lab: "/away", machine: "one", exists: true } });
    const missing = await client.post("/api/v1/console/attach", { lab: "/away", node: "h9" });
    expect(missing.json).toMatchObject({ ok: false, code: "node_not_found" });
    const attached = await client.post("/api/v1/console/attach", { lab: "/away", node: "h1" });
    const { stream } = attached.json.data as { stream: string };
    expect(stream).toMatch(/^0001[0-9a-f]{60}$/);
    const console = await other
      .client(ann)
      .secure(
        `GET /api/v1/console/stream/${stream} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`,
      );
    await expect.poll(console.heard).toContain("101 Switching Protocols");
    console.socket.write("echo over-there\r");
    await expect.poll(console.heard).toContain("over-there");
    const closed = console.ended();
    console.socket.destroy();
    await closed;
    const events = await other
      .client(ann)
      .secure(`GET /api/v1/events?lab=/away HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\n\r\n`);
    await expect.poll(events.heard).toContain("200 OK");
    const stopped = await client.post("/api/v1/projects/exec", { lab: "/away", action: "stop", nodes: ["h2"] });
    expect(stopped.json).toMatchObject({ ok: true });
    await expect.poll(events.heard).toContain('"status":"stopped"');
    events.socket.destroy();
    expect((await other.client(ann).get("/api/v1/jobs")).json.data.jobs).toHaveLength(2);
    const gone = await client.post("/api/v1/projects/destroy", { lab: "/away" });
    expect(gone.json).toMatchObject({ ok: true });
    expect(one.store.labs.get("/away")).toBeUndefined();
  });

  test("each operation on a lab answers at another machine as at the lab's own", is, async () => {
    const { one, other, admin, ann } = await two();
    await deploy(one, [other], ann, "away");
    const takesLab = (id: OperationId) => {
      const { body, query } = requestSchemas[id] as { body?: { properties?: object }; query?: { properties?: object } };
      return { body: Object.hasOwn(body?.properties ?? {}, "lab"), query: Object.hasOwn(query?.properties ?? {}, "lab") };
    };
    const codes: Record<string, readonly unknown[]> = {};
    for (const id of Object.keys(operations) as OperationId[]) {
      const { method, path, answer } = operations[id];
      const takes = takesLab(id);
      if ((!takes.body && !takes.query) || answer !== "data" || id === "destroyProject") continue;
      const asked = async (by: Member) => {
        const client = by.client(id === "adoptLab" ? admin : ann);
        const sent = takes.body ? { body: JSON.stringify({ lab: "/away" }) } : {};
        const at = takes.query ? `${path}?lab=/away` : path;
        const { json } = await client.call(method, at.replaceAll(/\{\w+\}/g, "none"), sent);
        return [json.ok, json.code, json.error];
      };
      const [own, away] = [await asked(one), await asked(other)];
      expect(away, id).toEqual(own);
      codes[id] = own;
    }
    expect(Object.keys(codes).length).toBeGreaterThan(30);
    expect(codes.getProjectStatus).toEqual([true, undefined, undefined]);
  });

  test("a reader of the events of all labs hears of records and of changes that ended on other machines", is, async () => {
    const { one, other, ann } = await two();
    const events = await other.client(ann).secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\n\r\n`);
    await expect.poll(events.heard).toContain("200 OK");
    await deploy(one, [other], ann, "away");
    const heard = () =>
      [...events.heard().matchAll(/\{"id".*\}/g)].map(([text]) => JSON.parse(text) as { type: string; lab?: string; data?: object });
    await expect.poll(heard).toContainEqual(expect.objectContaining({ type: "lab", lab: "/away", data: { change: "created" } }));
    await expect.poll(heard).toContainEqual(
      expect.objectContaining({
        type: "job",
        lab: "/away",
        data: expect.objectContaining({ operation: "deployProject", status: "done" }),
      }),
    );
    await one.client(ann).post("/api/v1/projects/destroy", { lab: "/away" });
    await expect.poll(heard).toContainEqual(expect.objectContaining({ type: "lab", lab: "/away", data: { change: "deleted" } }));
    events.socket.destroy();
  });

  test("the lists of all of them are one list; rights count everywhere", is, async () => {
    const { one, other, admin, ann } = await two();
    const bob = await other.login("bob");
    await expect.poll(async () => (await one.client(bob).get("/api/v1/session")).status).toBe(200);
    await deploy(one, [other], ann, "first");
    await deploy(other, [one], ann, "second");
    const listed = async (by: Member, token: string) =>
      (await by.client(token).get("/api/v1/labs")).json.data.labs.map(({ lab, machine }: { lab: string; machine: string }) => [
        lab,
        machine,
      ]);
    for (const by of [one, other]) {
      expect(await listed(by, ann)).toEqual([
        ["/first", "one"],
        ["/second", "other"],
      ]);
      expect(await listed(by, bob)).toEqual([]);
    }
    expect((await other.client(bob).post("/api/v1/projects/status", { lab: "/first" })).json).toMatchObject({ code: "lab_not_found" });
    const machines = await other.client(admin).get("/api/v1/machines");
    expect(machines.json.data.machines).toMatchObject([
      { name: "one", state: "active", answers: true, labs: 1 },
      { name: "other", own: true, labs: 1 },
    ]);
    expect((await other.client(ann).get("/api/v1/machines")).json).toMatchObject({ code: "operation_not_allowed" });
  });

  test("a new lab goes where most memory is free, also the deploy of its plan, and never to a cordoned machine", is, async () => {
    const { one, other, admin, ann } = await two();
    await other.hasFree(900);
    await one.hasFree(100);
    const plan = await one.client(ann).post("/api/v1/projects/plan", { yaml: pair("new") });
    expect(plan.json.data).toMatchObject({ placement: { machine: "other" } });
    expect(plan.json.data.text).toContain("Machine: other (other has 900 of 1000 MiB free (90 %)");
    // By now the other one looks full; the plan counts.
    await other.hasFree(70);
    await one.hasFree(100);
    const { plan_identity: identity } = plan.json.data as { plan_identity: string };
    const applied = await one.client(ann).post("/api/v1/projects/reconcile", { yaml: pair("new"), plan_identity: identity });
    expect(applied.json).toMatchObject({ ok: true, data: { placement: { machine: "other" }, fullDeploy: true } });
    const cordoned = await one
      .client(admin)
      .call("PUT", "/api/v1/machines", { body: JSON.stringify({ name: "other", state: "cordoned" }) });
    expect(cordoned.json.data.machines[1]).toMatchObject({ name: "other", state: "cordoned" });
    expect((await one.client(ann).post("/api/v1/projects/deploy", { yaml: pair("newer") })).json.data.placement.machine).toBe("one");
    await one
      .client(admin)
      .call("PUT", "/api/v1/machines", { body: JSON.stringify({ name: "other", state: "active", labels: { gpu: "true" } }) });
    await other.hasFree(900);
    await one.hasFree(900);
    const labelled = await one.client(ann).post("/api/v1/projects/deploy", { yaml: `${pair("labelled")}place: {labels: {gpu: true}}\n` });
    expect(labelled.json.data.placement).toEqual({
      machine: "other",
      reasons: [expect.stringContaining("other has"), "one lacks the label gpu=true"],
    });
    const named = await other.client(ann).post("/api/v1/projects/deploy", { yaml: `${pair("named")}place: {machine: one}\n` });
    expect(named.json.data.placement.machine).toBe("one");
    const nowhere = await other.client(ann).post("/api/v1/projects/deploy", { yaml: `${pair("nowhere")}place: {machine: third}\n` });
    expect(nowhere.json).toMatchObject({
      code: "invalid_intent",
      data: { diagnostics: [{ code: "no_machine", message: "there is no machine third", line: 6 }] },
    });
    // A plan of another text, and of a machine that is cordoned since, does not count.
    const moved = (machine: string) => ({ yaml: `${pair("moved")}place: {machine: ${machine}}\n` });
    expect((await one.client(ann).post("/api/v1/projects/plan", moved("other"))).json.data.placement.machine).toBe("other");
    expect((await one.client(ann).post("/api/v1/projects/plan", moved("one"))).json.data.placement).toEqual({
      machine: "one",
      reasons: [expect.stringContaining("one has")],
    });
    const checked = async (place: string) =>
      (await one.client(ann).post("/api/v1/projects/validate", { yaml: `${pair("checked")}place: ${place}\n` })).json;
    const wrong = (line: string) => ({
      code: "invalid_intent",
      data: { diagnostics: [{ code: "no_machine", message: line, line: 6, path: expect.any(String) }] },
    });
    expect(await checked("{machine: third}")).toMatchObject(wrong("there is no machine third"));
    expect((await checked("{machine: third}")).data.diagnostics[0].hint).toBe("machines that run labs: one, other");
    expect(await checked("{labels: {gpu: false}}")).toMatchObject(wrong("no machine has the labels gpu=false"));
    expect(await checked("{machine: one, labels: {gpu: true}}")).toMatchObject(wrong("the machine one lacks the labels gpu=true"));
    for (const place of ["{machine: one}", "{labels: {gpu: true}}", "spread"]) expect(await checked(place)).toMatchObject({ ok: true });
    await one.client(admin).call("PUT", "/api/v1/machines", { body: JSON.stringify({ name: "other", state: "cordoned" }) });
    // Plans take no memory: a user could make all machines look full with them.
    const much = (name: string) => ({ yaml: `name: ${name}\nnodes:\n  h1: {template: linux, memory: 400}\n` });
    await one.hasFree(900);
    for (const name of ["a", "b", "c"]) expect((await one.client(ann).post("/api/v1/projects/plan", much(name))).json.ok).toBe(true);
    const large = "name: large\nnodes:\n  h1: {template: linux, memory: 4096}\n";
    const refused = await one.client(ann).post("/api/v1/projects/deploy", { yaml: large });
    expect(refused.json).toMatchObject({ code: "host_error" });
    expect(refused.json.error).toMatch(
      /no machine of the fleet can take the lab: one has \d+ MiB free, and the lab needs 4096; other is cordoned/,
    );
  });

  test(
    "a machine with nodes of labs that are spread over machines: the list has their number, and it is not removed by mistake",
    is,
    async () => {
      const { one, other, admin } = await two();
      other.fleet.reportParts(() => ["/ring"]);
      await other.hasFree(1_000);
      const listed = async () => (await one.client(admin).get("/api/v1/machines")).json.data.machines;
      await expect.poll(listed).toMatchObject([{ name: "one" }, { name: "other", labs: 0, parts: 1 }]);
      expect((await listed())[0]).not.toHaveProperty("parts");
      const refused = await one.client(admin).post("/api/v1/machines/remove", { name: "other" });
      expect(refused.json).toMatchObject({ code: "operation_not_allowed", error: expect.stringContaining("these nodes would be lost") });
      expect((await one.client(admin).post("/api/v1/machines/remove", { name: "other", force: true })).json).toMatchObject({ ok: true });
    },
  );

  test(
    "a machine that does not answer: calls and lists say since when, its labs stay its own, and it goes on when it is back",
    is,
    async () => {
      const { one, other, ann } = await two();
      await deploy(one, [other], ann, "away");
      const change = { id: "cut", lab: "/away", identity: "i1", owner: "ann", operation: "reconcileProject", user: "ann", request: null };
      await one.store.jobs.insert({ ...change, status: "running", startedAt: Date.now(), steps: [], done: 0 });
      await one.crash();
      const lost = await other.client(ann).post("/api/v1/projects/status", { lab: "/away" });
      expect(lost).toMatchObject({
        status: 503,
        json: { code: "machine_unreachable", data: { machine: "one", seen_at: expect.any(String) } },
      });
      const changed = await other.client(ann).post("/api/v1/projects/destroy", { lab: "/away" });
      expect(changed.json.error).toContain("no connection to it: nothing was changed");
      const bob = await other.login("bob");
      expect((await other.client(bob).post("/api/v1/projects/status", { lab: "/away" })).json).toMatchObject({ code: "lab_not_found" });
      const [entry] = (await other.client(ann).get("/api/v1/labs")).json.data.labs;
      expect(entry).toMatchObject({ lab: "/away", machine: "one", unreachable_since: expect.any(String), exists: true });
      const silent = { status: "running", machine: "one", unreachable_since: entry!.unreachable_since };
      await expect.poll(async () => (await other.client(ann).get("/api/v1/jobs/cut")).json.data, { timeout: 20_000 }).toMatchObject(silent);
      expect((await other.client(ann).get("/api/v1/jobs")).json.data.jobs[0]).toMatchObject({ job: "cut", ...silent });
      const again = await member("one", 1, { stateDir: one.stateDir });
      await expect
        .poll(async () => (await other.client(ann).post("/api/v1/projects/status", { lab: "/away" })).json.data?.machine)
        .toBe("one");
      expect(again.store.shared!.machines.own).toBe(1);
    },
  );

  test("a machine that goes silent on its open connections: calls fail, and consoles and events end", is, async () => {
    const { one, other, ann } = await two();
    await deploy(one, [other], ann, "away");
    const connections = new Set<Socket>();
    const { hostname, port } = new URL(one.url);
    const between = createServer((socket) => {
      const onward = connect(Number(port), hostname);
      for (const end of [socket, onward]) connections.add(end.on("error", () => {}));
      socket.pipe(onward).pipe(socket);
    }).listen(0, "127.0.0.1");
    cleanup.defer(() => {
      between.close();
      for (const socket of connections) socket.destroy();
    });
    await once(between, "listening");
    const { query } = await cluster();
    const database = String((address as unknown as { url: string }).url.split("/").at(-1));
    await query(database, `UPDATE machines SET url = 'https://127.0.0.1:${(between.address() as AddressInfo).port}' WHERE name = 'one'`);
    await other.hasFree(900);
    const client = other.client(ann);
    const { stream } = (await client.post("/api/v1/console/attach", { lab: "/away", node: "h1" })).json.data as { stream: string };
    const opened = (asked: string) => other.client(ann).secure(`${asked} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\n`);
    const console = await opened(`GET /api/v1/console/stream/${stream}`);
    console.socket.write("Connection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n");
    const events = await opened("GET /api/v1/events?lab=/away");
    events.socket.write("\r\n");
    await expect.poll(console.heard).toContain("101 Switching Protocols");
    await expect.poll(events.heard).toContain("200 OK");
    expect((await client.post("/api/v1/projects/status", { lab: "/away" })).json.ok).toBe(true);
    expect(connections.size).toBeGreaterThan(0);
    between.removeAllListeners("connection").on("connection", (socket) => connections.add(socket));
    for (const socket of connections) socket.unpipe().pause();
    const lost = await client.post("/api/v1/projects/status", { lab: "/away" });
    expect(lost.json).toMatchObject({ code: "machine_unreachable", data: { machine: "one" } });
    expect(lost.json.error).toContain("ended before its answer");
    await Promise.all([console.ended(), events.ended()]);
  });

  /** As if this machine had neither renewed its lease nor reported for a minute. */
  async function lose({ name }: Member): Promise<void> {
    const database = (address as PostgresAddress & { url: string }).url.split("/").at(-1)!;
    const { query } = await cluster();
    await query(database, `UPDATE machines SET seen_at = seen_at - interval '1 min' WHERE name = '${name}'`);
    await query(
      database,
      `UPDATE services SET ends_at = clock_timestamp() - interval '1 s' FROM machines WHERE services.installation = machines.installation AND name = '${name}' AND ended_at IS NULL`,
    );
  }

  test("labs with resume: always start on another machine when theirs is lost, once; it ends its own when it is back", is, async () => {
    const { one, other, ann } = await two();
    const third = await member("third", 3, { token: (await one.fleet.calls.createToken(60_000)).token });
    await deploy(one, [other, third], ann, "kept");
    await deploy(one, [other, third], ann, "left");
    await one.store.labs.put({ ...one.store.labs.get("/kept")!, resume: "always" });
    for (const { store } of [other, third]) await expect.poll(() => store.labs.get("/kept")?.resume).toBe("always");
    // Both read that it is silent, and look at once. It goes on reporting and renewing its lease, so that it may be back before they look.
    const afterLoss = async () => {
      await lose(one);
      await Promise.all([other.hasFree(900), third.hasFree(900)]);
      await Promise.all([other.service.lookAtMachines(), third.service.lookAtMachines()]);
      return (await other.store.shared!.machines.owners()).get("/kept");
    };
    await expect.poll(afterLoss, { timeout: 30_000 }).not.toBe(1);
    const owners = await other.store.shared!.machines.owners();
    const taker = owners.get("/kept") === 2 ? other : third;
    expect([2, 3]).toContain(owners.get("/kept"));
    expect(owners.get("/left")).toBe(1);
    expect(await taker.host.holds?.("/kept")).toBe(true);
    const jobs = (await other.client(ann).get("/api/v1/jobs")).json.data.jobs as { lab: string; operation: string }[];
    expect(jobs.filter(({ lab, operation }) => lab === "/kept" && operation === "deployProject")).toHaveLength(2);
    // The lost machine was only away: it reads that it has lost the lab, and ends it; the other lab is still its own.
    await expect.poll(() => one.store.shared!.machines.elsewhere("/kept")).toBe(owners.get("/kept"));
    await one.service.lookAtMachines();
    expect(await one.host.holds?.("/kept")).toBe(false);
    expect(await one.host.holds?.("/left")).toBe(true);
    for (const by of [one, other, third]) {
      const status = await by.client(ann).post("/api/v1/projects/status", { lab: "/kept" });
      expect(status.json).toMatchObject({ ok: true, data: { machine: taker.name, exists: true } });
    }
    await expect
      .poll(async () => (await other.client(ann).post("/api/v1/projects/exec", { lab: "/left", action: "stop" })).json.ok)
      .toBe(true);
  });

  test("a lab of a lost machine takes no room that others have reserved: it starts on another machine, or waits for room", is, async () => {
    const { one, other, admin, ann } = await two();
    const third = await member("third", 3, { token: (await one.fleet.calls.createToken(60_000)).token });
    await one.hasFree(1_000);
    const yaml = (name: string) => `name: ${name}\nnodes:\n  r1: {template: frr, memory: 300}\n`;
    for (const { name } of [other, third]) await one.store.shared!.machines.set(name, { state: "cordoned" });
    for (const name of ["first", "second"]) {
      expect((await one.client(ann).post("/api/v1/projects/deploy", { yaml: yaml(name) })).json).toMatchObject({ ok: true });
      await one.store.labs.put({ ...one.store.labs.get(`/${name}`)!, resume: "always" });
    }
    for (const { name, store } of [other, third]) {
      await one.store.shared!.machines.set(name, { state: "active" });
      for (const lab of ["/first", "/second"]) await expect.poll(() => store.labs.get(lab)?.resume).toBe("always");
    }
    // 937 MiB of each machine are for labs: beside these, other has room for none of the labs, and third for one.
    const reserve = async (machine: string, memory: number) => {
      const until = new Date(Date.now() + 3_600_000).toISOString();
      const { json } = await one.client(admin).post("/api/v1/reservations", { until, memory_mib: memory, machine });
      expect(json).toMatchObject({ ok: true, data: { machine } });
      return json.data.id as string;
    };
    const held = await reserve("other", 700);
    await reserve("third", 500);
    for (const { store } of [other, third]) await expect.poll(() => store.reservations.list()).toHaveLength(2);
    const afterLoss = async () => {
      await lose(one);
      await Promise.all([other.hasFree(900), third.hasFree(900)]);
      await Promise.all([other.service.lookAtMachines(), third.service.lookAtMachines()]);
      const owners = await other.store.shared!.machines.owners();
      return [owners.get("/first"), owners.get("/second")].toSorted();
    };
    await expect.poll(afterLoss, { timeout: 30_000 }).toEqual([1, 3]);
    expect(await afterLoss()).toEqual([1, 3]);
    const waits = other.log.filter((line) => line.includes("a lab of a lost machine waits for room"));
    expect(waits).toHaveLength(1);
    expect(waits[0]).toContain("other has reserved room (other users have reserved room now");
    await other.client(admin).post("/api/v1/reservations/remove", { id: held });
    await expect.poll(afterLoss, { timeout: 30_000 }).toEqual([2, 3]);
  });

  test("a lab starts elsewhere also if the service of the lost machine was restarted before", is, async () => {
    const { one, other, ann } = await two();
    await deploy(one, [other], ann, "kept");
    await one.store.labs.put({ ...one.store.labs.get("/kept")!, resume: "always" });
    await one.crash();
    await one.service.close();
    const again = await member("one", 1, { stateDir: one.stateDir });
    await again.crash();
    const afterLoss = async () => {
      await lose(again);
      await other.hasFree(900);
      await other.service.lookAtMachines();
      return other.host.holds?.("/kept");
    };
    await expect.poll(afterLoss, { timeout: 30_000 }).toBe(true);
  });

  test("a service that was stopped keeps its labs", is, async () => {
    const { one, other, ann } = await two();
    await deploy(one, [other], ann, "kept");
    await one.store.labs.put({ ...one.store.labs.get("/kept")!, resume: "always" });
    await one.crash();
    await one.service.close();
    await lose(one);
    await other.hasFree(900);
    await other.service.lookAtMachines();
    expect(await other.store.shared!.machines.lostLabs()).toEqual([]);
    expect((await other.store.shared!.machines.owners()).get("/kept")).toBe(1);
  });
});

describe("joining", () => {
  test("needs a token, which one machine uses once; the first machine needs none; a removed one needs a new token", is, async () => {
    const { one, other, admin } = await two();
    await expect(openMember({ name: "third", place: 3, address })).rejects.toThrow(
      "the database has a fleet, and this machine is not part of it",
    );
    const made = await one.client(admin).post("/api/v1/machines/join-tokens", {});
    const { token } = made.json.data as { token: string };
    await expect(openMember({ name: "other", place: 3, address, token })).rejects.toThrow(
      "another machine of the fleet has the name other",
    );
    await member("third", 3, { token });
    await expect(openMember({ name: "fourth", place: 0, address, token })).rejects.toThrow("the join token is unknown, used or expired");
    await expect(openMember({ name: "fourth", place: 0, address, token: "lwj_damaged" })).rejects.toThrow("the join token is damaged");
    const brief = await one.fleet.calls.createToken(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(openMember({ name: "fourth", place: 0, address, token: brief.token })).rejects.toThrow("unknown, used or expired");
    await other.crash();
    const removed = await one.client(admin).post("/api/v1/machines/remove", { name: "other", force: true });
    expect(removed.json.data.machines.map(({ name }: { name: string }) => name)).toEqual(["one", "third"]);
    await expect(openMember({ name: "other", place: 2, address, stateDir: other.stateDir })).rejects.toThrow(
      "this machine was removed from the fleet",
    );
  });

  test("a damaged key of the fleet is named, with the next step", is, async () => {
    const { other } = await two();
    await other.crash();
    writeFileSync(join(other.stateDir, "fleet-key"), "");
    await expect(openMember({ name: "other", place: 2, address, stateDir: other.stateDir })).rejects.toThrow(
      /fleet-key, is damaged: restore it, or remove this machine/,
    );
  });

  test("the database alone has neither the key of the fleet nor a token", is, async () => {
    await two();
    const made = await cluster();
    const database = String((address as unknown as { url: string }).url)
      .split("/")
      .at(-1)!;
    const text = JSON.stringify([
      ...(await made.query(database, "SELECT * FROM fleet")),
      ...(await made.query(database, "SELECT * FROM join_tokens")),
    ]);
    expect(text).not.toContain("PRIVATE KEY");
    expect(text).not.toContain("lwj_");
  });
});

describe("the port of a machine for the others", () => {
  const ask = (url: string, tls: object, path = "/api/v1/labs") =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
      const headers = {
        [forwardedHeader]: forwardedText({ caller: { user: "admin", role: "admin", session: "forged" }, requestId: "1", address: "" }),
      };
      const sent = request(`${url}${path}`, { rejectUnauthorized: false, agent: false, headers, ...tls }, async (response) => {
        const parts: Buffer[] = [];
        for await (const part of response) parts.push(part as Buffer);
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() });
      });
      sent.on("error", reject).end();
    });

  test(
    "refuses clients without a certificate, with one of their own, and a machine that was removed; users cannot name a caller",
    is,
    async () => {
      const { one, other, admin } = await two();
      await expect(ask(one.url, {})).rejects.toThrow();
      const forged = createCertificate({
        subject: "labwright machine 2",
        names: [],
        from: new Date(Date.now() - 1e6),
        until: new Date(Date.now() + 1e9),
        use: "member",
      });
      await expect(ask(one.url, { cert: forged.certificate, key: forged.key })).rejects.toThrow();
      // On the port of users, the header of machines is one of many.
      expect(await ask(one.server.url, {})).toMatchObject({ status: 401 });
      const own = other.fleet.credentials();
      expect(await ask(one.url, { cert: own.certificate, key: own.key })).toMatchObject({ status: 200 });
      const kept = new Agent({ keepAlive: true, cert: own.certificate, key: own.key, rejectUnauthorized: false });
      cleanup.defer(() => kept.destroy());
      expect(await ask(one.url, { agent: kept })).toMatchObject({ status: 200 });
      await other.crash();
      await one.client(admin).post("/api/v1/machines/remove", { name: "other" });
      await expect(ask(one.url, { cert: own.certificate, key: own.key })).rejects.toThrow();
      await expect(ask(one.url, { agent: kept })).rejects.toThrow();
    },
  );

  test(
    "a machine that does not know it yet cannot pass calls on for a session that has ended, or with rights that are gone",
    is,
    async () => {
      const { one, other, ann } = await two();
      const { certificate: cert, key } = other.fleet.credentials();
      const session = createHash("sha256").update(ann).digest("hex");
      const asked = (role: "admin" | "user") => {
        const headers = { [forwardedHeader]: forwardedText({ caller: { user: "ann", role, session }, requestId: "1", address: "" }) };
        return ask(`${one.url}`, { cert, key, headers }, "/api/v1/machines");
      };
      expect(JSON.parse((await asked("admin")).text)).toMatchObject({ code: "operation_not_allowed" });
      await one.client(ann).post("/api/v1/logout", {});
      expect(await asked("user")).toMatchObject({ status: 401 });
    },
  );

  test("connections without a certificate are few, and do not keep other machines away", is, async () => {
    const { one, other } = await two();
    const { hostname, port } = new URL(one.url);
    const strangers = Array.from({ length: 300 }, () => connect(Number(port), hostname).on("error", () => {}));
    cleanup.defer(() => {
      for (const stranger of strangers) stranger.destroy();
    });
    for (const stranger of strangers) stranger.resume();
    await expect.poll(() => strangers.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(44);
    const { certificate: cert, key } = other.fleet.credentials();
    expect(await ask(one.url, { cert, key })).toMatchObject({ status: 200 });
  });

  test("answers no call about a part of a lab to a machine that was removed, also on a connection that is open", is, async () => {
    const { one, other, admin } = await two();
    const call = () => other.fleet.parts.open(1, { name: "isHome", args: { id: "1" } });
    // It answers: members of this test have no host with parts.
    await expect(call()).rejects.toMatchObject({ code: "unsupported" });
    await one.client(admin).post("/api/v1/machines/remove", { name: "other", force: true });
    await expect(call()).rejects.toMatchObject({ code: "machine_unreachable" });
  });

  test("ends the open streams of a machine that was removed, and the service of that machine", is, async () => {
    const { one, other, admin, ann } = await two();
    await deploy(one, [other], ann, "away");
    const events = await other
      .client(ann)
      .secure(`GET /api/v1/events?lab=/away HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\n\r\n`);
    await expect.poll(events.heard).toContain("200 OK");
    await one.client(admin).post("/api/v1/machines/remove", { name: "other", force: true });
    await events.ended();
    await expect.poll(() => other.isRemoved(), { timeout: 10_000 }).toBe(true);
  });
});
