/**
 * Fleets of several sizes on one real PostgreSQL, with memory hosts: how long the placement of a lab takes, and what a change and an idle machine cost the
 * database. A large fleet has some services, which make all changes, and machines that only read: the figures of the database are those of a real fleet, and the times of
 * calls are an upper bound, because all of it shares the processors of one machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type LabwrightClient } from "../src/client/index.ts";
import { type Cluster, startCluster } from "../src/service/store/testing/cluster.fixture.ts";
import type { CrowdMachine } from "./fleet-crowd.ts";

export interface FleetScaleOptions {
  /** Sizes of the fleets. */
  readonly machines: readonly number[];
  /** Machines with a service: the others only read (fleet-readers.ts). */
  readonly services: number;
  /** Recorded labs before the changes. */
  readonly labs: number;
  /** Changes in a minute. */
  readonly changes: number;
  readonly seconds: number;
}

/** The work of the database in a time. */
export interface DatabaseWork {
  readonly statements: number;
  readonly rows: number;
  /** Time in statements, ms. */
  readonly ms: number;
}

export interface FleetScale {
  readonly machines: number;
  readonly labs: number;
  /** Times of the plan of a new lab, whose machine it chooses, ms. */
  readonly placements: readonly number[];
  /** Times of changes from the call to the answer, ms. */
  readonly changes: readonly number[];
  readonly failed: readonly string[];
  /** Of each second in which nobody changes anything. */
  readonly idle: DatabaseWork;
  /** Of each change, without the idle work. */
  readonly change: DatabaseWork;
  /** Time from the end of all connections until all machines have read everything again, ms. */
  readonly caughtUp: number;
  /** The most expensive statements while labs changed. */
  readonly top: readonly { readonly text: string; readonly calls: number; readonly rows: number; readonly ms: number }[];
  /** Of all processes of the fleet, MiB. */
  readonly memory: number;
}

/** Number of users who change labs, and of those who have the labs before. */
const [users, owners] = [20, 200];
const credentials = { username: "admin", password: "bench" };
const text = (name: string, nodes: number) =>
  `name: ${name}\nnodes:\n${Array.from({ length: nodes }, (_, node) => `  r${node}: {template: linux, ram: 32}\n`).join("")}`;

/** Measures one fleet after the other: a large one that fails does not lose the results of the others. */
export async function* fleetScale(options: FleetScaleOptions): AsyncGenerator<FleetScale, void, undefined> {
  for (const count of options.machines) {
    const fleet = await Crowd.open(count, options.services);
    try {
      yield await measured(fleet, count, options);
    } finally {
      await fleet.close();
    }
  }
}

/** The machines of a fleet: services in a process each, because a large one would stop for seconds to collect its garbage, and readers in one together. */
class Crowd {
  readonly cluster: Cluster;
  readonly database: string;
  /** An admin at each machine. */
  readonly clients: LabwrightClient[] = [];
  readonly #places: { readonly url: string; readonly pin: string }[] = [];
  readonly #tokens: string[] = [];
  /** By machine and user. */
  readonly #users = new Map<string, LabwrightClient>();
  readonly #children: ChildProcess[] = [];

  private constructor(cluster: Cluster, database: string) {
    this.cluster = cluster;
    this.database = database;
  }

  static async open(count: number, services: number): Promise<Crowd> {
    const connections = `max_connections=${count * 9 + 20}`;
    const cluster = await startCluster([connections, "shared_buffers=256MB", "shared_preload_libraries=pg_stat_statements"]);
    const { url } = await cluster.database();
    const database = new URL(url).pathname.slice(1);
    await cluster.query(database, "CREATE EXTENSION pg_stat_statements");
    const crowd = new Crowd(cluster, database);
    try {
      // The machine that is asked has a process of its own: its times do not contain the work of others.
      await crowd.#start(url, 0, 1, []);
      const real = Math.min(count, services);
      for (let first = 1; first < real; first++) {
        const { token } = await crowd.clients[0]!.createJoinToken({});
        await crowd.#start(url, first, 1, [token]);
      }
      if (real < count) await crowd.#startReaders(url, real, count - real);
      return crowd;
    } catch (error) {
      await crowd.close();
      throw error;
    }
  }

  async #startReaders(store: string, first: number, count: number): Promise<void> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "fleet-readers.ts"), store, String(first), String(count)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    await Promise.race([
      once(createInterface(child.stdout!), "line"),
      once(child, "exit").then(() => Promise.reject(new Error("the readers ended"))),
    ]);
  }

  async #start(store: string, first: number, count: number, tokens: readonly string[]): Promise<void> {
    const program = join(import.meta.dirname, "fleet-crowd.ts");
    const child = spawn(process.execPath, [program, store, String(first), String(count), ...tokens], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#children.push(child);
    const lines = createInterface(child.stdout!);
    const [line] = (await Promise.race([
      once(lines, "line"),
      once(child, "exit").then(() => Promise.reject(new Error("a machine ended"))),
    ])) as [string];
    for (const { url, pin } of JSON.parse(line) as CrowdMachine[]) {
      const client = connect({ url, pin, credentials });
      await client.login(credentials);
      this.clients.push(client);
      this.#places.push({ url, pin });
    }
  }

  /** Signs the users in, whose labs are changed at the same time, as in a class. */
  async signIn(): Promise<void> {
    for (let user = 0; user < users; user++) {
      using client = connect({ ...this.#places[0]!, credentials: { username: `u${user}`, password: "bench" } });
      this.#tokens.push((await client.login({ username: `u${user}`, password: "bench" })).token ?? "");
    }
  }

  /** A user at a machine. */
  user(machine: number, number: number): LabwrightClient {
    const [place, user] = [machine % this.#places.length, number % users];
    const key = `${place} ${user}`;
    const known = this.#users.get(key);
    if (known !== undefined) return known;
    const client = connect({ ...this.#places[place]!, token: this.#tokens[user]! });
    this.#users.set(key, client);
    return client;
  }

  query(statement: string) {
    return this.cluster.query(this.database, statement);
  }

  async work(): Promise<DatabaseWork> {
    const [row] = await this.query(
      "SELECT coalesce(sum(calls), 0)::float AS calls, coalesce(sum(rows), 0)::float AS rows, coalesce(sum(total_exec_time), 0)::float AS ms FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%'",
    );
    return { statements: row!["calls"] as number, rows: row!["rows"] as number, ms: row!["ms"] as number };
  }

  /** Of the processes of the machines, MiB. */
  async memory(): Promise<number> {
    const sizes = await Promise.all(
      this.#children.map(async ({ pid }) => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)),
    );
    return Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1_024);
  }

  async close(): Promise<void> {
    for (const client of [...this.clients, ...this.#users.values()]) client[Symbol.dispose]();
    for (const child of this.#children) child.kill("SIGKILL");
    await this.cluster.stop();
  }
}

async function measured(crowd: Crowd, size: number, { labs, changes, seconds }: FleetScaleOptions): Promise<FleetScale> {
  const { clients } = crowd;
  await crowd.signIn();
  await recordLabs(crowd, labs);
  const begin = performance.now();
  await crowd.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'labwright%'");
  await delay(500);
  // A machine that has read all records answers with all of them.
  for (const client of clients) {
    const end = performance.now() + 300_000;
    for (;;) {
      const { quotas } = await client.listQuotas();
      if (quotas.some(({ kind, used }) => kind === "group" && (used?.labs ?? 0) >= labs)) break;
      if (performance.now() > end) throw new Error("a machine has not read all labs within 5 minutes");
      await delay(200);
    }
  }
  const caughtUp = performance.now() - begin;
  const quiet = await idleWork(crowd, 9);
  const { placements, times, failed, work } = await changed(crowd, { changes, seconds });
  const per = (field: keyof DatabaseWork) => Math.max(0, work[field] - quiet[field] * seconds) / times.length;
  const top = await crowd.query(
    "SELECT left(query, 90) AS text, calls::float, rows::float, total_exec_time AS ms FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY total_exec_time DESC LIMIT 12",
  );
  return {
    machines: size,
    labs,
    placements,
    changes: times,
    failed,
    idle: quiet,
    change: { statements: per("statements"), rows: per("rows"), ms: per("ms") },
    caughtUp,
    top: top as unknown as FleetScale["top"],
    memory: await crowd.memory(),
  };
}

/** Writes copies of the record of a lab of ten nodes, which belong to the machines in turn. */
async function recordLabs(crowd: Crowd, labs: number): Promise<void> {
  const { clients } = crowd;
  await clients[0]!.deployProject({ yaml: text("seed0", 10) });
  await clients[0]!.setQuota({ kind: "default", labs: 100_000, nodes: 1_000_000 });
  // Nobody of this group changes labs: it counts what a machine has read.
  const members = Array.from({ length: owners }, (_, owner) => `owner${owner}`);
  await clients[0]!.setQuota({ kind: "group", name: "all", labs: 1_000_000, members });
  const lab = "'/seed' || g.g";
  const copied = (column: string) =>
    `replace(replace(${column}, '/seed0"', ${lab} || '"'), t.record::json->>'identity', md5('seed' || g.g))`;
  await crowd.query(`WITH own AS (
      SELECT row_number() OVER (ORDER BY m.number) - 1 AS place, s.id FROM machines m JOIN services s USING (installation) WHERE s.ended_at IS NULL)
    INSERT INTO leases (lab, holder, fence) SELECT ${lab}, own.id, nextval('fences') FROM generate_series(1, ${labs}) g JOIN own ON own.place = g.g % ${clients.length}`);
  await crowd.query(`INSERT INTO labs (path, revision, record, contents, plans) SELECT ${lab}, md5(${lab}), replace(${copied("t.record")}, '"owner":"admin"', '"owner":"owner' || g.g % ${owners} || '"'), ${copied("t.contents")}, t.plans
    FROM generate_series(1, ${labs}) g, labs t WHERE t.path = '/seed0'`);
  await crowd.query(`INSERT INTO jobs (id, lab, identity, owner, operation, username, request, status, outcome, started_at, finished_at, steps, done, result)
    SELECT md5('job' || g.g), ${lab}, md5('seed' || g.g), j.owner, j.operation, j.username, j.request, j.status, j.outcome, j.started_at, j.finished_at, j.steps, j.done, j.result
    FROM generate_series(1, ${labs}) g, jobs j WHERE j.lab = '/seed0'`);
  await crowd.query("ANALYZE");
}

async function idleWork(crowd: Crowd, seconds: number): Promise<DatabaseWork> {
  await delay(3_000);
  await crowd.query("SELECT pg_stat_statements_reset()");
  await delay(seconds * 1_000);
  const { statements, rows, ms } = await crowd.work();
  return { statements: statements / seconds, rows: rows / seconds, ms: ms / seconds };
}

/** Changes labs at a steady rate through any of the machines, and plans new ones meanwhile. */
async function changed(crowd: Crowd, { changes, seconds }: Pick<FleetScaleOptions, "changes" | "seconds">) {
  const [placements, times, failed]: [number[], number[], string[]] = [[], [], []];
  const timed = async (into: number[], call: () => Promise<unknown>) => {
    const begin = performance.now();
    try {
      await call();
      into.push(performance.now() - begin);
    } catch (error) {
      failed.push(String(error));
    }
  };
  await crowd.query("SELECT pg_stat_statements_reset()");
  const end = performance.now() + seconds * 1_000;
  const open = new Set<Promise<void>>();
  const planning = (async () => {
    for (let number = 0; performance.now() < end; number++) {
      await timed(placements, () => crowd.user(0, number).planProject({ yaml: text(`planned${number}`, 10) }));
      await delay(100);
    }
  })();
  const everyMs = 60_000 / changes;
  for (let number = 0; performance.now() < end; number++) {
    const due = delay(everyMs);
    const lab = number >> 2;
    // Made, changed, and destroyed, each through another machine; one in four is left.
    const calls = [
      () => crowd.user(number, lab).deployProject({ yaml: text(`changed${lab}`, 10) }),
      () => crowd.user(number + 7, lab - 10).reconcileProject({ yaml: text(`changed${lab - 10}`, 11) }),
      () => crowd.user(number + 13, number).deployProject({ yaml: text(`more${number}`, 1) }),
      () => crowd.user(number + 29, lab - 20).destroyProject({ lab: `/changed${lab - 20}` }),
    ];
    if (number >= 80 || number % 2 === 0) {
      const call = timed(times, calls[number % 4]!).finally(() => open.delete(call));
      open.add(call);
    }
    await due;
  }
  await Promise.all([planning, ...open]);
  return { placements, times, failed, work: await crowd.work() };
}
