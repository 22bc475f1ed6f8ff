import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough, Readable } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { Failure } from "../../contract/errors.ts";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab, LabLink, LabNode } from "../../intent/lab/lab.ts";
import type { Host, HostSession, NativeIds } from "../host.ts";
import type { HostMoves, PartCalls } from "../host-fleet.ts";
import { memoryHost } from "../memory/memory-host.ts";
import { spreadHost } from "./spread-host.ts";
import type { FleetMachine, SpreadOptions } from "./spread-labs.ts";

const path = "/lab";
const nodes = ["a", "b"].map((key): LabNode => ({ key, name: key, template: "linux", exec: [], env: {}, attributes: {}, labels: {} }));
const spreadLab: Lab = { name: "lab", place: { spread: "nodes" }, nodes, networks: [], links: [], texts: [], trafficFilters: [] };
const { place: _, ...plainLab } = spreadLab;
const progress = { ids: { nodes: {}, networks: {}, links: {} }, step: () => undefined };

/** A machine of the fleet. Its labs and its directory survive a kill of its service. */
interface Machine {
  readonly number: number;
  readonly local: Host;
  readonly directory: string;
  readonly warnings: string[];
}

interface Started {
  readonly host?: Host;
  readonly sweepMs?: number;
  /** The id of the lab, as the database has it. */
  readonly recorded?: string;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Machines 1 and 2, with services that can be started and left, as after a kill. */
async function fleet({ reserved, count = 2 }: Pick<SpreadOptions, "reserved"> & { readonly count?: number } = {}) {
  const base = await mkdtemp(join(tmpdir(), "labwright-spread-"));
  closers.push(() => rm(base, { recursive: true }));
  const services = new Map<number, Host>();
  const known: FleetMachine[] = Array.from({ length: count }, (_, at) => at + 1).map((number) => ({
    number,
    name: `m${number}`,
    labels: {},
    answers: true,
    isOpen: true,
    room: 40,
    underlay: { address: `192.0.2.${number}`, mtu: 9_000 },
  }));
  const machines = known.map(({ number }): Machine => {
    const memory = memoryHost();
    const leave = async (lab: string) => void (await remove(memory, lab));
    return { number, local: { ...memory, moves: { leave } as HostMoves }, directory: join(base, String(number)), warnings: [] };
  });
  const callsOf = (from: number): PartCalls => ({
    open: async (machine, call, signal) => {
      const input = new PassThrough();
      const service = services.get(machine);
      if (service === undefined) throw new Failure("machine_unreachable", `no connection to m${machine}: nothing was changed`);
      const { facts, body } = await service.parts!.answer(from, call, input, signal ?? new AbortController().signal);
      const stream = Duplex.from({ readable: body ?? Readable.from([], { objectMode: false }), writable: input });
      // A joined stream that is destroyed early emits an error, and a stream of HTTP/2 does not.
      stream.on("error", (error: Error) => expect(error.name).toBe("AbortError"));
      return { facts, stream };
    },
  });
  let vni = 8_388_608;
  const start = ({ number, local, directory, warnings }: Machine, { host = local, sweepMs = 10, recorded }: Started = {}): Host => {
    const service = spreadHost(host, {
      own: number,
      calls: callsOf(number),
      machines: () => known,
      ...(reserved !== undefined && { reserved }),
      takeVnis: async (count) => Array.from({ length: count }, () => vni++),
      directory,
      pathOf: (id) => (id === recorded ? path : undefined),
      idMark: `000${number}`,
      warn: (text) => warnings.push(text),
      sweepMs,
    });
    services.set(number, service);
    closers.push(() => service.close());
    return service;
  };
  const kill = ({ number }: Machine) => services.delete(number);
  return { home: machines[0]!, other: machines[1]!, machines, known, start, kill, calls: callsOf };
}

const link = (key: string, ...ends: readonly [string, string]): LabLink => ({
  key,
  endpoints: [
    { node: ends[0], interface: "eth0" },
    { node: ends[1], interface: "eth0" },
  ],
});

const login = (host: Host) => host.login("admin", "admin");

async function deploy(session: HostSession, desired: Lab) {
  const { operations } = planLab({ desired, observed: null, rules: await session.rules(), prune: false, replace: false });
  return session.apply(path, operations, progress);
}

/** Removes a lab without the knowledge of the service. */
async function remove(local: Host, lab: string) {
  const session = await login(local);
  const observed = await session.observe(lab);
  if (observed === null) return;
  const ids = { ...progress.ids, nodes: Object.fromEntries(observed.nodes.map(({ id, name }) => [name, id])) };
  const stops = observed.nodes.map(({ name }) => ({ id: name, step: { do: "stop", node: name } }));
  const operations = [...stops, { id: "end", step: { do: "delete-lab", wipe: true } }] as unknown as Parameters<HostSession["apply"]>[1];
  await session.apply(lab, operations, { ...progress, ids });
}

async function destroy(session: HostSession) {
  const observed = await session.observe(path);
  const ids = { ...progress.ids, nodes: Object.fromEntries(observed!.nodes.map(({ id, name }) => [name, id])) };
  const stops = observed!.nodes.map(({ name }) => ({ id: name, step: { do: "stop", node: name } }));
  const operations = [...stops, { id: "end", step: { do: "delete-lab", wipe: true } }] as unknown as Parameters<HostSession["apply"]>[1];
  await session.apply(path, operations, { ...progress, ids });
}

/** Only a spread lab has room on several machines. */
const isSpread = (session: HostSession) => session.spread!.room(path, undefined) !== undefined;

type Moment = "before the lab is made" | "after the lab is made";

/** Starts to deploy the lab, with a service that does nothing more from the moment on. */
async function killedDeploy({ start, home, other }: Awaited<ReturnType<typeof fleet>>, moment: Moment) {
  const reached = new EventEmitter();
  const isReached = once(reached, moment);
  const dying: Host = {
    ...home.local,
    login: async (...account) => {
      const session = await home.local.login(...account);
      const apply: HostSession["apply"] = async (...change) => {
        if (moment === "after the lab is made") await session.apply(...change);
        reached.emit(moment);
        return new Promise(() => undefined);
      };
      return { ...session, apply };
    },
  };
  start(other);
  const deployed = deploy(await login(start(home, { host: dying, sweepMs: 3_600_000 })), spreadLab);
  await Promise.race([isReached, deployed.then(() => expect.unreachable("the service was killed"))]);
}

const filesIn = (machine: Machine, folder: "labs" | "making" | "parts") => readdir(join(machine.directory, folder)).catch(() => []);

test("a kill before the lab is made leaves a note that the next start drops: a plain lab at the path is not spread", async () => {
  const there = await fleet();
  const { home, start } = there;
  await killedDeploy(there, "before the lab is made");
  expect(await filesIn(home, "making")).toHaveLength(1);
  await writeFile(join(home.directory, "making", "half.json.0123456789ab.tmp"), "{");
  const session = await login(start(home));
  expect(await filesIn(home, "making")).toEqual([]);
  await deploy(session, plainLab);
  expect(isSpread(session)).toBe(false);
  expect(home.warnings).toEqual([]);
});

test("a kill between the lab and its record loses neither: the next start makes the record from the note", async () => {
  const there = await fleet();
  const { home, other, start } = there;
  await killedDeploy(there, "after the lab is made");
  expect(await filesIn(home, "labs")).toEqual([]);
  start(other);
  const session = await login(start(home));
  expect(isSpread(session)).toBe(true);
  expect(await filesIn(home, "making")).toEqual([]);
  // The change that was killed runs again.
  const { ids } = await deploy(session, spreadLab);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2.1"]);
  expect(await filesIn(other, "parts")).toHaveLength(1);
  expect(await filesIn(home, "labs")).toHaveLength(1);
});

test("a lab that could not be made is neither there nor spread later", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const refusing: Host = {
    ...home.local,
    login: async (...account) => ({
      ...(await home.local.login(...account)),
      apply: () => Promise.reject(new Failure("host_error", "the disk is full")),
    }),
  };
  await expect(deploy(await login(start(home, { host: refusing })), spreadLab)).rejects.toThrow("the disk is full");
  expect(await filesIn(home, "making")).toEqual([]);
  expect(await filesIn(home, "labs")).toEqual([]);
});

test("the record of a lab that is gone is removed: at a start, by the running service, and before a lab is made at its path", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const patient = { sweepMs: 3_600_000 };
  await deploy(await login(start(home, patient)), spreadLab);
  await remove(home.local, path);
  const session = await login(start(home, patient));
  expect(await filesIn(home, "labs")).toEqual([]);

  await deploy(session, spreadLab);
  await remove(home.local, path);
  expect(await filesIn(home, "labs")).toHaveLength(1);
  await deploy(session, plainLab);
  expect(isSpread(session)).toBe(false);
  await remove(home.local, path);

  await deploy(session, spreadLab);
  await remove(home.local, path);
  start(home);
  await expect.poll(() => filesIn(home, "labs")).toEqual([]);
});

const damage = [
  ["", "JSON"],
  ["{", "JSON"],
  ["null", "it contains no object"],
  ['{"version": 1, "id": "../1"}', "its id is invalid"],
  ['{"version": 1, "id": "1", "path": "/lab", "byGroup": false, "labels": {}}', "its field parts is missing or of another type"],
  ['{"version": 1, "id": "2", "path": "/lab", "byGroup": false, "labels": {}, "parts": {}}', "its id is 2"],
] as const;

test("a damaged record of a lab that the database does not have stops the start, with its file and the next step", async () => {
  const { home, start } = await fleet();
  const folder = join(home.directory, "labs");
  const file = join(folder, "1.json");
  await mkdir(folder, { recursive: true });
  for (const [text, problem] of [...damage, ['{"version": 2, "id": "1"}', "it has version 2, and this release reads version 1"]] as const) {
    await writeFile(file, text);
    expect(() => start(home)).toThrow(`the record ${file} of a spread lab cannot be read: `);
    expect(() => start(home)).toThrow(problem);
    expect(() => start(home)).toThrow("Restore the file from a backup, or remove it: then its lab has only the nodes of this machine");
  }
  // The file of a newer release stays as it is, also if the database has the lab.
  expect(() => start(home, { recorded: "1" })).toThrow("it has version 2");
  expect(await readdir(folder)).toEqual(["1.json"]);
});

test("a damaged record of a lab that the database has is made again: the lab keeps its nodes on all machines", async () => {
  const { home, other, start } = await fleet();
  start(other);
  await deploy(await login(start(home)), spreadLab);
  const [name = ""] = await filesIn(home, "labs");
  const id = name.replace(".json", "");
  for (const [text] of damage.filter(([, problem]) => problem === "JSON")) {
    await writeFile(join(home.directory, "labs", name), text);
    const service = start(home, { recorded: id });
    const session = await login(service);
    expect((await session.observe(path))?.nodes.map(({ id: node }) => node).sort()).toEqual(["1", "2.1"]);
    expect(home.warnings.pop()).toMatch(/cannot be read: .*JSON.*\.json\.damaged now, and the record was made again from the database$/);
    expect(await filesIn(home, "labs")).toEqual([name, `${name}.damaged`]);
    expect(await filesIn(other, "parts")).toHaveLength(1);
  }
  await destroy(await login(start(home, { recorded: id })));
  expect(await other.local.labIds!()).toEqual([]);
  expect(await home.local.labIds!()).toEqual([]);
});

test("a lab whose part could not be made has a status of its other nodes, and can be destroyed", async () => {
  const { home, other, start } = await fleet();
  start(other);
  // As on a full disk, nothing can be written.
  await writeFile(other.directory, "");
  const session = await login(start(home));
  await expect(deploy(session, spreadLab)).rejects.toMatchObject({
    code: "host_error",
    message: expect.stringMatching(/^machine m2: .* could not be written/),
  });
  await rm(other.directory);
  expect((await session.status(path)).nodes).toEqual([expect.objectContaining({ id: "1", machine: "m1" })]);
  expect((await session.observe(path))?.nodes).toHaveLength(1);
  await session.setOwner?.(path, "ann");
  await destroy(session);
  expect(await home.local.labIds!()).toEqual([]);
  expect(await filesIn(home, "labs")).toEqual([]);
  expect(await filesIn(other, "parts")).toEqual([]);
});

test("a damaged record of a part stops no start: the next change of its lab makes it again", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const { ids } = await deploy(session, spreadLab);
  const [name = ""] = await filesIn(other, "parts");
  await writeFile(join(other.directory, "parts", name), "{");
  start(other);
  expect(other.warnings.join()).toContain("the next change of its lab makes it again");
  expect(await filesIn(other, "parts")).toEqual([`${name}.damaged`]);
  expect((await session.observe(path))?.nodes).toHaveLength(2);
  const start2 = [{ id: "s", step: { do: "start", node: "b" } }] as unknown as Parameters<HostSession["apply"]>[1];
  await session.apply(path, start2, { ...progress, ids });
  expect(await filesIn(other, "parts")).toContain(name);
});

test("parts whose lab is gone end, also without their owner, and one that cannot end keeps no other", async () => {
  const { home, other, start } = await fleet();
  let refused = 0;
  const stubborn: Host = {
    ...other.local,
    resume: async () => null,
    moves: {
      leave: async (lab: string) => {
        if (lab === "/~parts/0") throw new Failure("host_error", `its disk is busy (${++refused})`);
        await remove(other.local, lab);
      },
    } as HostMoves,
  };
  start(other, { sweepMs: 3_600_000 });
  await deploy(await login(start(home)), spreadLab);
  expect(await other.local.labIds!()).toHaveLength(1);
  const parts = join(other.directory, "parts");
  await writeFile(join(parts, "0.json"), JSON.stringify({ version: 1, id: "0", path: "/other", home: 1, owner: "gone" }));
  start(other, { host: stubborn });
  await expect.poll(() => refused).toBeGreaterThan(1);
  expect(await other.local.labIds!()).toHaveLength(1);

  await remove(home.local, path);
  await expect.poll(() => other.local.labIds!()).toEqual([]);
  await expect.poll(() => filesIn(other, "parts")).toEqual(["0.json"]);
  expect(other.warnings).toContain("the part of /other, a lab of another machine: its disk is busy (1)");
  expect(other.warnings).toContain("the part of /lab was removed: its lab on the machine m1 does not exist any more");
});

test("a machine answers the calls about a part only to the home machine of its lab, and refuses ids that are no names of files", async () => {
  const { home, other, start, calls } = await fleet();
  start(other);
  const session = await login(start(home));
  await deploy(session, spreadLab);
  const [id = ""] = (await filesIn(home, "labs")).map((name) => name.slice(0, -".json".length));
  const ask = async (from: number, args: object) => (await calls(from).open(2, { name: "hasCapture", args })).facts;
  expect(await ask(1, { id, capture: "0002" })).toBe(false);
  await expect(ask(3, { id, capture: "0002" })).rejects.toMatchObject({ code: "operation_not_allowed" });
  expect(await ask(3, { id: "999", capture: "0002" })).toBe(false);
  for (const wrong of ["../1", "", "a/b", "x".repeat(65), 7, null, ["1"]])
    await expect(ask(1, { id: wrong, capture: "0002" }), String(wrong)).rejects.toMatchObject({ code: "bad_request" });
  const call = (name: string, args: unknown) => calls(1).open(2, { name, args: { id, path, user: "admin", args } });
  for (const name of ["constructor", "toString", "__proto__", "none"])
    await expect(call(name, []), name).rejects.toMatchObject({ code: "unsupported" });
  for (const args of [undefined, null, {}]) await expect(call("apply", args)).rejects.toMatchObject({ code: "bad_request" });
  await expect(call("apply", [])).rejects.toMatchObject({ code: "bad_request" });
});

test("a part in quarantine is not taken for a part that is gone: the lab does not change until an admin decides", async () => {
  const { home, other, start } = await fleet();
  let isLost = false;
  const quarantining: Host = {
    ...other.local,
    labId: async (lab) => (isLost ? undefined : other.local.labId!(lab)),
    resume: async (...account) => {
      const session = await other.local.resume!(...account);
      const observe: HostSession["observe"] = async (lab) => (isLost ? null : session!.observe(lab));
      const status: HostSession["status"] = async (lab) => {
        if (isLost) throw new Failure("lab_not_found", `there is no lab ${lab}`);
        return session!.status(lab);
      };
      return session && { ...session, observe, status };
    },
    moves: { leave: async () => undefined } as unknown as HostMoves,
  };
  start(other, { host: quarantining });
  const session = await login(start(home));
  const { ids } = await deploy(session, spreadLab);
  isLost = true;
  const inQuarantine = { code: "operation_not_allowed", message: expect.stringContaining("/lab on the machine m2 is in quarantine") };
  await expect(session.observe(path)).rejects.toMatchObject(inQuarantine);
  await expect(session.status(path)).rejects.toMatchObject(inQuarantine);
  await expect(deploy(session, spreadLab)).rejects.toMatchObject(inQuarantine);
  expect(await other.local.labIds!()).toHaveLength(1);

  // Its home has gone: the part stays on record, and one warning is enough.
  await remove(home.local, path);
  await expect.poll(() => other.warnings).toHaveLength(1);
  expect(other.warnings[0]).toContain("it is in quarantine: labwright quarantine delete");
  isLost = false;
  await expect.poll(() => filesIn(other, "parts")).toEqual([]);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2.1"]);
  expect(other.warnings).toHaveLength(2);
});

test("a part in quarantine of which nothing can be read is not taken for a part that is gone", async () => {
  const { home, other, start } = await fleet();
  let isUnreadable = false;
  const unreadable: Host = {
    ...other.local,
    labId: async (lab) => (isUnreadable ? undefined : other.local.labId!(lab)),
    // Without any readable definition, the host does not know the path of the lab.
    holds: async (lab) => !isUnreadable && (await other.local.holds!(lab)),
    resume: async (...account) => {
      const session = await other.local.resume!(...account);
      const observe: HostSession["observe"] = async (lab) => (isUnreadable ? null : session!.observe(lab));
      return session && { ...session, observe };
    },
  };
  start(other, { host: unreadable });
  const session = await login(start(home));
  await deploy(session, spreadLab);
  isUnreadable = true;
  await expect(session.observe(path)).rejects.toMatchObject({
    code: "operation_not_allowed",
    message: expect.stringContaining("is in quarantine"),
  });
  await expect(deploy(session, spreadLab)).rejects.toMatchObject({ code: "operation_not_allowed" });
  expect(await other.local.labIds!()).toHaveLength(1);
});

test("a part that is gone from its machine is made again by the next change of the lab", async () => {
  const { home, other, known, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const before = await deploy(session, spreadLab);
  const [part = ""] = await (await login(other.local)).labs();
  await remove(other.local, part);
  // The node has room on the other machine only.
  known[0] = { ...known[0]!, room: 0 };
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a"]);
  const { ids } = await deploy(session, spreadLab);
  expect(ids.nodes).toEqual(before.ids.nodes);
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("new nodes of a group go to the machine of the group's nodes, and a plan shows the nodes that stay", async () => {
  const { home, other, known, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const grouped = (key: string, group: string) => ({ ...nodes[0]!, key, name: key, labels: { group } });
  const [a, b] = [grouped("a", "east"), grouped("b", "west")];
  const before: Lab = { ...spreadLab, place: { spread: "groups" }, nodes: [a, b] };
  const { ids } = await deploy(session, before);
  const at = async (id: string) => (await session.status(path)).nodes.find((node) => node.id === id)!.machine;
  const west = await at(ids.nodes["b"]!);
  // The other machine has much more room.
  for (const [index, machine] of known.entries()) known[index] = { ...machine, room: machine.name === west ? 40 : 4_000 };
  const observed = await session.observe(path);
  const desired: Lab = { ...before, nodes: [b, grouped("c", "west")], links: [link("c:eth0 -- b:eth0", "b", "c")] };
  const { operations } = planLab({ desired, observed, ids, rules: await session.rules(), prune: true, replace: false });
  const facts = await session.spread!.facts(path, before.place, operations, ids);
  expect(facts).toEqual({ machines: [{ machine: west, nodes: ["b", "c"] }], cuts: [] });
  const made = await session.apply(path, operations, { ...progress, ids });
  expect(await at(made.ids.nodes["c"]!)).toBe(west);
});

test("room that another user has reserved is not used", async () => {
  const reserved = { m1: new Map([["bob", 30]]), m2: new Map([["admin", 30]]) } as Readonly<Record<string, ReadonlyMap<string, number>>>;
  const { home, other, start } = await fleet({ reserved: ({ name }) => reserved[name]! });
  start(other);
  const session = await login(start(home));
  await expect(deploy(session, spreadLab)).rejects.toThrow("m1 has 10 MiB free, m2 has 40 MiB free");
  const { ids } = await deploy(session, { ...spreadLab, nodes: nodes.slice(1) });
  expect(ids.nodes).toEqual({ b: "2.1" });
});

test("room that another user reserves between a plan and its apply is not used, and a refused lab looks at the room again", async () => {
  let taken = 0;
  const { home, other, known, start } = await fleet({ reserved: ({ name }) => new Map([[name === "m2" ? "bob" : "admin", taken]]) });
  start(other);
  const session = await login(start(home));
  const { operations } = planLab({ desired: spreadLab, observed: null, rules: await session.rules(), prune: false, replace: false });
  const planned = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
  expect(planned?.machines).toHaveLength(2);
  taken = 30;
  await expect(deploy(session, spreadLab)).rejects.toThrow("m1 has 40 MiB free, m2 has 10 MiB free");
  expect(await home.local.labIds!()).toEqual([]);
  known[0] = { ...known[0]!, room: 100 };
  const { ids } = await deploy(session, spreadLab);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2"]);
});

test("the machines of a link between machines have the order of its key", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  for (const key of ["a:eth0 -- b:eth0", "b:eth0 -- a:eth0"]) {
    const desired: Lab = { ...spreadLab, links: [link(key, "a", "b")] };
    const { operations } = planLab({ desired, observed: null, rules: await session.rules(), prune: false, replace: false });
    const facts = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
    const machineOf = (node: string) => facts!.machines.find((one) => one.nodes.includes(node))!.machine;
    const machines = [key[0]!, key.at(-"b:eth0".length)!].map(machineOf);
    expect(facts?.cuts).toEqual([{ link: key, machines, mtu: 1500 }]);
    expect(machines).toHaveLength(new Set(machines).size);
  }
});

test("the status names the machine of each node", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  await deploy(session, spreadLab);
  expect((await session.status(path)).nodes.map(({ name, machine }) => `${name} ${machine}`).sort()).toEqual(["a m1", "b m2"]);
});

test("a machine that has just died: a change that concerns it changes nothing, and a plan places new nodes elsewhere", async () => {
  const { home, other, start, kill } = await fleet();
  start(other);
  const session = await login(start(home));
  kill(other);
  await expect(deploy(session, spreadLab)).rejects.toThrow(
    "the machine m2 does not answer, and the change concerns it: nothing was changed",
  );
  expect(await session.observe(path)).toBeNull();
  expect(await filesIn(home, "labs")).toEqual([]);
  const one: Lab = { ...spreadLab, nodes: nodes.slice(1) };
  const { operations } = planLab({ desired: one, observed: null, rules: await session.rules(), prune: false, replace: false });
  const facts = await session.spread!.facts(path, { spread: "nodes" }, operations, progress.ids);
  expect(facts?.machines).toEqual([{ machine: "m1", nodes: ["b"] }]);
  const { ids } = await deploy(session, one);
  expect(ids.nodes).toEqual({ b: "1" });
});

test("nodes of a machine that has left the fleet are gone: the next change makes them elsewhere", async () => {
  const { home, other, known, start, kill } = await fleet();
  start(other);
  const session = await login(start(home));
  await deploy(session, spreadLab);
  kill(other);
  known.pop();
  known[0] = { ...known[0]!, room: 100 };
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a"]);
  expect((await session.status(path)).nodes.map(({ name, status }) => `${name} ${status}`)).toEqual(["a running"]);
  const { ids } = await deploy(session, spreadLab);
  expect(Object.values(ids.nodes).sort()).toEqual(["1", "2"]);
  expect((await session.observe(path))!.nodes.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("disks of a spread lab are not exported, because a copy would have those of one machine only", async () => {
  const { home, other, start } = await fleet();
  const exported: string[] = [];
  const exportLab = async (lab: string) => exported.push(lab);
  const withDisks: Host = {
    ...home.local,
    login: async (...account) => ({ ...(await home.local.login(...account)), disks: { transfers: { exportLab } } as never }),
  };
  start(other);
  const session = await login(start(home, { host: withDisks }));
  await deploy(session, spreadLab);
  const { exportLab: copy } = session.disks!.transfers;
  await expect(copy(path, "admin")).rejects.toMatchObject({
    code: "operation_not_allowed",
    message: expect.stringContaining("labwright cp"),
  });
  await copy("/plain", "admin");
  expect(exported).toEqual(["/plain"]);
});

/** The links of a lab as its nodes have them, with their ids. */
async function linksOf(session: HostSession): Promise<ReadonlyMap<string, string>> {
  const { nodes: there, links } = (await session.observe(path))!;
  const names = new Map(there.map(({ id, name }) => [id, name]));
  return new Map(
    links.map(({ id, endpoints }) => [
      endpoints
        .flatMap((end) => ("nodeId" in end ? [`${names.get(end.nodeId)}:${end.interface}`] : []))
        .sort()
        .join(" "),
      id,
    ]),
  );
}

test("a change that wires an interface to another machine gives each link a tunnel of its own", async () => {
  const { machines, start } = await fleet({ count: 3 });
  for (const machine of machines.slice(1)) start(machine);
  const session = await login(start(machines[0]!));
  const wire = (...ends: readonly (readonly [string, string, string, string])[]): Lab => ({
    ...spreadLab,
    nodes: ["a", "b", "c"].map((key) => ({ ...nodes[0]!, key, name: key, ethernet: 4 })),
    links: ends.map(([a, x, b, y]) => ({
      key: [`${a}:${x}`, `${b}:${y}`].sort().join(" -- "),
      endpoints: [
        { node: a, interface: x },
        { node: b, interface: y },
      ],
    })),
  });
  let ids = progress.ids as NativeIds;
  const change = async (desired: Lab) => {
    const [observed, rules] = [await session.observe(path), await session.rules()];
    const { operations } = planLab({ desired, observed, rules, ids, prune: true, replace: false });
    ({ ids } = await session.apply(path, operations, { ...progress, ids }));
    return linksOf(session);
  };
  const wirings: readonly Lab[] = [
    wire(["a", "eth0", "b", "eth0"]),
    wire(["a", "eth0", "c", "eth0"], ["b", "eth0", "c", "eth1"]),
    wire(["a", "eth0", "b", "eth0"], ["a", "eth1", "c", "eth1"]),
    wire(["a", "eth1", "b", "eth0"], ["a", "eth0", "c", "eth1"], ["b", "eth1", "c", "eth0"]),
    wire(["b", "eth1", "a", "eth1"], ["c", "eth1", "b", "eth0"], ["c", "eth0", "a", "eth0"]),
  ];
  for (const desired of [...wirings, ...wirings.toReversed()]) {
    const links = await change(desired);
    const wanted = desired.links.map(({ endpoints }) =>
      endpoints
        .map((end) => ("node" in end ? `${end.node}:${end.interface}` : ""))
        .sort()
        .join(" "),
    );
    expect([...links.keys()].sort()).toEqual(wanted.sort());
    expect(new Set(links.values()).size).toBe(links.size);
    expect([...links.values()].join()).toMatch(/^(x\d+,?)+$/);
  }

  // A client's state that names one tunnel for two links.
  const [key = ""] = Object.keys(ids.links);
  ids = { ...ids, links: { ...ids.links, "a:eth2 -- c:eth2": ids.links[key]! } };
  const links = await change(wire(["a", "eth0", "b", "eth0"], ["a", "eth2", "c", "eth2"]));
  expect(new Set(links.values()).size).toBe(2);
});

test("a link between machines carries again after its other machine did not answer during a start, and after a kill during one", async () => {
  const { home, other, kill, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const wired: Lab = { ...spreadLab, nodes: nodes.map((node) => ({ ...node, ethernet: 1 })), links: [link("a:eth0 -- b:eth0", "a", "b")] };
  const { ids } = await deploy(session, wired);
  const power = async (what: "start" | "stop", by = session) => {
    const operations = [{ id: what, step: { do: what, node: "b" } }] as unknown as Parameters<HostSession["apply"]>[1];
    await by.apply(path, operations, { ...progress, ids });
  };
  /** Whether the end of the other machine has lost its carrier. */
  const isDown = async () => {
    const [id = ""] = await other.local.labIds!();
    const there = await login(other.local);
    const part = await there.observe((await there.labs()).find((one) => one.startsWith("/~parts/"))!);
    expect(part?.id).toBe(id);
    return part!.networks.find(({ vxlan }) => vxlan?.cut !== undefined)!.vxlan!.cut!.isDown === true;
  };
  const record = async () => JSON.parse(await readFile(join(home.directory, "labs", (await filesIn(home, "labs"))[0]!), "utf8"));
  await power("start");
  await power("stop");
  expect(await isDown()).toBe(true);
  expect(await record()).not.toHaveProperty("unsettled");

  kill(other);
  await power("start");
  expect(await isDown()).toBe(true);
  expect(await record()).toMatchObject({ unsettled: { owner: "admin" } });
  start(other);
  await expect.poll(isDown).toBe(false);
  await expect.poll(record).not.toHaveProperty("unsettled");

  // Killed after the node has stopped, before the link has lost its carrier.
  const dying: Host = {
    ...home.local,
    login: async (...account) => {
      const inner = await home.local.login(...account);
      const apply: HostSession["apply"] = async (...change) => {
        await inner.apply(...change);
        return new Promise(() => undefined);
      };
      return { ...inner, apply };
    },
  };
  const killed = await login(start(home, { host: dying, sweepMs: 3_600_000 }));
  void power("stop", killed);
  await expect.poll(async () => (await (await login(home.local)).status(path)).nodes[0]?.status).toBe("stopped");
  expect(await isDown()).toBe(false);
  start(home);
  await expect.poll(isDown).toBe(true);
});
