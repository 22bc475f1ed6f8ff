import { afterAll, beforeAll, expect, test } from "vitest";
import { showSwitches } from "../../src/cli/commands/switches.ts";
import type { HostSession } from "../../src/hosts/host.ts";
import type { SwitchState } from "../../src/hosts/host-switches.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { type Served, serve, users } from "./served.ts";

const state: SwitchState = {
  ports: [
    {
      name: "eth1",
      mode: "access",
      vlan: 77,
      interfaces: [{ name: "eth1", isUp: true }],
      role: "designated",
      state: "forwarding",
      differs: true,
    },
    {
      name: "lag1",
      mode: "trunk",
      vlans: [10, "20-29"],
      lacp: "active",
      interfaces: [
        { name: "eth3", isUp: true, lacpCurrent: true },
        { name: "eth4", isUp: false, lacpCurrent: false },
      ],
      differs: false,
    },
  ],
  spanningTree: { mode: "rstp", bridge: "8.000.02", root: "1.000.01" },
  addresses: [{ mac: "02:00:00:00:00:01", vlan: 77, port: "eth1", age: 3 }],
  moreAddresses: 2,
};

const yaml = `name: campus
nodes:
  sw1: {template: switch, switching: {spanning-tree: rstp}}
  sw2: {template: switch, switching: {}, start: false}
  flat: {template: switch}
`;

const lab = "/campus";
let served: Served;

beforeAll(async () => {
  const memory = memoryHost({ users });
  const withSwitches = (session: HostSession): HostSession => ({
    ...session,
    capabilities: async () => {
      const found = await session.capabilities();
      return { ...found, features: { ...found.features, switching: true } };
    },
    switches: async (path) => {
      const observed = await session.observe(path);
      return new Map((observed?.nodes ?? []).flatMap(({ id, name }) => (name === "sw1" ? [[id, state] as const] : [])));
    },
  });
  served = await serve({
    host: {
      ...memory,
      login: async (...args) => withSwitches(await memory.login(...args)),
      resume: async (user) => {
        const session = await memory.resume?.(user);
        return session == null ? null : withSwitches(session);
      },
    },
  });
  const admin = await served.signIn("admin", "admin-password");
  expect((await admin.post("/api/v1/projects/deploy", { yaml })).status).toBe(200);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

test("the VLAN-aware switches of a lab are listed, with their state if they run", async () => {
  const admin = await served.signIn("admin", "admin-password");
  const { json } = await admin.post("/api/v1/projects/switches", { lab });
  expect(json.data.switches.map(({ node, running }: { node: string; running: boolean }) => [node, running])).toEqual([
    ["sw1", true],
    ["sw2", false],
  ]);
  expect(json.data.switches[0]).toEqual({
    node: "sw1",
    running: true,
    spanning_tree: { mode: "rstp", bridge: "8.000.02", root: "1.000.01", is_root: false },
    ports: [
      {
        port: "eth1",
        mode: "access",
        vlan: 77,
        interfaces: [{ interface: "eth1", up: true }],
        role: "designated",
        state: "forwarding",
        differs: true,
      },
      {
        port: "lag1",
        mode: "trunk",
        vlans: ["10", "20-29"],
        lacp: "active",
        interfaces: [
          { interface: "eth3", up: true, lacp_current: true },
          { interface: "eth4", up: false, lacp_current: false },
        ],
        differs: false,
      },
    ],
    addresses: [{ mac: "02:00:00:00:00:01", vlan: 77, port: "eth1", age: 3 }],
    more_addresses: 2,
  });
  expect(
    showSwitches(json.data)
      .split("\n")
      .map((line) => line.trimEnd()),
  ).toEqual([
    "PORT      VLANS           LINKS               LACP                   SPANNING TREE",
    "sw1:eth1  access 77 *     eth1 up                                    designated forwarding",
    "sw1:lag1  trunk 10,20-29  eth3 up, eth4 down  active, 1 of 2 joined",
    "sw2       not running",
    "",
    "SWITCH  PROTOCOL  BRIDGE    ROOT",
    "sw1     rstp      8.000.02  1.000.01",
    "",
    "LEARNED AT  VLAN  ADDRESS            AGE",
    "sw1:eth1    77    02:00:00:00:00:01  3 s",
    "sw1               and 2 more",
  ]);
});

test("a call names switches; an unknown node and a lab of another user are refused", async () => {
  const admin = await served.signIn("admin", "admin-password");
  const named = await admin.post("/api/v1/projects/switches", { lab, node: "sw2" });
  expect(named.json.data.switches).toEqual([{ node: "sw2", running: false, ports: [], addresses: [], more_addresses: 0 }]);
  expect((await admin.post("/api/v1/projects/switches", { lab, node: "sw9" })).json.code).toBe("node_not_found");
  const ann = await served.signIn("ann", "ann-password");
  expect((await ann.post("/api/v1/projects/switches", { lab })).json.code).toBe("lab_not_found");
});
