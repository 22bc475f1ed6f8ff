import { EventEmitter, once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Failure } from "../../../contract/errors.ts";
import type { Lab } from "../../../intent/lab/lab.ts";
import type { Host, HostSession } from "../../host.ts";
import type { HostMoves } from "../../host-fleet.ts";
import {
  deploy,
  destroy,
  filesIn,
  fleet,
  isSpread,
  link,
  login,
  nodes,
  path,
  plainLab,
  progress,
  remove,
  spreadLab,
} from "./spread-fleet.fixture.ts";

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
  expect(() => start(home, { recorded: { id: "1", path, nodes: [] } })).toThrow("it has version 2");
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
    const service = start(home, { recorded: { id, path, nodes: ["1", "2.1"] } });
    const session = await login(service);
    expect((await session.observe(path))?.nodes.map(({ id: node }) => node).sort()).toEqual(["1", "2.1"]);
    expect(home.warnings.pop()).toMatch(/cannot be read: .*JSON.*\.json\.damaged now, and the record was made again$/);
    expect(await filesIn(home, "labs")).toEqual([name, `${name}.damaged`]);
    expect(await filesIn(other, "parts")).toHaveLength(1);
  }
  await destroy(await login(start(home, { recorded: { id, path, nodes: ["1", "2.1"] } })));
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

test("a damaged record of a part stops no start, and the lab goes on", async () => {
  const { home, other, start } = await fleet();
  start(other);
  const session = await login(start(home));
  const { ids } = await deploy(session, spreadLab);
  const [name = ""] = await filesIn(other, "parts");
  await writeFile(join(other.directory, "parts", name), "{");
  start(other);
  expect(other.warnings.join()).toContain(".damaged now, and the record was made again");
  expect(await filesIn(other, "parts")).toEqual([name, `${name}.damaged`]);
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
  // After the removal of its record.
  await expect
    .poll(() => other.warnings)
    .toContain("the part of /lab was removed: its lab on the machine m1 does not exist any more, or has its nodes elsewhere");
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
