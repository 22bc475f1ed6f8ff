import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../../test/fakes/eve/options.ts";
import type { Lab } from "../../../intent/lab/lab.ts";
import { type EveBench, eveBench, node, operation, pair } from "../eve-bench.fixture.ts";

let fixture: EveBench | undefined;

afterEach(async () => {
  const ended = fixture;
  fixture = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
  expect(ended?.fake.locks() ?? []).toEqual([]);
});

const noIds = { nodes: {}, networks: {}, links: {} };

/** /two is a copy of the file of /one, as `cp` makes it: with the same lab id. The nodes of /one run. */
async function twoLabs(options: FakeEveOptions): Promise<EveBench> {
  const here = await eveBench(options);
  fixture = here;
  await here.make("/one", pair);
  here.fake.putLabFile("/two.unl", here.fake.labFile("/one.unl") ?? "");
  return here;
}

/** A new session with the host, which does not know which lab started a node. */
async function forgetOwners({ fake, session }: EveBench): Promise<void> {
  fake.expireSession("admin");
  await session.labs();
}

/** Processes on the host that no lab can end any more are listed as orphan. */
const running = ({ fake }: EveBench) =>
  fake
    .running()
    .map(({ lab, name, orphan }) => `${lab} ${name}${orphan ? " orphan" : ""}`)
    .sort();

/** Expects each running process to be in the directory of one of these labs, which has the id in the lab's file. A process elsewhere is an orphan. */
function expectNoOrphans(here: EveBench, paths: readonly string[]): void {
  const ids = paths.map((path) => /<lab [^>]*\bid="([^"]*)/.exec(here.fake.labFile(`${path}.unl`) ?? "")?.[1]);
  expect(here.fake.running().filter(({ directory }) => !ids.some((id) => directory.includes(`/${id}/`)))).toEqual([]);
}

const powers = async ({ session }: EveBench, path: string) => (await session.status(path)).nodes.map(({ status }) => status);

const destroy = async (here: EveBench, path: string, force: boolean) =>
  here.run(path, null, (await here.plan(path, null)).operations, { force });

const stop = [operation({ do: "stop", node: "pc1", mode: 3 }), operation({ do: "stop", node: "pc2", mode: 3 })];

describe.each([
  ["ce5", "visible"],
  ["ce5", "hidden"],
  ["ce6", "visible"],
  ["pro", "hidden"],
] as const)("%s with notices %s: two labs with the same lab id", (edition, notices) => {
  const clash = { code: "number_clash", message: expect.stringContaining("/one has the same id"), data: { clash: { lab: "/one" } } };
  const two = () => twoLabs({ edition, notices });

  it("keep each other from being destroyed, wiped and made smaller; the nodes run on", async () => {
    const here = await two();
    await expect(destroy(here, "/two", false)).rejects.toMatchObject(clash);
    await expect(here.run("/two", pair, [operation({ do: "wipe", node: "pc1" })])).rejects.toMatchObject(clash);
    await expect(here.run("/two", pair, [operation({ do: "delete-node", node: "pc1" })])).rejects.toMatchObject(clash);
    if (edition === "pro") await expect(destroy(here, "/two", true)).rejects.toMatchObject(clash);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
    expect(here.fake.labFile("/two.unl")).toBe(here.fake.labFile("/one.unl"));
  });

  it("are wiped and destroyed after an administrator gave the copy its own id", async () => {
    const here = await two();
    await expect(destroy(here, "/two", false)).rejects.toMatchObject(clash);
    const file = here.fake.labFile("/two.unl") ?? "";
    here.fake.putLabFile("/two.unl", file.replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`));
    await destroy(here, "/two", false);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
  });
});

describe.each([
  ["ce5", "visible"],
  ["ce5", "hidden"],
  ["ce6", "visible"],
] as const)("%s with notices %s: of two labs with the same lab id", (edition, notices) => {
  const two = () => twoLabs({ edition, notices });

  it("a forced destroy of the lab that runs ends its nodes, and the other lab keeps its file and disks", async () => {
    const here = await two();
    await destroy(here, "/one", true);
    expect([here.fake.labFile("/one.unl"), here.fake.labFile("/two.unl") !== undefined]).toEqual([undefined, true]);
    expect(running(here)).toEqual([]);
    expect(await powers(here, "/two")).toEqual(["stopped", "stopped"]);
  });

  it("a forced destroy of the lab that does not run leaves the nodes of the other lab running", async () => {
    const here = await two();
    await destroy(here, "/two", true);
    expect(here.fake.labFile("/two.unl")).toBeUndefined();
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
    expect(await powers(here, "/one")).toEqual(["running", "running"]);
    await here.make("/one", null);
    expect(running(here)).toEqual([]);
  });

  it.each(["/one", "/two"])(
    "a new session that destroys %s by force leaves running nodes to the other lab, which can stop them",
    async (path) => {
      const here = await two();
      const other = path === "/one" ? "/two" : "/one";
      await forgetOwners(here);
      await destroy(here, path, true);
      expect(here.fake.labFile(`${path}.unl`)).toBeUndefined();
      expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
      expectNoOrphans(here, [other]);
      expect(await powers(here, other)).toEqual(["running", "running"]);
      await here.run(other, pair, stop);
      expect(running(here)).toEqual([]);
    },
  );

  it("a forced destroy ends a node that the other lab does not have: nothing could end it afterwards", async () => {
    const here = await two();
    const three: Lab = { ...pair, nodes: [...pair.nodes, node("pc3", "vpcs")] };
    const { operations } = await here.plan("/two", three);
    await here.run(
      "/two",
      three,
      operations.filter(({ step }) => step.do === "create-node" || ("node" in step && step.node === "pc3")),
    );
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2", "/two.unl pc3"]);
    await forgetOwners(here);
    await destroy(here, "/two", true);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
    expectNoOrphans(here, ["/one"]);
  });

  it.each(["known", "unknown"] as const)(
    "renumber gives the copy its own id and numbers if the owner of the nodes is %s; then both run",
    async (owner) => {
      const here = await two();
      if (owner === "unknown") await forgetOwners(here);
      expect(await here.session.renumber?.("/two", noIds)).toMatchObject({ nodes: [{ name: "pc1" }, { name: "pc2" }] });
      expectNoOrphans(here, ["/one"]);
      await here.run("/two", pair, [operation({ do: "wipe", node: "pc1" }), operation({ do: "start", node: "pc1" })]);
      expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2", "/two.unl pc1"]);
      await destroy(here, "/two", false);
      expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
      expect(await powers(here, "/one")).toEqual(["running", "running"]);
    },
  );

  it("the lab that runs is not renumbered; its nodes run on", async () => {
    const here = await two();
    await expect(here.session.renumber?.("/one", noIds)).rejects.toMatchObject({ code: "lab_in_use" });
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
  });

  it("both are renumbered at once: one keeps the id, and with it the running nodes", async () => {
    const here = await two();
    await forgetOwners(here);
    await Promise.allSettled(["/one", "/two"].map((path) => here.session.renumber?.(path, noIds)));
    expectNoOrphans(here, ["/one", "/two"]);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
  });
});

it("a stop of a lab whose nodes may be those of a lab with the same id stops nothing", async () => {
  const here = await twoLabs({});
  await forgetOwners(here);
  await expect(here.run("/two", pair, [operation({ do: "stop", node: "pc1", mode: 3 })])).rejects.toMatchObject({ code: "number_clash" });
  expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
});
