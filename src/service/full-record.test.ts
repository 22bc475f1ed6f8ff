import { afterEach, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { type Bench, createBench, failureOf, pair } from "./service.fixture.ts";

/** Changes that the host did, but whose record could not be written to a full disk. */

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

const lab = "/pair";
const noRoom = () => {
  throw new Failure("internal", "the service's database failed: its file system is full");
};
const done = /^the host did every step, but the record of it could not be written: the service's database failed/;

test("a destroy whose record cannot be written reports that the host did it, and lists its steps", async () => {
  const made = createBench();
  benches.push(made);
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  Object.assign(made.store.labs, { delete: noRoom });
  const failure = await failureOf(ann.call("destroyProject", { lab }));
  expect(failure.message).toMatch(done);
  expect(failure.data).toMatchObject({ applied: expect.arrayContaining([expect.objectContaining({ op: "delete" })]), remaining: [] });
});

test("a deploy whose record cannot be written reports that the host did it, and lists its steps", async () => {
  const made = createBench();
  benches.push(made);
  const ann = await made.login();
  const { put } = made.store.labs;
  made.step = () => {
    Object.assign(made.store.labs, { put: noRoom });
  };
  const failure = await failureOf(ann.call("deployProject", { yaml: pair }));
  Object.assign(made.store.labs, { put });
  expect(failure.message).toMatch(done);
  const applied = expect.arrayContaining([expect.objectContaining({ op: "start", key: "r1" })]);
  expect(failure.data).toMatchObject({ applied, failed: [], remaining: [] });
});
