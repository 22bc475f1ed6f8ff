import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTrash } from "../../files/trash.ts";
import { checkDefinition } from "../check-definition.ts";
import { openDefinitions } from "../definitions.ts";
import type { RecordedLab } from "../path-claims.ts";

import { empty, id } from "./definition.fixture.ts";

/** Returns the timestamp that a file written now gets. */
async function tick(file: string): Promise<number> {
  await writeFile(file, "");
  return (await stat(file)).ctimeMs;
}

describe("labs on disk", () => {
  let state: string;
  let warnings: string[];
  const open = async (recorded: ReadonlyMap<string, RecordedLab> = new Map()) => {
    const warn = (text: string) => void warnings.push(text);
    return openDefinitions(state, await openTrash(join(state, "trash"), warn), warn, { recorded });
  };
  beforeEach(async () => {
    state = await mkdtemp(join(tmpdir(), "labwright-state-"));
    warnings = [];
  });
  afterEach(async () => rm(state, { recursive: true }));

  test("a lab that was put exists after the directory is opened again, in a file that only its owner can read", async () => {
    const one = await open();
    await one.put(empty);
    const two = await open();
    expect(two.paths()).toEqual(["/courses/one"]);
    expect(await two.get("/courses/one")).toEqual(empty);
    const file = join(state, "labs", id, "lab.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(state, "labs"))).mode & 0o007).toBe(0);
    expect((await readdir(join(state, "labs", id))).sort()).toEqual(["lab.json", "lab.last.json", "nodes"]);
    expect((await stat(join(state, "labs", id, "lab.last.json"))).mode & 0o777).toBe(0o600);
  });

  test("the copy follows several changes of a lab", async () => {
    const labs = await open();
    await labs.put(empty);
    await labs.change("/courses/one", (lab) => ({ ...lab, locked: true }));
    await labs.change("/courses/one", (lab) => ({ ...lab, description: "second" }));
    const copy = async () => JSON.parse(await readFile(join(state, "labs", id, "lab.last.json"), "utf8"));
    await expect.poll(copy).toEqual({ ...empty, locked: true, description: "second" });
  });

  test("an edit by hand is noticed; for an invalid one a warning names the place, the last good definition is used, and the file is kept", async () => {
    const labs = await open();
    await labs.put(empty);
    const file = join(state, "labs", id, "lab.json");
    await writeFile(file, JSON.stringify({ ...empty, description: "by hand" }));
    expect((await labs.get("/courses/one"))?.description).toBe("by hand");
    await writeFile(file, JSON.stringify({ ...empty, links: [{ id: 0, endpoints: [{ node: 9, interface: "eth0" }, { network: 1 }] }] }));
    const broken = await readFile(file, "utf8");
    const good = { ...empty, description: "by hand" };
    expect(await labs.get("/courses/one")).toEqual(good);
    expect(await labs.get("/courses/one")).toEqual(good);
    expect(warnings).toEqual([
      expect.stringMatching(/lab\.json cannot be read: .*no node 9.*the last good definition of lab \/courses\/one is used/),
    ]);
    await labs.change("/courses/one", (lab) => ({ ...lab, locked: true }));
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ ...good, locked: true });
    const kept = (await readdir(join(state, "labs", id))).filter((name) => name.startsWith("lab.json.unreadable-"));
    expect(await Promise.all(kept.map((name) => readFile(join(state, "labs", id, name), "utf8")))).toEqual([broken]);
  });

  test("a half of a link between machines that was changed by hand is read only with a number as its MTU", async () => {
    const half = (cut: object) => ({
      ...empty,
      next: { ...empty.next, network: 2 },
      networks: [{ id: 1, name: "~9000001.0.0", type: "vxlan", vxlan: { remote: "192.0.2.2", vni: 9_000_001, cut } }],
    });
    const check = (cut: object) => checkDefinition(half(cut), id);
    expect(check({ mtu: 1450, isDown: true })).toMatchObject({ networks: [{ vxlan: { cut: { isDown: true } } }] });
    expect(() => check({ mtu: "1450\nlink del eth0" })).toThrow("vxlan.cut.mtu is not a whole number");
    expect(() => check({ mtu: 1450, isDown: "yes" })).toThrow("vxlan.cut.isDown is not true");
    expect(() => check([])).toThrow("vxlan.cut is not an object");
  });

  describe("a lab.json that claims another lab's path", () => {
    // Sorts before the other lab's id.
    const impostor = { ...empty, id: "0b4e28ba-2fa1-41d2-883f-0016d3cca427", path: "/courses/two", owner: "eve" };
    const claim = () => writeFile(join(state, "labs", impostor.id, "lab.json"), JSON.stringify({ ...impostor, path: empty.path }));
    const reasons = async (labs: Awaited<ReturnType<typeof open>>) => (await labs.quarantined()).map(({ id: of, reason }) => [of, reason]);
    const inQuarantine = [[impostor.id, `its path belongs to lab ${id}`]];
    beforeEach(async () => {
      const labs = await open();
      await labs.put(empty);
      await labs.put(impostor);
    });

    test("while the service is stopped is in quarantine at each start, and the other lab keeps its path", async () => {
      await claim();
      for (const _start of [1, 2]) {
        const labs = await open();
        expect(labs.paths()).toEqual([empty.path]);
        expect(await labs.get(empty.path)).toEqual(empty);
        expect(await reasons(labs)).toEqual(inQuarantine);
      }
    });

    test("does not get it if the other lab is in quarantine itself, also while the service runs", async () => {
      const running = await open();
      await rm(join(state, "labs", id, "lab.json"));
      expect(await running.get(empty.path)).toBeUndefined();
      await claim();
      expect(await running.get(impostor.path)).toBeUndefined();
      expect(await running.get(empty.path)).toBeUndefined();
      const labs = await open();
      expect(labs.paths()).toEqual([]);
      expect((await reasons(labs)).map(([of]) => of).sort()).toEqual([impostor.id, id]);
    });

    test("does not get it against the service's record, even if the recorded lab has no copy or is gone", async () => {
      await claim();
      await rm(join(state, "labs", id, "lab.last.json"));
      await rm(join(state, "labs", impostor.id, "lab.last.json"));
      const recorded = new Map([[empty.path, { id, owner: empty.owner }]]);
      const labs = await open(recorded);
      expect(await labs.get(empty.path)).toEqual(empty);
      expect(await reasons(labs)).toEqual(inQuarantine);
      await rm(join(state, "labs", id), { recursive: true });
      expect((await open(recorded)).paths()).toEqual([]);
    });

    test("moves the lab there if the path belongs to no other lab", async () => {
      await writeFile(join(state, "labs", impostor.id, "lab.json"), JSON.stringify({ ...impostor, path: "/courses/three" }));
      for (const _start of [1, 2]) expect((await open()).paths()).toEqual([empty.path, "/courses/three"]);
    });
  });

  test("a lab whose file is removed by hand is in quarantine, and is restored from its last good definition", async () => {
    const labs = await open();
    await labs.put(empty);
    const file = join(state, "labs", id, "lab.json");
    await rm(file);
    expect(await labs.get("/courses/one")).toBeUndefined();
    expect(labs.paths()).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/lab\.json is missing: nothing of the lab is removed; labwright quarantine/)]);
    const quarantined = { id, reason: "its lab.json is missing", definition: empty };
    expect(await labs.quarantined()).toEqual([quarantined]);
    // The same after a start.
    const again = await open();
    expect(again.paths()).toEqual([]);
    expect(await again.quarantined()).toEqual([quarantined]);
    expect(await again.restore(id)).toEqual(empty);
    expect(await again.get("/courses/one")).toEqual(empty);
    expect(await again.quarantined()).toEqual([]);
    await expect(again.restore(id)).rejects.toMatchObject({ code: "lab_not_found" });
  });

  test("no disk is lost if a file is truncated, empty or missing at the start, with a last good definition or without", async () => {
    const disk = join(state, "labs", id, "nodes", "7", "upper");
    for (const lost of ["torn", "empty", "missing"]) {
      for (const isOld of [false, true]) {
        await (await open()).put({ ...empty, description: lost });
        await mkdir(disk, { recursive: true });
        const [file, copy] = ["lab.json", "lab.last.json"].map((name) => join(state, "labs", id, name)) as [string, string];
        const text = await readFile(file, "utf8");
        // A lab of a release that made no copies.
        if (isOld) await rm(copy);
        if (lost === "missing") await rm(file);
        else await writeFile(file, lost === "torn" ? text.slice(0, 60) : "");
        warnings = [];
        const labs = await open();
        const about = `${lost}, ${isOld ? "without" : "with"} a copy`;
        expect(warnings, about).toEqual([expect.stringContaining(file)]);
        expect(await readdir(disk), about).toEqual([]);
        const known = lost !== "missing" && !isOld;
        expect(labs.paths(), about).toEqual(known ? [empty.path] : []);
        expect((await labs.quarantined()).length, about).toBe(known ? 0 : 1);
        if (known) expect((await labs.get(empty.path))?.description).toBe(lost);
        else if (isOld)
          await expect(labs.restore(id), about).rejects.toMatchObject({
            code: "bad_request",
            message: expect.stringContaining("lab.json"),
          });
        else expect((await labs.restore(id)).description).toBe(lost);
        await rm(join(state, "labs", id), { recursive: true });
      }
    }
  });

  test("disks that a last good definition does not have are renamed when it replaces the file", async () => {
    await (await open()).put(empty);
    const directory = join(state, "labs", id);
    await mkdir(join(directory, "nodes", "7", "upper"), { recursive: true });
    await rm(join(directory, "lab.json"));
    await (await open()).restore(id);
    const labs = await open();
    expect(labs.paths()).toEqual([empty.path]);
    expect(await readdir(join(directory, "nodes"))).toEqual([expect.stringMatching(/^7\.unknown-\d+$/)]);
  });

  test("a lab in quarantine is not restored if its path belongs to another lab", async () => {
    const labs = await open();
    await labs.put(empty);
    await rm(join(state, "labs", id, "lab.json"));
    await labs.get(empty.path);
    await labs.put({ ...empty, id: "2b4e28ba-2fa1-41d2-883f-0016d3cca427" });
    await expect(labs.restore(id)).rejects.toMatchObject({ code: "lab_exists", message: expect.stringContaining(empty.path) });
    await labs.remove(empty.path, { keepDisks: false });
    expect((await labs.restore(id)).path).toBe(empty.path);
  });

  test("an unreadable lab.json is reported at the start and left alone, and the other labs are there", async () => {
    await (await open()).put(empty);
    const other = "2b4e28ba-2fa1-41d2-883f-0016d3cca427";
    await mkdir(join(state, "labs", other));
    await writeFile(join(state, "labs", other, "lab.json"), "{");
    expect((await open()).paths()).toEqual(["/courses/one"]);
    expect(warnings).toEqual([expect.stringContaining(other)]);
    expect(await readFile(join(state, "labs", other, "lab.json"), "utf8")).toBe("{");
  });

  test("a lab.json that became unreadable does not affect other labs", async () => {
    const labs = await open();
    const two = { ...empty, id: "2b4e28ba-2fa1-41d2-883f-0016d3cca427", path: "/courses/two" };
    await labs.put(empty);
    await labs.put(two);
    await writeFile(join(state, "labs", id, "lab.json"), "{");
    expect(await labs.all()).toEqual([empty, two]);
    await rm(join(state, "labs", id, "lab.json"));
    expect(await labs.all()).toEqual([two]);
  });

  test("changes made at the same time are all in the result", async () => {
    const labs = await open();
    await labs.put(empty);
    await Promise.all(
      Array.from({ length: 10 }, () => labs.change("/courses/one", (lab) => ({ ...lab, description: `${lab.description ?? ""}x` }))),
    );
    expect((await labs.get("/courses/one"))?.description).toBe("x".repeat(10));
    await expect(labs.change("/none", (lab) => lab)).rejects.toMatchObject({ code: "lab_not_found" });
  });

  test("a removed lab is gone with its files; a lab whose disks are kept can be found", async () => {
    const labs = await open();
    await labs.put(empty);
    await labs.remove("/courses/one", { keepDisks: true });
    expect(await labs.get("/courses/one")).toBeUndefined();
    expect((await open()).kept.find("/courses/one", empty.owner)).toEqual(empty);
    await labs.put(empty);
    expect(labs.kept.list()).toEqual([]);
    await labs.remove("/courses/one", { keepDisks: false });
    expect(await readdir(join(state, "labs"))).toEqual([]);
  });

  test("labs of two owners are kept at one path, and each owner finds their own", async () => {
    const labs = await open();
    const bobs = { ...empty, id: "2b4e28ba-2fa1-41d2-883f-0016d3cca427", owner: "bob" };
    for (const lab of [empty, bobs]) {
      await labs.put(lab);
      await labs.remove(lab.path, { keepDisks: true });
    }
    for (const { kept } of [labs, await open()]) {
      expect(kept.find(empty.path, empty.owner)).toEqual(empty);
      expect(kept.find(empty.path, "bob")).toEqual(bobs);
      expect(kept.find(empty.path, "carol")).toBeUndefined();
    }
  });

  test("a draft that a crash left is removed at the next start", async () => {
    await (await open()).put(empty);
    const directory = join(state, "labs", id);
    await writeFile(join(directory, "lab.json.0123456789ab.tmp"), "half");
    expect((await open()).paths()).toEqual(["/courses/one"]);
    expect((await readdir(directory)).sort()).toEqual(["lab.json", "lab.last.json", "nodes"]);
  });

  test("the directory of an interrupted creation is removed at the next start, unless it has a disk", async () => {
    const other = "2b4e28ba-2fa1-41d2-883f-0016d3cca427";
    await mkdir(join(state, "labs", id, "nodes"), { recursive: true });
    await mkdir(join(state, "labs", other, "nodes", "1"), { recursive: true });
    await mkdir(join(state, "labs", "not-ours"));
    const labs = await open();
    expect(await readdir(join(state, "labs"))).toEqual([other, "not-ours"]);
    expect((await labs.quarantined()).map((one) => one.id)).toEqual([other]);
  });

  test("only the disks stay of a lab whose disks are kept, also after an interrupted removal", async () => {
    const directory = join(state, "labs", id);
    const labs = await open();
    await labs.put(empty);
    for (const name of ["nodes/1", "captures/0123456789abcdef"]) await mkdir(join(directory, name), { recursive: true });
    await labs.remove("/courses/one", { keepDisks: true });
    expect((await readdir(directory)).sort()).toEqual(["kept.json", "nodes"]);
    await mkdir(join(directory, "captures"));
    expect((await open()).kept.find("/courses/one", empty.owner)).toEqual(empty);
    expect((await readdir(directory)).sort()).toEqual(["kept.json", "nodes"]);
  });

  test("a new lab takes the disks of the owner's lab that was kept last at its path, and the others stay", async () => {
    const ids = ["0b4e28ba-2fa1-41d2-883f-0016d3cca427", id, "2b4e28ba-2fa1-41d2-883f-0016d3cca427"];
    for (const last of ids) {
      // As a killed service leaves them: renamed one after the other, with all earlier ones still there.
      for (const one of [...ids.filter((other) => other !== last), last]) {
        const directory = join(state, "labs", one);
        await mkdir(join(directory, "nodes", "1"), { recursive: true });
        await writeFile(join(directory, "lab.json"), JSON.stringify({ ...empty, id: one }));
        await rename(join(directory, "lab.json"), join(directory, "kept.json"));
        // The clock of file timestamps advances in steps.
        const { ctimeMs } = await stat(join(directory, "kept.json"));
        await expect.poll(() => tick(join(state, "clock"))).toBeGreaterThan(ctimeMs);
      }
      const { kept } = await open();
      expect(kept.find("/courses/one", empty.owner)?.id).toBe(last);
      expect(await readdir(join(state, "labs"))).toEqual([...ids].sort());
      await kept.remove(last);
      expect(kept.list().map(({ definition }) => definition.id)).not.toContain(last);
    }
  });

  test("after an interrupted creation of a lab with kept disks, it is not in the list of kept labs", async () => {
    await (await open()).put(empty);
    const directory = join(state, "labs", id);
    await writeFile(join(directory, "kept.json"), JSON.stringify(empty));
    const labs = await open();
    expect(labs.paths()).toEqual(["/courses/one"]);
    expect((await readdir(directory)).sort()).toEqual(["lab.json", "lab.last.json", "nodes"]);
  });

  test("disks of removed nodes whose removal was interrupted are removed at the next start; kept disks stay", async () => {
    const lab = {
      ...empty,
      nodes: [
        { id: 2, name: "b", template: "linux", exec: [], ethernet: 1, env: {}, attributes: {}, labels: {}, power: "stopped" as const },
      ],
      disks: { b: 5 },
      next: { ...empty.next, node: 6 },
    };
    await (await open()).put(lab);
    const nodes = join(state, "labs", id, "nodes");
    for (const name of ["1", "2", "5", "notes"]) await mkdir(join(nodes, name, "upper"), { recursive: true });
    await open();
    expect((await readdir(nodes)).sort()).toEqual(["2", "5", "notes"]);
  });
});
