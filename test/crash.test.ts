import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient, LabwrightError } from "../src/client/index.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { runOnMachine } from "../src/hosts/local/machine/machine.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { seedOf } from "./seed.ts";

/**
 * The real service on the real embedded host, killed with SIGKILL at random moments of deploys, reconciles and destroys, and started
 * again. LABWRIGHT_CRASH_ROUNDS sets how often (default 3), LABWRIGHT_SEED which moments.
 */

const rounds = Number(process.env.LABWRIGHT_CRASH_ROUNDS ?? 3);
/** How many rounds more there may be until one kill has hit a change: which moment hits depends on the machine. */
const spare = 20;
const seed = seedOf(process.env.LABWRIGHT_SEED);
const lab = "/ospf-triangle";
const labs = join(import.meta.dirname, "../labs");
const password = "crash";

let base: string;
let stateDir: string;
let runDir: string;
let service: Service | undefined;

interface Service {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly client: LabwrightClient;
  readonly log: () => string;
}

interface Intent {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

beforeAll(async () => {
  base = await testDirectory("crash");
  stateDir = join(base, "state");
  runDir = join(base, "run");
});

afterAll(async () => {
  service?.child.kill("SIGKILL");
  await service?.ended;
  // None, unless a test failed; a node's goes with its lab's.
  for (const { pid, role } of await holders()) if (role === "init") process.kill(pid, "SIGKILL");
  await rm(base, { recursive: true, force: true, maxRetries: 20 });
});

async function start(token?: string): Promise<Service> {
  const shared = localPaths(process.env, process.getuid?.() ?? 0);
  const child = spawn(process.execPath, [testedProgram("server/main"), "--port", "0"], {
    env: {
      ...process.env,
      LABWRIGHT_IMAGE_DIR: shared.images,
      LABWRIGHT_HOLDER: shared.holder,
      LABWRIGHT_STATE_DIR: stateDir,
      LABWRIGHT_RUN_DIR: runDir,
      LABWRIGHT_ADMIN_PASSWORD: password,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  child.stderr.on("data", (chunk) => {
    text += chunk;
  });
  const said = () => /listens on (\S+) .*sha256:([0-9A-F:]+)/.exec(text);
  await eventually(
    "the service listens",
    async () => child.exitCode !== null || said() !== null,
    () => text,
  );
  const [, url = "", pin = ""] = said() ?? [];
  if (url === "") throw new Error(`the service ended with ${child.exitCode}: ${text}`);
  const client = connect({ url, pin, credentials: { username: "admin", password }, ...(token === undefined ? {} : { token }) });
  return { child, ended, client, log: () => text };
}

/** The triangle as it is in labs/, and another one: a node, a link and a network with a way out more, a router's interface and a host less. */
async function intents(): Promise<{ readonly plain: Intent; readonly other: Intent }> {
  const yaml = await readFile(join(labs, "ospf-triangle.yaml"), "utf8");
  const files: Record<string, string> = {};
  for (const name of ["r1", "r2", "r3"])
    files[`ospf-triangle/${name}.conf`] = await readFile(join(labs, `ospf-triangle/${name}.conf`), "utf8");
  const other = yaml
    .replace(
      / {2}h3:\n(?: {4}.*\n)+/,
      "  h4: {template: linux}\n  s1: {template: switch}\nnetworks:\n  out: {type: nat}\n  lan: {type: bridge}\n",
    )
    .replace(
      '  - ["r3:eth0", "h3:eth0"]\n',
      '  - ["h4:eth0", "s1:eth0"]\n  - ["h1:eth1", "s1:eth1"]\n  - ["h4:eth1", out]\n  - ["h1:eth2", lan]\n',
    )
    .replace("  h1:\n    kind: host\n", "  h1:\n    kind: host\n    env: {CHANGED: yes it is}\n");
  return { plain: { yaml, files }, other: { yaml: other, files } };
}

test(`after ${rounds} kills at random moments of changes every change is finished, and nothing is left`, {
  timeout: 120_000 + (rounds + spare) * 60_000,
}, async () => {
  const random = mulberry32(seed);
  const { plain, other } = await intents();
  /** Kills fall within this many milliseconds of each change: its undisturbed duration, less after a kill that came too late. */
  const takes = new Map<string, number>();
  let token: string | undefined;
  let stands: Intent | undefined;
  let mark = "";
  let hits = 0;
  const labIds = new Set<string>();
  const userNamespaces = new Set<string>();
  service = await start();
  token = (await service.client.login({ username: "admin", password })).token ?? undefined;

  for (let round = -3; round < rounds || (hits === 0 && round < rounds + spare); round++) {
    const change = stands === undefined ? "deploy" : round < -1 || random() < 0.6 ? "reconcile" : "destroy";
    const wanted: Intent | undefined = change === "destroy" ? undefined : change === "deploy" ? plain : stands === plain ? other : plain;
    const about = `seed ${seed}, round ${round}: ${change}`;
    const { client, child, ended: gone } = service;
    const identity =
      change === "reconcile" ? { plan_identity: (await client.planProject({ ...wanted!, prune: true })).plan_identity! } : {};
    const begin = performance.now();
    const started = (
      wanted === undefined
        ? client.startJob("destroyProject", { lab, wipe: true })
        : change === "deploy"
          ? client.startJob("deployProject", wanted)
          : client.startJob("reconcileProject", { ...wanted, ...identity, confirm: true, prune: true })
    ).catch((error: unknown) => {
      // Killed before it answered; nothing else may go wrong.
      if (round >= 0 && error instanceof LabwrightError && error.code === "host_unreachable") return undefined;
      throw error;
    });
    if (round < 0) {
      // First each undisturbed.
      await client.waitForJob(`${change}Project`, (await started)?.job ?? "");
      takes.set(change, performance.now() - begin);
    } else {
      await delay(random() * (takes.get(change) ?? 1000));
      child.kill("SIGKILL");
      await gone;
      await started;
      for (const { lab: id, pid } of await holders()) {
        labIds.add(id);
        userNamespaces.add(await readlink(`/proc/${pid}/ns/user`));
      }
      service = await start(token);
    }

    const now = service.client;
    // The journal has the outcome of the change, unless the kill came before it was written.
    const job = (await started)?.job;
    const ended = await eventually(
      `${about}: the change ends`,
      async () => {
        if (job !== undefined) return [(await now.getJob({ id: job })).outcome ?? ""].find((one) => one !== "");
        const busy = (await now.listLabs({})).labs.length > 0 && (await now.getProjectStatus({ lab })).operation !== undefined;
        return busy ? undefined : "unknown";
      },
      () => service?.log() ?? "",
    );
    expect(["finished", "finished_after_restart", "rolled_back", "unknown"], `${about}\n${service.log()}`).toContain(ended);
    if (ended === "finished_after_restart" || ended === "rolled_back") hits++;
    else if (ended === "finished" && round >= 0) takes.set(change, (takes.get(change) ?? 1000) * 0.7);

    // It converges: to what was asked for, or it is as before.
    const paths = (await now.listLabs({})).labs.map(({ lab: path }) => path);
    if (!paths.includes(lab)) {
      expect([wanted, stands], about).toContain(undefined);
      stands = undefined;
    } else {
      const empties = await Promise.all(
        [wanted, stands].map(
          async (intent) => intent !== undefined && (await now.planProject({ ...intent, prune: true })).actions?.length === 0,
        ),
      );
      expect(empties, `${about}: is neither as wanted nor as before\n${service.log()}`).toContain(true);
      stands = empties[0] ? wanted : stands;
    }
    await nothingElse(about, stands !== undefined, labIds, userNamespaces);
    if (stands === undefined) continue;

    if (wanted !== stands && change !== "deploy") expect(["rolled_back", "unknown"], about).toContain(ended);
    let last: unknown;
    const nodes = await eventually(
      `${about}: all nodes run`,
      async () => {
        const { live, last_job } = await now.getProjectStatus({ lab });
        last = [last_job, live];
        return live?.nodes?.every((node) => node.status === "running") === true ? live.nodes : undefined;
      },
      () => JSON.stringify(last),
    );
    expect(nodes).toHaveLength(stands === plain ? 6 : 7);
    // Consoles answer. No reconcile touches h2: its console still has its scrollback.
    if (change === "reconcile" && mark !== "") await scrolledBack(now, "h2", mark);
    mark = `mark ${round}`;
    for (const node of ["h1", "h2"]) expect((await now.execConsole({ lab, node, command: `echo ${mark}` })).output, about).toBe(mark);
    expect((await now.execConsole({ lab, node: "r1", command: "show version" })).output, about).toContain("FRRouting");
  }

  await service.client.destroyProject({ lab, wipe: true }).catch((error: unknown) => {
    if (stands !== undefined) throw error;
  });
  await nothingElse("at the end", false, labIds, userNamespaces);
  // A run in which no kill hit a change has shown nothing.
  expect(hits).toBeGreaterThan(0);
});

/** The holder's processes are those of one living lab, or none; nothing outside it is left: files, namespaces, tables, interfaces. */
async function nothingElse(about: string, living: boolean, labIds: Set<string>, userNamespaces: Set<string>): Promise<void> {
  let alive: Awaited<ReturnType<typeof holders>> = [];
  // A process that a lab's init has just forked has its name for a moment.
  const inits = await eventually(
    `${about}: ${living ? "one lab's init" : "no init"} is there`,
    async () => {
      alive = await holders();
      for (const { lab: id } of alive) labIds.add(id);
      const found = alive.filter(({ role }) => role === "init");
      return found.length === (living ? 1 : 0) && found;
    },
    () => JSON.stringify(alive),
  );
  const id = inits[0]?.lab;
  await expect
    .poll(async () => (await readdir(runDir, { recursive: true })).sort(), { message: about })
    .toEqual(id === undefined ? [] : [id, ...["holder.json", "holder.log", "holder.sock"].map((name) => `${id}/${name}`)]);
  await expect.poll(() => readdir(join(stateDir, "labs")), { message: about }).toEqual(id === undefined ? [] : [id]);
  if (id !== undefined)
    expect(
      (await readdir(join(stateDir, "labs", id))).filter((name) => name.endsWith(".tmp")),
      about,
    ).toEqual([]);
  if (living) return;
  const strangers = await eventually(
    `${about}: no process is left in the lab's namespaces`,
    async () => ((await userNamespacesInUse()).every((one) => !userNamespaces.has(one)) ? [] : undefined),
    () => "",
  );
  expect(strangers).toEqual([]);
  const tables = (await runOnMachine(["nft", "list", "tables"])).stdout;
  const interfaces = await readdir("/sys/class/net");
  for (const one of labIds) {
    expect(tables, about).not.toContain(one.replaceAll("-", "_"));
    for (let network = 1; network < 100; network++) {
      const hash = createHash("sha256").update(`${one}/${network}`).digest("hex");
      expect(interfaces, about).not.toContain(`lw-${hash.slice(0, 12)}`);
    }
  }
}

/** Processes of our holders, by their command lines; labs of other tests have other run directories. */
async function holders(): Promise<{ readonly pid: number; readonly lab: string; readonly role: string }[]> {
  const known = new Set([...(await readdir(runDir).catch(() => [])), ...(await readdir(join(stateDir, "labs")).catch(() => []))]);
  const found = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [name, mark, role = ""] = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    const id = mark?.replace("lab=", "") ?? "";
    if (name === "labwright-holder" && known.has(id)) found.push({ pid: Number(pid), lab: id, role: role.trim() });
  }
  return found;
}

async function userNamespacesInUse(): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readlink(`/proc/${pid}/ns/user`).catch(() => "")));
}

async function scrolledBack(client: LabwrightClient, node: string, text: string): Promise<void> {
  const stream = await client.openConsole({ lab, node });
  let seen = "";
  stream.on("data", (chunk: Buffer) => {
    seen += chunk;
  });
  try {
    await eventually(
      `the console of ${node} still shows ${text}`,
      async () => seen.includes(text),
      () => seen,
    );
  } finally {
    stream.destroy();
  }
}

/** Asks until the answer is neither undefined nor false, 60 s at most. */
async function eventually<T>(what: string, ask: () => Promise<T | undefined | false>, explain: () => string): Promise<T> {
  for (const end = performance.now() + 60_000; ; await delay(20)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`${what}: not within 60 s\n${explain()}`);
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
function mulberry32(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test("a service that is killed during a test of the lab gives back the pulled cable and the stopped node when it starts again", {
  timeout: 120_000,
}, async () => {
  service ??= await start();
  const yaml = `name: tested
nodes: {a: {template: linux}, b: {template: linux}, c: {template: linux}}
links: [["a:eth0", "b:eth0"]]
tests: [{from: a, command: "false", within: 600, given: {suspend: "a:eth0", stop: c}}]
`;
  const { client: before, child, ended: gone } = service;
  await before.login({ username: "admin", password });
  await before.deployProject({ yaml });
  const state = async (client: LabwrightClient) => {
    const { links = [], nodes } = await client.inspectProject({ lab: "/tested", refresh: true });
    return `${links.filter(({ suspended }) => suspended).length} pulled, ${nodes.filter(({ status }) => status === "running").length} running`;
  };
  await eventually(
    "the nodes run",
    async () => (await state(before)) === "0 pulled, 3 running",
    () => service!.log(),
  );
  const { job } = await before.startJob("testProject", { lab: "/tested" });
  await eventually(
    "the test has pulled the cable and stopped the node",
    async () => (await state(before)) === "1 pulled, 2 running",
    () => service!.log(),
  );
  child.kill("SIGKILL");
  await gone;
  service = await start();
  const { client } = service;
  await client.login({ username: "admin", password });
  await eventually(
    "both are back",
    async () => (await state(client)) === "0 pulled, 3 running",
    () => service!.log(),
  );
  // Its end is stored after the lab is restored.
  await eventually(
    "the change has ended",
    async () => (await client.getJob({ id: job })).outcome,
    () => service!.log(),
  );
  expect(await client.getJob({ id: job })).toMatchObject({
    status: "failed",
    outcome: "interrupted",
    error: { code: "cancelled", error: expect.stringContaining("a restart of the service ended the tests") },
  });
  await client.destroyProject({ lab: "/tested", wipe: true });
});
