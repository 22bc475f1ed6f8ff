import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import { planLab } from "../../../engine/plan/plan-lab.ts";
import type { Host, HostSession } from "../../host.ts";
import { deploy, destroy, filesIn, fleet, login, type Machine, path, progress, spreadLab } from "./spread-fleet.fixture.ts";

/* A node is never made on a second machine while it may be on the first one. */

const namesIn = async (session: HostSession) => (await session.observe(path))!.nodes.map(({ name, id }) => `${name} ${id}`).sort();

async function planned(session: HostSession) {
  const observed = await session.observe(path);
  const { operations } = planLab({ desired: spreadLab, observed, rules: await session.rules(), prune: false, replace: false });
  return session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
}

/** Changes the record of the lab on the disk of its home machine, whose service does not run. */
async function editRecord(home: Machine, edit: (record: Record<string, unknown>) => object): Promise<void> {
  const file = join(home.directory, "labs", (await filesIn(home, "labs"))[0]!);
  await writeFile(file, JSON.stringify(edit(JSON.parse(await readFile(file, "utf8")))));
}

test("a machine that dies after it has made its nodes, before anybody has seen them, is named until it is back", async () => {
  const { home, other, kill, start } = await fleet();
  const dying: Host = {
    ...other.local,
    resume: async (...account) => {
      const inner = await other.local.resume!(...account);
      const apply: HostSession["apply"] = async (...change) => {
        await inner!.apply(...change);
        kill(other);
        throw new Failure("machine_unreachable", "the connection ended before its answer");
      };
      return inner && { ...inner, apply };
    },
  };
  start(other, { host: dying });
  const session = await login(start(home));
  await expect(deploy(session, spreadLab)).rejects.toMatchObject({ code: "machine_unreachable" });
  expect(await other.local.labIds!()).toHaveLength(1);
  expect(await session.observe(path)).toMatchObject({ nodes: [{ name: "a" }], unseen: ["m2"] });
  start(other);
  expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
  expect((await session.observe(path))!.unseen).toBeUndefined();
});

test("a machine that dies after its nodes were made shows them as they were seen, also if the change itself failed", async () => {
  const { home, other, kill, start } = await fleet();
  start(other);
  let isFailing = true;
  const failing: Host = {
    ...home.local,
    login: async (...account) => {
      const inner = await home.local.login(...account);
      const apply: HostSession["apply"] = async (lab, operations, ...more) => {
        if (isFailing && operations.some(({ step }) => step.do === "start")) {
          kill(other);
          throw new Failure("host_error", "no memory");
        }
        return inner.apply(lab, operations, ...more);
      };
      return { ...inner, apply };
    },
  };
  const session = await login(start(home, { host: failing }));
  await expect(deploy(session, spreadLab)).rejects.toThrow("no memory");
  isFailing = false;
  expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
  expect((await session.status(path)).nodes.map(({ name, status }) => `${name} ${status}`)).toContain("b unknown");
});

test("a record that is older than its parts gets them back before a plan makes their nodes again", async () => {
  const { home, other, kill, start } = await fleet();
  start(other, { sweepMs: 3_600_000 });
  await deploy(await login(start(home, { sweepMs: 3_600_000 })), spreadLab);
  kill(home);
  await editRecord(home, (record) => ({ ...record, parts: {} }));
  const session = await login(start(home, { sweepMs: 3_600_000 }));
  await expect(planned(session)).rejects.toMatchObject({
    code: "plan_stale",
    message: expect.stringContaining("the machine m2 has nodes of this lab"),
  });
  expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
  expect((await planned(session))?.machines.map(({ machine }) => machine)).toEqual(["m1", "m2"]);
});

test("the part of a machine that was removed and joins again belongs to its lab, unless its nodes are elsewhere", async () => {
  const { home, other, known, kill, start } = await fleet();
  // The labs of a memory host end with it.
  const host = { ...other.local, close: async () => undefined };
  const first = start(other, { host });
  const session = await login(start(home));
  await deploy(session, spreadLab);
  kill(other);
  await first.close();
  known[1] = { ...known[1]!, number: 3, name: "m3" };
  const second = { ...other, number: 3 };
  const rejoined = start(second, { host });
  await expect.poll(() => namesIn(session)).toEqual(["a 1", "b 3.1"]);
  expect(home.warnings.join()).toContain("the nodes of /lab on the machine m3 belong to it again: b");

  kill(second);
  await rejoined.close();
  known.pop();
  known[0] = { ...known[0]!, room: 100 };
  await deploy(session, spreadLab);
  expect(await namesIn(session)).toEqual(["a 1", "b 2"]);
  known.push({ ...known[0]!, number: 4, name: "m4" });
  start({ ...other, number: 4 });
  await expect.poll(() => other.local.labIds!()).toEqual([]);
  expect(await namesIn(session)).toEqual(["a 1", "b 2"]);
});

test.each([
  ["at the start, by the ids in the database", ["1", "2.1"], 3_600_000],
  ["when a machine asks about its part", ["1"], 10],
])("a record that is missing is made again %s, and the lab has its nodes", async (_when, known, sweepMs) => {
  const { home, other, kill, start } = await fleet();
  start(other, { sweepMs });
  const service = start(home, { sweepMs: 3_600_000 });
  await deploy(await login(service), spreadLab);
  kill(home);
  const [name = ""] = await filesIn(home, "labs");
  await rm(join(home.directory, "labs", name));
  const session = await login(start(home, { recorded: { id: name.slice(0, -".json".length), path, nodes: known } }));
  if (known.length > 1) expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
  await expect.poll(() => namesIn(session)).toEqual(["a 1", "b 2.1"]);
  expect(home.warnings.join()).toContain("the record of /lab, a spread lab, was missing: it was made again");
});

test("a part whose record is damaged finds its lab again, and ends with it", async () => {
  const { home, other, kill, start } = await fleet();
  start(other, { sweepMs: 3_600_000 });
  const session = await login(start(home));
  await deploy(session, spreadLab);
  kill(other);
  const [name = ""] = await filesIn(other, "parts");
  await writeFile(join(other.directory, "parts", name), "{");
  start(other, { sweepMs: 20 });
  const record = async () => JSON.parse(await readFile(join(other.directory, "parts", name), "utf8")) as { home: number };
  await expect.poll(async () => (await record()).home).toBe(1);
  expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
  kill(other);
  await writeFile(join(other.directory, "parts", name), "{");
  await destroy(session);
  start(other, { sweepMs: 20 });
  await expect.poll(() => other.local.labIds!()).toEqual([]);
  await expect.poll(async () => (await filesIn(other, "parts")).filter((file) => file.endsWith(".json"))).toEqual([]);
});

test("a part whose record is missing is recorded again by the disk, and ends with its lab", async () => {
  const { home, other, kill, start } = await fleet();
  start(other, { sweepMs: 3_600_000 });
  const session = await login(start(home));
  await deploy(session, spreadLab);
  kill(other);
  const [name = ""] = await filesIn(other, "parts");
  await rm(join(other.directory, "parts", name));
  await destroy(session);
  start(other, { sweepMs: 20, parts: [`/~parts/${name.slice(0, -".json".length)}`, "/~else"] });
  await expect.poll(() => other.local.labIds!()).toEqual([]);
  await expect.poll(() => filesIn(other, "parts")).toEqual([]);
  expect(other.warnings[0]).toContain("was missing: its home machine is looked for");
});

test("a machine of the fleet that runs no labs is not asked", async () => {
  const { home, other, known, services, start } = await fleet();
  start(other);
  const answer = async () => {
    throw new Failure("unsupported", "this machine takes no parts of labs of other machines");
  };
  services.set(3, { parts: { labs: () => [], answer } } as unknown as Host);
  const { underlay: _, ...without } = known[1]!;
  known.push({ ...without, number: 3, name: "m3" });
  const session = await login(start(home));
  expect((await planned(session))?.machines).toHaveLength(2);
  await deploy(session, spreadLab);
  expect(await namesIn(session)).toEqual(["a 1", "b 2.1"]);
});

test("a plan of a text with other labels, a cordon and a machine that does not answer any more take the room of an earlier plan away", async () => {
  const { home, other, known, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const room = (labels: Readonly<Record<string, string>> = {}) => session.spread!.room(path, { spread: "nodes", labels });
  expect(room()).toBe(80);
  known[1] = { ...known[1]!, isOpen: false };
  expect(room()).toBe(40);
  known[1] = { ...known[1]!, isOpen: true, answers: false };
  expect(room()).toBe(40);
  known[1] = { ...known[1]!, answers: true, labels: { zone: "a" } };
  expect(room()).toBe(80);
  expect(room({ zone: "a" })).toBe(40);
});
