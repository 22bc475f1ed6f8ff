import { afterEach, beforeEach, expect, test } from "vitest";
import { postgresAddress } from "../../../service/store/address/address.ts";
import { cluster, postgresPrograms } from "../../../service/store/testing/cluster.fixture.ts";
import { FaultyProxy } from "../../../service/store/testing/faulty-proxy.fixture.ts";
import { openMember } from "../fleet.fixture.ts";
import { connectionProblem } from "./reach.ts";

const is = { skip: postgresPrograms === undefined, timeout: 240_000 };

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

test("the list of machines names one that reports, and that the machine which answers cannot call", is, async () => {
  const address = await (await cluster()).database();
  const one = cleanup.use(await openMember({ name: "one", place: 1, address }));
  const { token } = await one.fleet.calls.createToken(600_000);
  const other = cleanup.use(await openMember({ name: "other", place: 2, address, token }));
  const admin = await one.login("admin");
  const listed = async () => (await one.client(admin).get("/api/v1/machines")).json.data.machines;
  await one.hasFree(1_000);
  expect((await listed()).map(({ name, problem }: { name: string; problem?: string }) => [name, problem])).toEqual([
    ["one", undefined],
    ["other", undefined],
  ]);
  // It goes on reporting, but nothing listens at its address.
  await other.server.close();
  await other.hasFree(1_000);
  await one.hasFree(1_000);
  const [, away] = await listed();
  expect(away).toMatchObject({ name: "other", answers: true });
  expect(away.problem).toContain(`other reports, but this machine has no connection to it at ${other.url} (`);
  expect(away.problem).toContain("allow that TCP port between the machines, or correct its --advertise");
  // It gets no labs, although it has the most memory.
  await one.hasFree(500);
  const lab = { yaml: "name: near\nnodes:\n  h1: {template: linux}\n" };
  const { placement } = (await one.client(admin).post("/api/v1/projects/plan", lab)).json.data;
  expect(placement.machine).toBe("one");
  expect(placement.reasons.join("; ")).toContain("other cannot be called: other reports, but this machine has no connection to it");
});

test("labs and machines are listed from memory while the database is away, and the health says how old that is", is, async () => {
  const { socket, database } = await cluster();
  const { config } = await database();
  const proxy = new FaultyProxy(`${socket}/.s.PGSQL.5432`);
  const address = postgresAddress(`postgres://labwright@127.0.0.1:${await proxy.listen()}/${config.database}`);
  cleanup.defer(() => proxy.close());
  const one = cleanup.use(await openMember({ name: "one", place: 1, address }));
  const { token } = await one.fleet.calls.createToken(600_000);
  const other = cleanup.use(await openMember({ name: "other", place: 2, address, token }));
  await one.hasFree(500);
  const admin = await one.login("admin");
  const asOne = one.client(admin);
  for (const name of ["a", "b"]) {
    const made = await (name === "a" ? asOne : other.client(admin)).post("/api/v1/projects/deploy", {
      yaml: `name: ${name}\nplace: {machine: ${name === "a" ? "one" : "other"}}\nnodes:\n  h1: {template: linux}\n`,
    });
    expect(made.json.ok).toBe(true);
  }
  const lists = async () => {
    const [labs, machines] = [await asOne.get("/api/v1/labs"), await asOne.get("/api/v1/machines")];
    const counted = machines.json.data.machines.map(({ name, labs: count }: { name: string; labs: number }) => `${name} ${count}`);
    return [...labs.json.data.labs.map(({ lab, machine }: { lab: string; machine: string }) => `${lab} ${machine}`), ...counted];
  };
  await expect.poll(lists).toEqual(["/a one", "/b other", "one 1", "other 1"]);
  proxy.set("refuse");
  await expect.poll(async () => (await asOne.get("/api/v1/health")).json.data.store?.reachable, { timeout: 30_000 }).toBe(false);
  expect(await lists()).toEqual(["/a one", "/b other", "one 1", "other 1"]);
  expect((await asOne.get("/api/v1/labs")).headers["age"]).toMatch(/^\d+$/);
  proxy.set("none");
});

test("a certificate that is out of date leads to the clocks", () => {
  const machine = { name: "beta", url: "https://192.0.2.2:8444" };
  for (const reason of ["certificate has expired", "certificate is not yet valid"])
    expect(connectionProblem(machine, new Error(reason))).toBe(
      `beta reports, but its certificate is refused (${reason}): the clock of beta or of this machine is wrong (timedatectl)`,
    );
});
