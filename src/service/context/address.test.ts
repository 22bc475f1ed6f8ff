import { afterEach, describe, expect, test } from "vitest";
import type { Host } from "../../hosts/host.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { type Bench, createBench, failureOf, listOf, pair, three, until, users } from "../service.fixture.ts";

const benches: Bench[] = [];
function bench(...options: Parameters<typeof createBench>): Bench {
  const made = createBench(...options);
  benches.push(made);
  return made;
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

describe("whose lab it is", () => {
  test("another user's lab is not found; an admin sees and changes it; a viewer reads it", async () => {
    const made = bench();
    const [ann, bob, admin, eve] = await Promise.all(["ann", "bob", "admin", "eve"].map((user) => made.login(user)));
    await ann!.call("deployProject", { yaml: pair });
    for (const id of [
      "planProject",
      "reconcileProject",
      "destroyProject",
      "getProjectStatus",
      "inspectProject",
      "deployProject",
    ] as const) {
      expect((await failureOf(bob!.call(id, { yaml: pair }))).code, id).toBe("lab_not_found");
    }
    expect((await admin!.call("inspectProject", { lab: "/pair" })).nodes.length).toBe(2);
    expect((await admin!.get("listLabs")).labs.map(({ lab, owner }) => [lab, owner])).toEqual([["/pair", "ann"]]);
    for (const id of ["reconcileProject", "deployProject", "destroyProject"] as const) {
      expect((await failureOf(eve!.call(id, { yaml: pair }))).code, id).toBe("operation_not_allowed");
    }
    await admin!.call("destroyProject", { lab: "/pair" });
  });

  test("a deploy to a taken path is refused without the owner's name, also while another user creates the lab", async () => {
    const memory = memoryHost({ users });
    let hold: ((user: string) => Promise<void> | undefined) | undefined;
    // The host read of a plan: a change that waits for it has no record yet.
    const host: Host = {
      ...memory,
      login: async (name, password) => {
        const session = await memory.login(name, password);
        return { ...session, rules: () => (hold?.(name) ?? Promise.resolve()).then(() => session.rules()) };
      },
    };
    const made = bench({ host });
    const [ann, bob] = [await made.login(), await made.login("bob")];
    let release = () => {};
    const gate = new Promise<void>((settle) => {
      release = settle;
    });
    let waits = false;
    hold = async (user) => {
      if (user !== "ann" || (await made.store.jobs.unfinished()).length === 0) return;
      waits = true;
      await gate;
    };
    const deploying = ann.call("deployProject", { yaml: pair });
    await until(() => waits);
    expect(made.store.labs.get("/pair")).toBeUndefined();
    const refusals = async (...ids: readonly ("planProject" | "deployProject" | "reconcileProject")[]) => {
      for (const id of ids) {
        const { code, message, data } = await failureOf(bob.call(id, { yaml: pair }));
        expect([id, code, data]).toEqual([id, "lab_not_found", { path: "/pair" }]);
        expect([message.includes("choose another name"), message.includes("ann")]).toEqual([true, false]);
      }
    };
    await refusals("deployProject", "reconcileProject");
    release();
    await deploying;
    await refusals("planProject", "deployProject", "reconcileProject");
    await ann.call("deployProject", { yaml: pair, lab: "/source" });
    await bob.call("deployProject", { yaml: pair, lab: "/bobs" });
    const manifest = "version: 1\nmode: import\nlab: /source\n";
    expect((await failureOf(bob.call("importProject", { lab: "/bobs", manifest }))).message).toContain("choose another name");
  });

  test("a lab without a record, on a host with labs of its own, is read and not changed", async () => {
    const made = bench({ ownLabs: true });
    const ann = await made.login();
    await ann.call("deployProject", { yaml: pair });
    const { state } = (await ann.call("reconcileProject", { yaml: pair })) as { state: unknown };
    made.store.labs.delete("/pair");
    expect(await ann.call("inspectProject", { lab: "/pair" })).toMatchObject({ mode: "load" });
    expect((await ann.get("listLabs")).labs).toMatchObject([{ lab: "/pair", mode: "load", exists: true }]);
    expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("lab_exists");
    for (const call of [
      ann.call("destroyProject", { lab: "/pair" }),
      ann.call("execProject", { lab: "/pair", action: "stop" }),
      ann.call("reconcileProject", { yaml: three }),
    ]) {
      expect((await failureOf(call)).code).toBe("operation_not_allowed");
    }
    expect(await ann.call("reconcileProject", { yaml: three, state })).toMatchObject({ status: "applied" });
    await ann.call("destroyProject", { lab: "/pair" });
  });
});

describe("addressing", () => {
  test("wrong paths, files, states and manifests are bad requests, each with its position", async () => {
    const ann = await bench().login();
    const deployed = (await ann.call("deployProject", { yaml: pair })) as { state: Record<string, unknown> };
    const place = async (body: object) => {
      const failure = await failureOf(ann.call("getProjectStatus", body));
      return [failure.code, (failure.data?.["problems"] as { path: string }[] | undefined)?.[0]?.path];
    };
    expect(await place({})).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "" })).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "/a/../b" })).toEqual(["bad_request", "/lab"]);
    expect(await place({ lab: "/pair", files: { "../x": "" } })).toEqual(["bad_request", "/files/..~1x"]);
    expect(await place({ lab: "/pair", files: { a: "", "./a": "" } })).toEqual(["bad_request", "/files/a"]);
    expect(await place({ lab: "/pair", manifest: "version: 2" })).toEqual(["bad_request", "/manifest"]);
    expect(await place({ lab: "/pair", state: { ...deployed.state, version: 2 } })).toEqual(["bad_request", "/state/version"]);
    expect(await place({ lab: "/pair", state: { ...deployed.state, host: { kind: "eve", url: "x" } } })).toEqual([
      "bad_request",
      "/state/host",
    ]);
    expect(await place({ lab: "/other", state: deployed.state })).toEqual(["bad_request", "/state/lab"]);
    expect(await place({ lab: "/pair", dir: "/tmp" })).toEqual(["field_not_allowed", undefined]);
    expect(await ann.call("getProjectStatus", { lab: "/pair", dir: "", out: "", state: null })).toMatchObject({ exists: true });
  });

  test("a manifest names the lab and its mode", async () => {
    const ann = await bench().login();
    await ann.call("deployProject", { yaml: pair, manifest: "version: 1\nlab: /courses/one\n" });
    expect(await ann.call("getProjectStatus", { manifest: "version: 1\nlab: /courses/one\n" })).toMatchObject({
      lab: "/courses/one",
      exists: true,
    });
    const load = ann.call("deployProject", { yaml: pair, lab: "/two", manifest: "version: 1\nmode: load\n" });
    expect((await failureOf(load)).code).toBe("operation_not_allowed");
  });

  test("an invalid intent is refused with every problem and its position", async () => {
    const ann = await bench().login();
    const failure = await failureOf(
      ann.call("validateProject", { yaml: 'name: x\nnodes: {a: {tmplate: frr}}\nlinks: [["a:eth0", "zz:eth0"]]\n' }),
    );
    expect(failure.code).toBe("invalid_intent");
    expect(listOf(failure, "diagnostics").length).toBeGreaterThan(1);
    expect(await ann.call("validateProject", { yaml: pair })).toEqual({ status: "valid", warnings: [] });
  });
});
