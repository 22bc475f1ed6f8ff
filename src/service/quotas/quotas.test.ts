import { expect, it } from "vitest";
import type { Host, HostSession } from "../../hosts/host.ts";
import type { CaptureRequest, HostCapture, HostCaptures } from "../../hosts/host-captures.ts";
import { memoryHost } from "../../hosts/memory/memory-host.ts";
import { createBench, failureOf, pair, three, users } from "../service.fixture.ts";

const named = (name: string, text = pair) => text.replace("name: pair", `name: ${name}`);

it("a quota refuses deploys, applies, copies and replacements that exceed it, with what is used; a plan warns of it", async () => {
  const bench = createBench();
  const [admin, ann] = [await bench.login("admin"), await bench.login("ann")];
  await admin.call("setQuota", { kind: "user", name: "ann", labs: 2, nodes: 4 });
  await ann.call("deployProject", { yaml: pair });
  const plan = await ann.call("planProject", { yaml: named("other", three) });
  expect(plan.warnings).toMatchObject([{ code: "over_quota", severity: "warning", line: 2 }]);
  const refused = await failureOf(ann.call("deployProject", { yaml: named("other", three) }));
  expect(refused).toMatchObject({
    code: "quota_exceeded",
    data: { quota: { kind: "user", name: "ann", resource: "nodes", used: 2, wanted: 5, limit: 4 } },
  });
  expect(refused.message).toContain("the quota of user ann allows 4 nodes: 2 used, 5 after this change");
  expect((await failureOf(ann.call("getProjectStatus", { lab: "/other" }))).code).toBe("lab_not_found");

  await ann.call("importProject", { lab: "/pair" });
  expect((await failureOf(ann.call("importProject", { lab: "/pair" }))).data).toMatchObject({
    quota: { resource: "labs", used: 2, wanted: 3, limit: 2 },
  });
  for (const call of ["reconcileProject", "deployProject"] as const) {
    expect((await failureOf(ann.call(call, { yaml: three, replace: true }))).code, call).toBe("quota_exceeded");
  }
  // An admin who changes the lab uses the quota of its owner, too.
  expect((await failureOf(admin.call("reconcileProject", { yaml: three }))).code).toBe("quota_exceeded");
  await ann.call("destroyProject", { lab: "/pair-import" });
  await ann.call("reconcileProject", { yaml: three });
  expect((await ann.get("listQuotas")).quotas).toEqual([
    { kind: "user", name: "ann", labs: 2, nodes: 4, used: { labs: 1, nodes: 3, memory_mib: expect.any(Number) } },
  ]);
  await bench.service.close();
});

it("deploys at the same time do not exceed a quota together, and a refused one leaves nothing", async () => {
  const bench = createBench();
  const [admin, ann, bob] = [await bench.login("admin"), await bench.login("ann"), await bench.login("bob")];
  await admin.call("setQuota", { kind: "group", name: "students", members: ["ann", "bob"], labs: 3 });
  const all = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? ann : bob).call("deployProject", { yaml: named(`lab${index}`) })),
  );
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect((await admin.get("listLabs")).labs).toHaveLength(3);
  // Members see the sum, and not who the others are.
  expect((await bob.get("listQuotas")).quotas).toEqual([
    { kind: "group", name: "students", labs: 3, used: expect.objectContaining({ labs: 3, nodes: 6 }) },
  ]);
  await bench.service.close();
});

it("nodes that an apply leaves on the host count, and a restart of the service keeps quotas and counts", async () => {
  const bench = createBench();
  const [admin, ann] = [await bench.login("admin"), await bench.login("ann")];
  await admin.call("setQuota", { kind: "default", nodes: 3 });
  await ann.call("deployProject", { yaml: three });
  // Without prune the third node stays.
  await ann.call("reconcileProject", { yaml: pair });
  const next = bench.restart();
  const again = await next.login("ann");
  expect((await failureOf(again.call("deployProject", { yaml: named("more") }))).data).toMatchObject({
    quota: { kind: "default", used: 3, wanted: 5 },
  });
  await again.call("reconcileProject", {
    yaml: pair,
    prune: true,
    confirm: true,
    plan_identity: (await again.call("planProject", { yaml: pair, prune: true })).plan_identity!,
  });
  expect((await failureOf(again.call("deployProject", { yaml: named("more") }))).data).toMatchObject({ quota: { used: 2, wanted: 4 } });
  await next.service.close();
});

it("only admins set quotas, and a quota that cannot be set is refused with its place", async () => {
  const bench = createBench();
  const [admin, ann, eve] = [await bench.login("admin"), await bench.login("ann"), await bench.login("eve")];
  for (const user of [ann, eve]) {
    expect((await failureOf(user.call("setQuota", { kind: "user", name: "ann" }))).code).toBe("operation_not_allowed");
    expect((await user.get("listQuotas")).quotas).toEqual([]);
  }
  const bad = [
    [{ kind: "user", labs: 1 }, "1 to 256 characters"],
    [{ kind: "user", name: "ann", labs: -1 }, "0 or more"],
    [{ kind: "user", name: "ann", members: [] }, "only the quota of a group"],
    [{ kind: "group", name: "g", labs: 1 }, "needs its members"],
    [{ kind: "default", name: "ann" }, "has no name"],
    [{ kind: "group", name: "g", remove: true }, "no such quota"],
  ] as const;
  for (const [body, text] of bad) expect((await failureOf(admin.call("setQuota", body))).message).toContain(text);
  await admin.call("setQuota", { kind: "user", name: "ann", labs: 0 });
  expect((await failureOf(ann.call("deployProject", { yaml: pair }))).code).toBe("quota_exceeded");
  expect((await admin.call("setQuota", { kind: "user", name: "ann", remove: true })).quotas).toEqual([]);
  await ann.call("deployProject", { yaml: pair });
  await bench.service.close();
});

it("a quota limits the captures of all labs of a user, also those that are started at the same time", async () => {
  const memory = memoryHost({ users });
  const kept = new Map<string, HostCapture[]>();
  const captures = {
    list: async (path: string) => kept.get(path) ?? [],
    start: async (path: string, request: CaptureRequest): Promise<HostCapture> => {
      const made = {
        ...request,
        id: `${path}-${Math.random()}`,
        startedAt: 0,
        status: "running",
        sizeBytes: 0,
        maxBytes: 1,
        truncated: false,
      } as const;
      kept.set(path, [...(kept.get(path) ?? []), made]);
      return made;
    },
  } as unknown as HostCaptures;
  const capturing = (session: HostSession): HostSession =>
    new Proxy(session, {
      get: (target, name) => {
        if (name === "captures") return captures;
        if (name !== "capabilities") return Reflect.get(target, name) as unknown;
        return async () => {
          const all = await target.capabilities();
          return { ...all, features: { ...all.features, capture: true } };
        };
      },
    });
  const host: Host = {
    ...memory,
    login: async (user, password) => capturing(await memory.login(user, password)),
    resume: async (user) => {
      const session = await memory.resume!(user);
      return session && capturing(session);
    },
  };
  const bench = createBench({ host });
  const [admin, ann] = [await bench.login("admin"), await bench.login("ann")];
  await admin.call("setQuota", { kind: "user", name: "ann", captures: 2 });
  for (const name of ["one", "two"]) await ann.call("deployProject", { yaml: named(name) });
  const start = (lab: string) => ann.call("startCapture", { lab, node: "r1", interface: "eth1" });
  const all = await Promise.allSettled(["/one", "/two", "/one", "/two"].map(start));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  expect((await failureOf(start("/one"))).data).toMatchObject({ quota: { resource: "captures", used: 2, wanted: 3, limit: 2 } });
  await bench.service.close();
});
