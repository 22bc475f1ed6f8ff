import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReconcileData } from "../../contract/schemas/plan.ts";
import type { SaveConfigsData } from "../../contract/schemas/save.ts";
import type { TestData } from "../../contract/schemas/tests.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { runProgram } from "../conditions/run-program.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), call);
}

beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  token = (await service.handlers.login({ body: { username: "admin", password: "test" }, query: undefined, params: undefined }, null, call))
    .token!;
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

const wrong = `name: wrong
nodes:
  r1:
    template: frr
    start: false
    startup-config: |
      interface eth1
       ip adress 10.0.0.1/24
  r2: {template: frr, startup-config: r2.conf, start: false}
  r3: {template: frr, startup-config: r2.conf, start: false}
`;
const files = { "r2.conf": "hostname r2\nrotuer ospf\n" };
const inYaml = { severity: "warning", code: "config_line", line: 8, column: 11, hint: 'did you mean "address"?' };
const inFile = { severity: "warning", code: "config_line", file: "r2.conf", line: 2, column: 1, hint: 'did you mean "router"?' };

test("validate and plan warn of lines that FRR does not know, at their places in the YAML text and in files, once for each place", async () => {
  const { warnings } = await post("validateProject", { yaml: wrong, files });
  expect(warnings?.map(({ code }) => code).sort()).toEqual(["config_line", "config_line"]);
  expect(warnings).toEqual(expect.arrayContaining([expect.objectContaining(inYaml), expect.objectContaining(inFile)]));
  const plan = await post("planProject", { yaml: wrong, files });
  expect(plan.applicable).toBe(true);
  expect(plan.warnings).toMatchObject([inYaml, inFile]);
  expect(plan.text).toContain(
    '  ! line 8: startup-config of r1: FRR does not know this command here and leaves the line out; did you mean "address"?\n',
  );
  expect(plan.text).toContain("  ! r2.conf:2: startup-config of r2");
});

test("deploy applies the lines that FRR knows, and its answer names the others; a later change warns of changed configurations only", async () => {
  const deployed = await post("deployProject", { yaml: wrong, files });
  expect(deployed).toMatchObject({
    nodes: 3,
    warnings: [
      {
        code: "config_line",
        node: "r1",
        message: expect.stringMatching(/^the lab's file, line 8: startup-config of r1: .*; did you mean "address"\?$/),
      },
      { code: "config_line", node: "r2", message: expect.stringMatching(/^r2.conf, line 2: /) },
    ],
  });
  const changed = wrong.replace("interface eth1", "interface eth2");
  const { plan_identity, warnings } = await post("planProject", { yaml: changed, files });
  expect(warnings).toMatchObject([inYaml]);
  const applied = await post("reconcileProject", { yaml: changed, files, plan_identity, confirm: true });
  expect(applied).toMatchObject({ status: "applied", warnings: [{ code: "config_line", node: "r1" }] });
  await post("destroyProject", { lab: "/wrong" });
});

const router = (own: number, peer: number) => `      interface eth1
       ip address 10.0.0.${own}/30
       ip ospf hello-interval 1
       ip ospf dead-interval 4
       ip ospf network point-to-point
       ip router isis core
       isis network point-to-point
       isis hello-interval 1
      interface lo
       ip address 10.1.0.${own}/32
      router ospf
       network 10.0.0.0/8 area 0
      router isis core
       net 49.0001.0000.0000.000${own}.00
       is-type level-2-only
      router bgp 6500${own}
       bgp router-id 10.1.0.${own}
       no bgp ebgp-requires-policy
       neighbor 10.0.0.${peer} remote-as 6500${peer}
       neighbor 10.0.0.${peer} timers connect 1
       neighbor 10.0.0.${peer} bfd
       address-family ipv4 unicast
        network 10.1.0.${own}/32
       exit-address-family
`;
const pair = `name: pair
nodes:
  r1:
    template: frr
    startup-config: |
${router(1, 2)}  r2:
    template: frr
    startup-config: |
${router(2, 1)}links: [["r1:eth1", "r2:eth1"]]
tests:
  - {name: ospf, from: r1, neighbor: {protocol: ospf, peer: 10.1.0.2}, within: 60}
  - {name: bgp, from: r1, neighbor: {protocol: bgp, peer: 10.0.0.2}, within: 60}
  - {name: isis, from: r1, neighbor: {protocol: isis, peer: r2}, within: 60}
  - {name: bfd, from: r1, neighbor: {protocol: bfd, peer: 10.0.0.2}, within: 60}
  - {name: nobody, from: r1, neighbor: {protocol: bgp, peer: 10.0.0.9}, within: 0}
  - {name: idle, from: r1, neighbor: {protocol: bgp, peer: 10.0.0.2, state: Idle}, within: 0}
`;

const live = async () => new Map((await post("getProjectStatus", { lab: "/pair" })).live?.nodes?.map((row) => [row.unique_key, row]));

test("neighbors of OSPF, BGP, IS-IS and BFD are found in the output of real daemons, by address, router id or name", async () => {
  expect(((await post("deployProject", { yaml: pair })) as { warnings?: unknown }).warnings).toBeUndefined();
  const outcomes = async (names: readonly string[]) => {
    const { tests } = (await post("testProject", { lab: "/pair", tests: names })) as TestData;
    return tests.map(({ name, outcome, message }) => `${name} ${outcome} ${message}`);
  };
  expect(await outcomes(["ospf", "bgp", "isis", "bfd"])).toEqual([
    expect.stringMatching(/^ospf passed Full/),
    "bgp passed Established",
    "isis passed Up",
    "bfd passed up",
  ]);
  expect(await outcomes(["nobody", "idle"])).toEqual([
    "nobody failed no bgp neighbor 10.0.0.9",
    "idle failed bgp neighbor 10.0.0.2 is Established, not Idle",
  ]);
}, 120_000);

test("a router whose daemon is killed is not ready, with the next step, until the daemon runs again", async () => {
  const host = await local.host.login("admin", "test");
  const nodeId = (await live()).get("r1")!.id;
  const run = async (...argv: string[]) =>
    (await runProgram(host.processes!, { lab: "/pair", nodeId }, { argv, timeoutMs: 30_000 }, call.signal)).code;
  // Both: an earlier test may have left the neighbour without routes for a moment.
  for (const name of ["r1", "r2"]) await until(async () => (await live()).get(name)?.ready === true);
  expect(await run("sh", "-c", "kill -9 $(cat /run/frr/bgpd.pid)")).toBe(0);
  await until(async () => (await live()).get("r1")?.ready === false);
  await until(async () => (await live()).get("r1")?.not_ready === "bgpd has ended: run frr-start bgpd in the node");
  expect((await live()).get("r2")?.ready).toBe(true);
  expect(await run("frr-start", "bgpd")).toBe(0);
  await until(async () => (await live()).get("r1")?.ready === true);
}, 60_000);

async function change(yaml: string) {
  const plan = await post("planProject", { yaml });
  const applied = (await post("reconcileProject", { yaml, plan_identity: plan.plan_identity, confirm: false })) as ReconcileData;
  return { plan, applied };
}

async function runningConfig(): Promise<string> {
  const host = await local.host.login("admin", "test");
  const nodeId = (await live()).get("r1")!.id;
  const program = { argv: ["vtysh", "-c", "show running-config"], timeoutMs: 10_000 };
  return (await runProgram(host.processes!, { lab: "/pair", nodeId }, program, call.signal)).stdout;
}

test("a running router gets the lines of its startup-config that change, and the daemons that they need, without a restart", async () => {
  const before = (await live()).get("r1")!.uptime_ms!;
  const next = pair
    .replace("       ip ospf dead-interval 4\n", "       ip ospf dead-interval 8\n       description to the core\n")
    .replace(
      "      router isis core\n",
      "      ip route 10.7.0.0/16 blackhole\n      router rip\n       network eth1\n      router isis core\n",
    )
    .replace("        network 10.1.0.1/32\n", "        network 10.1.0.1/32\n        network 10.7.0.0/16\n");
  const { plan, applied } = await change(next);
  expect(plan.text).toContain("note: live: the running router gets the changed lines and does not restart");
  expect(plan.text).toContain("        -  ip ospf dead-interval 4\n        +  ip ospf dead-interval 8\n");
  expect(applied).toMatchObject({ status: "applied" });
  expect(applied.warnings).toBeUndefined();
  expect((await live()).get("r1")!.uptime_ms).toBeGreaterThan(before);
  const now = await runningConfig();
  for (const line of [
    " description to the core",
    " ip ospf dead-interval 8",
    "ip route 10.7.0.0/16 blackhole",
    "router rip",
    "  network 10.7.0.0/16",
  ])
    expect(now.split(/\r?\n/)).toContain(line);
  const back = await change(pair);
  expect(back.applied.warnings).toBeUndefined();
  const after = await runningConfig();
  for (const word of ["description", "dead-interval 8", "10.7.0.0/16", "router rip"]) expect(after).not.toContain(word);
  expect((await post("planProject", { yaml: pair })).operations).toEqual([]);
}, 60_000);

test("a configuration that a router saves after a live change is kept; a line that FRR refuses is a warning; a change of profile restarts", async () => {
  const routed = pair.replace("      router isis core\n", "      ip route 10.7.0.0/16 blackhole\n      router isis core\n");
  await change(routed);
  await until(async () => (await live()).get("r1")?.ready === true);
  const saved = await post("saveConfigs", { lab: "/pair", nodes: ["r1"] } as object);
  expect(saved).toMatchObject({ nodes: [{ node: "r1", outcome: "unchanged" }] });
  expect(JSON.stringify(saved)).toContain("ip route 10.7.0.0/16 blackhole");
  expect((await post("planProject", { yaml: routed })).operations).toEqual([]);
  await post("execProject", { lab: "/pair", action: "stop", nodes: ["r1"] });
  await post("execProject", { lab: "/pair", action: "start", nodes: ["r1"] });
  await until(async () => (await runningConfig()).includes("router bgp 65001"));
  expect(await runningConfig()).toContain("ip route 10.7.0.0/16 blackhole");
  const refused = await change(
    routed.replace("10.7.0.0/16 blackhole\n", "10.7.0.0/16 blackhole\n      ip route 10.6.0.0/16 nowhere 300 x\n"),
  );
  expect(refused.applied.warnings?.map(({ code }) => code).sort()).toEqual(["config_line", "config_not_live"]);
  const { plan } = await change(routed.replace("    startup-config: |\n", "    startup-config: |\n      frr defaults datacenter\n"));
  expect(plan.text).toContain('note: restart: FRR reads "frr …" only at its start');
  expect(plan.operations?.some(({ op, disruption }) => op === "stop" && disruption === "restart")).toBe(true);
}, 60_000);

test("save changes only the lines of a startup-config that somebody typed: comments, order, defaults and FRR's other words are no change", async () => {
  const text = `! by hand
interface lo
 no shutdown
!
router ospf
 router-id 1.1.1.1
 passive-interface lo
!
router bgp 65000
 no bgp ebgp-requires-policy
 ! the network of the site
 network 10.8.0.1/16
ip prefix-list P permit 10.0.0.0/8
`;
  const lab = (config: string) =>
    `name: saved\nnodes:\n  r1:\n    template: frr\n    startup-config: |\n      frr defaults datacenter\n${config.replace(/^/gm, "      ").trimEnd()}\n`;
  const saved = async () => {
    await until(async () => (await post("getProjectStatus", { lab: "/saved" })).live?.nodes?.[0]?.ready === true);
    const { nodes, files } = (await post("saveConfigs", { lab: "/saved" } as object)) as SaveConfigsData;
    return [nodes[0]?.outcome, files?.["r1.cfg"]];
  };
  const typed = (...lines: string[]) =>
    post("execConsole", { lab: "/saved", node: "r1", command: ["configure terminal", ...lines, "end"].join("\n") });
  await post("deployProject", { yaml: lab(text) });
  expect(await saved()).toEqual(["unchanged", `frr defaults datacenter\n${text}`]);
  const changed = text.replace(" ! the network", " bgp bestpath compare-routerid\n bgp router-id 2.2.2.2\n ! the network");
  const plan = await post("planProject", { yaml: lab(changed) });
  await post("reconcileProject", { yaml: lab(changed), confirm: true, plan_identity: plan.plan_identity! });
  await typed("router bgp 65000", "no bgp router-id", "exit", "ip route 10.7.0.0/16 blackhole");
  const [outcome, now = ""] = await saved();
  expect(outcome).toBe("saved");
  expect(now.split("\n").toSorted()).toEqual(
    `frr defaults datacenter\n${changed}ip route 10.7.0.0/16 blackhole\n`.replace(" bgp router-id 2.2.2.2\n", "").split("\n").toSorted(),
  );
  expect((await post("planProject", { yaml: lab(now.replace("frr defaults datacenter\n", "")) })).operations).toEqual([]);
  await post("destroyProject", { lab: "/saved" });
}, 60_000);

test("no line of one protocol gets into another, indented or not, closed or not, in any order", async () => {
  const protocols = {
    bgp: "router bgp 65000\n neighbor 10.0.0.2 remote-as 65001\n address-family ipv4 unicast\n  redistribute connected\n exit-address-family\n",
    rip: "router rip\n passive-interface default\n default-information originate\n redistribute static\n",
    ospf: "router ospf\n ospf router-id 1.1.1.1\n log-adjacency-changes\n",
    ospf6: "router ospf6\n ospf6 router-id 1.1.1.1\n",
    isis: "router isis one\n net 49.0001.0000.0000.0001.00\n is-type level-2-only\n",
  };
  const shared = "interface eth0\n ip address 10.0.0.1/24\n ip ospf area 0\n ip router isis one\n";
  const texts = Object.values(protocols);
  const configs = {
    forth: [...texts, shared].join(""),
    back: [shared, ...texts.toReversed()].map((text) => `${text}exit\n!\n`).join(""),
    flat: [...texts.toReversed(), shared].join("").replace(/^ +/gm, ""),
  };
  const indented = (text: string) => text.replace(/^/gm, "      ");
  const nodes = Object.entries(configs).map(([name, text]) => `  ${name}:\n    template: frr\n    startup-config: |\n${indented(text)}`);
  await post("deployProject", { yaml: `name: sections\nnodes:\n${nodes.join("\n")}\n` });
  await until(async () => {
    const nodes = (await post("getProjectStatus", { lab: "/sections" })).live?.nodes ?? [];
    return nodes.length === 3 && nodes.every(({ status }) => status === "running");
  });
  for (const node of Object.keys(configs)) {
    const { output } = await post("execConsole", { lab: "/sections", node, command: "show running-config no-header" });
    expect(sectionsOf(output ?? ""), node).toEqual({
      "router bgp 65000": expect.arrayContaining(["redistribute connected"]),
      "router rip": ["default-information originate", "passive-interface default", "redistribute static"],
      "router ospf": ["ospf router-id 1.1.1.1", "log-adjacency-changes"],
      "router ospf6": ["ospf6 router-id 1.1.1.1"],
      "router isis one": ["is-type level-2-only", "net 49.0001.0000.0000.0001.00"],
    });
  }
  await post("destroyProject", { lab: "/sections" });
});

/** Returns the lines of each router section. */
function sectionsOf(config: string): Record<string, readonly string[]> {
  const sections: Record<string, string[]> = {};
  let at: string[] | undefined;
  for (const line of config.split(/\r?\n/)) {
    if (line.startsWith("router ")) at = sections[line.trim()] = [];
    else if (line.startsWith(" ")) at?.push(line.trim());
    else at = undefined;
  }
  return sections;
}

test("a section whose daemon is not in the list of the node is a warning with its place", async () => {
  const text = `name: left-out
nodes:
  r1:
    template: frr
    attributes: {daemons: ospfd}
    startup-config: |
      router ospf
       network 10.0.0.0/8 area 0
      router bgp 65001
`;
  const { warnings } = await post("validateProject", { yaml: text });
  const message = "startup-config of r1: bgpd, which reads this section, is not among the daemons of the node: FRR leaves the section out";
  expect(warnings).toMatchObject([
    { code: "config_line", line: 9, column: 7, message, hint: expect.stringContaining('daemons: "ospfd bgpd"') },
  ]);
});
