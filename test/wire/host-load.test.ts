import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { eveFixture } from "../../src/hosts/eve/eve-host.fixture.ts";
import { testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { serve, users } from "./served.ts";

const percent = (data: Record<string, number>, name: string) => {
  const value = data[name] ?? Number.NaN;
  expect([name, value >= 0 && value <= 100]).toEqual([name, true]);
};

async function hostSamples(client: RawClient): Promise<Readonly<Record<string, number>>> {
  const { text } = await client.get("/metrics");
  const lines = text.split("\n").filter((line) => line.startsWith("labwright_host_"));
  return Object.fromEntries(lines.map((line) => line.split(" ")).map(([name = "", value]) => [name, Number(value)]));
}

test.each(["ce5", "pro"] as const)(
  "the load of EVE-NG (%s) is its own status, read once for all who ask, and is in the metrics",
  async (edition) => {
    await using eve = await eveFixture({ edition, random: () => 42 });
    await using served = await serve({ host: eve.host });
    const [admin, other] = [await served.signIn("admin", "eve"), await served.signIn("admin", "eve")];
    await admin.post(operations.deployProject.path, { yaml: "name: busy\nnodes: {pc1: {template: vpcs}, pc2: {template: vpcs}}\n" });
    const before = eve.fake.calls.length;
    const answers = await Promise.all([admin, other].map((client) => client.get(operations.getHostLoad.path)));
    for (const { status, json } of answers) {
      const { version, cpu_percent: cpu, memory_percent: memory, disk_percent: disk, swap_percent: swap, nodes } = json.data;
      expect([status, cpu, memory, disk, swap]).toEqual([200, 42, 4, 27, 0]);
      expect(version).toBe(edition === "ce5" ? "5.0.1-10" : "6.5.0-27-PRO");
      expect(nodes).toContainEqual({ type: "vpcs", running: 2 });
    }
    const asked = eve.fake.calls.slice(before).filter((call) => call.endsWith("/api/status"));
    expect(asked.length).toBe(1);
    expect(await hostSamples(admin)).toEqual({
      labwright_host_cpu_ratio: 0.42,
      labwright_host_memory_ratio: 0.04,
      labwright_host_disk_ratio: 0.27,
      labwright_host_swap_ratio: 0,
    });
  },
);

test("a host that reports no load says so, and its metrics have no samples of it", async () => {
  await using served = await serve();
  const admin = await served.signIn();
  const { status, json } = await admin.get(operations.getHostLoad.path);
  expect([status, json.code, json.data]).toEqual([422, "unsupported", { feature: "hostLoad" }]);
  expect(await hostSamples(admin)).toEqual({});
  await using pnetlab = await eveFixture({ edition: "pnetlab" });
  await using other = await serve({ host: pnetlab.host });
  expect((await (await other.signIn("admin", "eve")).get(operations.getHostLoad.path)).json.code).toBe("unsupported");
});

describe.skipIf(process.getuid?.() !== 0)("on the embedded host", () => {
  test("the load is the machine's, with the nodes that run by type; a scrape alone reads it", async () => {
    const local = await testLocalHost();
    try {
      await using served = await serve({ host: local.host });
      const admin = await served.signIn("admin", "test");
      const yaml = "name: busy\nnodes: {h1: {template: linux}, h2: {template: linux}, off: {template: linux, start: false}}\n";
      expect((await admin.post(operations.deployProject.path, { yaml })).status).toBe(200);
      const samples = await hostSamples(admin);
      expect(Object.keys(samples)).toHaveLength(4);
      expect(samples["labwright_host_memory_ratio"]).toBeGreaterThan(0);
      const { status, json } = await admin.get(operations.getHostLoad.path);
      expect(status).toBe(200);
      for (const name of ["cpu_percent", "memory_percent", "disk_percent", "swap_percent"]) percent(json.data, name);
      expect(json.data).toMatchObject({ host: "local:", nodes: [{ type: "linux", running: 2 }] });
      expect(json.data.cpus).toBeGreaterThan(0);
      expect(json.data.memory_bytes).toBeGreaterThan(1e8);
      const listed = (await admin.get(operations.listHostUsers.path)).json.data.users;
      expect(listed).toContainEqual({ user: "admin", role: "admin" });
      expect(JSON.stringify(listed)).not.toMatch(/hash|salt|scrypt|credential/);
    } finally {
      await local[Symbol.asyncDispose]();
    }
  });
});

test("admins list the host's users, with pod and open lab on EVE-NG; nobody else does", async () => {
  await using served = await serve();
  const [admin, ann, eve] = [await served.signIn("admin"), await served.signIn("ann"), await served.signIn("eve")];
  const path = operations.listHostUsers.path;
  expect((await admin.get(path)).json.data.users).toEqual(users.map(({ name, role }) => ({ user: name, role })));
  for (const client of [ann, eve]) expect((await client.get(path)).json.code).toBe("operation_not_allowed");
  for (const notices of ["hidden", "visible"] as const) {
    const second = { username: "second", password: "x", email: "s@localhost", name: "Second" };
    await using fake = await eveFixture({ notices, users: [{ username: "admin", password: "eve" }, second] });
    await using other = await serve({ host: fake.host });
    const found = (await (await other.signIn("admin", "eve")).get(path)).json.data.users;
    expect(found).toMatchObject([
      { user: "admin", role: "admin" },
      { user: "second", role: "admin", name: "Second", email: "s@localhost" },
    ]);
    if (notices === "visible") expect(found[0].pod).toBe(0);
  }
});
