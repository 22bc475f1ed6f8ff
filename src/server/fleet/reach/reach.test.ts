import { afterEach, beforeEach, expect, test } from "vitest";
import { cluster, postgresPrograms } from "../../../service/store/testing/cluster.fixture.ts";
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
});

test("a certificate that is out of date leads to the clocks", () => {
  const machine = { name: "beta", url: "https://192.0.2.2:8444" };
  for (const reason of ["certificate has expired", "certificate is not yet valid"])
    expect(connectionProblem(machine, new Error(reason))).toBe(
      `beta reports, but its certificate is refused (${reason}): the clock of beta or of this machine is wrong (timedatectl)`,
    );
});
