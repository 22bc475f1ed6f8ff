import { setTimeout as delay } from "node:timers/promises";
import type { LabwrightClient } from "../../src/client/index.ts";
import type { Replicas } from "../../src/service/store/testing/replicas.fixture.ts";
import { Random } from "../abuse/random.ts";
import { type MachineName, machineNames, TestMachines } from "../machines.fixture.ts";
import { problemsOf } from "./checks.ts";
import { Users } from "./users.ts";
import { Watcher } from "./watcher.ts";

export interface FleetRoundsOptions {
  readonly rounds: number;
  /** Number of the first round. */
  readonly from: number;
  readonly seed: number;
  readonly labs: number;
  readonly nodes: number;
  readonly users: number;
  /** Third byte of the addresses. */
  readonly net: number;
  /** Some faults last longer than a lease, so that labs start elsewhere. Each such round takes two minutes. */
  readonly withLong: boolean;
  /** Only rounds with this fault. */
  readonly only?: string | undefined;
  readonly say: (line: string) => void;
}

const faults = ["power", "partition", "pause", "database restart", "failover"] as const;
type Fault = (typeof faults)[number];

interface Round {
  readonly fault: Fault;
  readonly machine: MachineName;
  readonly lastsMs: number;
  readonly random: Random;
}

/** A lease lasts 30 s, and a machine takes labs over half a minute after the database was away, or a minute after its start. */
const longMs = 45_000;
/** Longest time until everything is in order after a fault. */
const settleMs = 180_000;

function roundOf(number: number, { seed, withLong, only }: Pick<FleetRoundsOptions, "seed" | "withLong" | "only">): Round {
  const random = new Random(seed, number);
  const any = random.weighted<Fault>({ power: 3, partition: 3, pause: 2, "database restart": 2, failover: 2 });
  const fault = faults.find((one) => one === only) ?? any;
  const machine = random.pick(machineNames);
  const isLong = withLong && (fault === "partition" || fault === "pause" || fault === "power") && random.chance(0.15);
  return { fault, machine, lastsMs: isLong ? longMs + random.int(30_000) : 500 + random.int(6_000), random };
}

/**
 * A fleet of three machines and two database servers in network namespaces, with users who work all the time. In each round something fails and comes back; then no lab may
 * be lost, twice or locked. Returns what was wrong.
 */
export async function fleetRounds({
  rounds,
  from,
  seed,
  labs,
  nodes,
  users: count,
  net,
  withLong,
  only,
  say,
}: FleetRoundsOptions): Promise<readonly string[]> {
  await using cleanup = new AsyncDisposableStack();
  const { machines, servers } = await TestMachines.withServers(net);
  cleanup.use(machines);
  cleanup.use(servers);
  const flags = ["--listen", "0.0.0.0", "--resume", "always"];
  await machines.startAll(...flags);
  const clients = new Map<MachineName, LabwrightClient>(machineNames.map((name) => [name, machines.client(name)]));
  for (const client of clients.values()) cleanup.use(client);
  const users = new Users([...clients.values()], { labs, nodes });
  const begun = performance.now();
  await users.deployAll(4);
  say(`${labs} labs of ${nodes} nodes placed and started in ${seconds(begun)} s`);
  const watchers = machineNames.map((name) => new Watcher(name, clients.get(name)!));
  const problems: string[] = [];
  for (let number = from; number < from + rounds && problems.length === 0; number++) {
    const round = roundOf(number, { seed, withLong, only });
    const { fault, machine, lastsMs, random } = round;
    const began = performance.now();
    users.begin(Array.from({ length: count }, (_, user) => new Random(seed + 1 + user, number)));
    await delay(500 + random.int(2_000));
    await inflict(round, { machines, servers, flags });
    const came = seconds(began);
    await delay(500);
    await users.pause();
    const left = await settled(() => problemsOf({ machines, servers, clients, labs: users.labs }));
    problems.push(...left, ...users.unexpected.splice(0), ...watchers.flatMap((watcher) => watcher.problems.splice(0)));
    const what = fault === "failover" || fault === "database restart" ? fault : `${fault} of ${machine}`;
    say(
      `${problems.length === 0 ? "ok" : "FAILED"} round ${number}: ${what} for ${(lastsMs / 1_000).toFixed(1)} s, back after ${came} s, in order after ${seconds(began)} s`,
    );
    for (const problem of problems.slice(0, 20)) say(`   ${problem}`);
    if (problems.length > 0) await explain(problems, { machines, servers, say });
  }
  await Promise.all(watchers.map((watcher) => watcher.end()));
  say(
    `answers: ${[...users.answers].map(([code, times]) => `${times} ${code}`).join(", ")}; ${watchers.map((one) => one.count).join(", ")} events`,
  );
  return problems;
}

/** The last changes of the labs with problems, and what the services have written about them. */
async function explain(
  problems: readonly string[],
  { machines, servers, say }: Pick<Target, "machines" | "servers"> & Pick<FleetRoundsOptions, "say">,
): Promise<void> {
  const paths = new Set(problems.flatMap((problem) => /\/lab\d+\b/.exec(problem) ?? []));
  for (const path of [...paths].slice(0, 3)) {
    for (const row of await servers.query(
      `SELECT operation, status, outcome, left(error, 200) AS error, to_timestamp(started_at / 1000.0)::time AS began, to_timestamp(finished_at / 1000.0)::time AS ended FROM jobs WHERE lab = '${path}' ORDER BY started_at DESC LIMIT 5`,
    ))
      say(`   ${path}: ${JSON.stringify(row)}`);
    for (const name of machineNames)
      for (const line of machines
        .log(name)
        .filter((one) => one.includes(`"${path}"`))
        .slice(-8))
        say(`   ${name}: ${line.slice(0, 400)}`);
  }
}

interface Target {
  readonly machines: TestMachines;
  readonly servers: Replicas;
  readonly flags: readonly string[];
}

/** Lets something fail, and come back after its time. */
async function inflict({ fault, machine, lastsMs }: Round, { machines, servers, flags }: Target): Promise<void> {
  switch (fault) {
    case "power":
      await machines.powerOff(machine);
      await delay(lastsMs);
      await machines.start(machine, ...flags);
      return;
    case "partition":
      machines.cut(machine, true);
      await delay(lastsMs);
      return machines.cut(machine, false);
    case "pause":
      await machines.pause(machine, true);
      await delay(lastsMs);
      return machines.pause(machine, false);
    case "database restart": {
      const { primary } = servers;
      await servers.kill(primary);
      await delay(lastsMs);
      return servers.start(primary);
    }
    case "failover":
      await servers.kill(servers.primary);
      await delay(lastsMs);
      await servers.promote();
      return servers.follow();
  }
}

/** Waits until nothing is wrong. Returns what still is when the time is over. */
async function settled(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const end = performance.now() + settleMs;
  for (;;) {
    const found = await look().catch((error: Error) => [error.message]);
    if (found.length === 0 || performance.now() > end) return found;
    await delay(1_000);
  }
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(0);
}
