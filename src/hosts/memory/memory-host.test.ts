import { describe, expect, it } from "vitest";
import { planLab } from "../../engine/plan/plan-lab.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { hostConformance } from "../conformance/conformance.ts";
import { memoryHost } from "./memory-host.ts";

hostConformance("memory", async () => {
  const host = memoryHost();
  return { host, user: "admin", password: "admin", close: () => host.close() };
});

const oneNode: Lab = {
  name: "one",
  nodes: [{ key: "h1", name: "h1", template: "linux", exec: ["echo from exec"], env: {}, attributes: {}, labels: {} }],
  networks: [],
  links: [],
  texts: [],
  trafficFilters: [],
};

describe("the memory host", () => {
  const progress = { ids: { nodes: {}, networks: {}, links: {} }, step: () => {} };

  it("hides a user's labs from other users and shows them to an admin; a viewer changes nothing", async () => {
    const users = (["admin", "user", "viewer"] as const).map((role) => ({ name: role, password: role, role }));
    const host = memoryHost({ users: [...users, { name: "other", password: "other", role: "user" }] });
    const [admin, user, viewer, other] = await Promise.all(["admin", "user", "viewer", "other"].map((name) => host.login(name, name)));
    const rules = await user!.rules();
    const { operations } = planLab({ desired: oneNode, observed: null, rules, prune: false, replace: false });
    await user!.apply("/one", operations, progress);
    expect(await other!.observe("/one")).toBeNull();
    expect(await other!.labs()).toEqual([]);
    await expect(other!.status("/one")).rejects.toMatchObject({ code: "lab_not_found" });
    await expect(other!.apply("/one", operations, progress)).rejects.toMatchObject({ code: "lab_not_found" });
    expect(await admin!.labs()).toEqual(["/one"]);
    await expect(viewer!.apply("/two", operations, progress)).rejects.toMatchObject({ code: "operation_not_allowed" });
    await host.close();
  });

  it("runs exec lines in the node's shell, edits lines, and reports unknown commands", async () => {
    const host = memoryHost();
    const session = await host.login("admin", "admin");
    const { operations } = planLab({ desired: oneNode, observed: null, rules: await session.rules(), prune: false, replace: false });
    const { ids } = await session.apply("/one", operations, progress);
    const { stream } = await session.console("/one", ids.nodes.h1 ?? "");
    let shown = "";
    stream.on("data", (chunk: Buffer) => {
      shown += chunk;
    });
    stream.write("hostnamx\x7fe\r\nfrobnicate\n");
    await expect.poll(() => shown).toContain("frobnicate: not a command\r\nh1# ");
    expect(shown).toContain("\r\nfrom exec\r\nh1# ");
    expect(shown).toContain("\r\nh1\r\nh1# ");
    await host.close();
  });

  it("breaks at the configured step", async () => {
    const host = memoryHost({
      beforeStep: (_lab, { step }) => {
        if (step.do === "start") throw new Error("out of order");
      },
    });
    const session = await host.login("admin", "admin");
    const { operations } = planLab({ desired: oneNode, observed: null, rules: await session.rules(), prune: false, replace: false });
    await expect(session.apply("/one", operations, progress)).rejects.toThrow("out of order");
    expect((await session.observe("/one"))?.nodes.map(({ power }) => power)).toEqual(["stopped"]);
  });
});
