import { afterEach, expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";
import { memoryHost } from "../hosts/memory/memory-host.ts";
import { type Bench, createBench, failureOf, pair, users } from "./service.fixture.ts";

/** Changes that the host did, but whose record could not be written to a full disk, or whose result could not be read. */

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
const done = /^the host did every step \(\d+ of \d+\), but the record of it could not be written: the service's database failed/;

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

/** A host whose lab cannot be read so many times after the first step of a change. */
async function deployThatCannotBeRead(times: number): Promise<Bench & { readonly ann: Awaited<ReturnType<Bench["login"]>> }> {
  let left = 0;
  const beforeStep = () => {
    left = times;
  };
  const memory = memoryHost({ users, beforeStep });
  const host: typeof memory = {
    ...memory,
    login: async (user, password) => {
      const session = await memory.login(user, password);
      return {
        ...session,
        observe: async (path) => {
          if (left-- > 0) throw new Failure("host_error", "the host answered with an error (HTTP status 500)");
          return session.observe(path);
        },
      };
    },
  };
  const made = createBench({ host });
  benches.push(made);
  return Object.assign(made, { ann: await made.login() });
}

test("a deploy whose result cannot be read at the first try succeeds", async () => {
  const { ann } = await deployThatCannotBeRead(1);
  expect(await ann.call("deployProject", { yaml: pair })).toMatchObject({ lab, nodes: 2 });
});

test("a deploy whose result cannot be read reports that the host did every step, and the next plan is empty", async () => {
  const { ann } = await deployThatCannotBeRead(2);
  const failure = await failureOf(ann.call("deployProject", { yaml: pair }));
  expect([failure.code, failure.message]).toEqual([
    "host_error",
    expect.stringMatching(/^the host did every step \(\d+ of \d+\), but the lab could not be read afterwards: the host answered/),
  ]);
  expect(failure.data).toMatchObject({ failed: [], remaining: [] });
  expect((await ann.call("planProject", { lab })).actions).toEqual([]);
});
