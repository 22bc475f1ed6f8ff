import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LabwrightError } from "../../src/client/index.ts";
import { EmbeddedService } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";
import { filesBelow, noteLabs, outside, processesOf, userNamespaceOf } from "./machine.ts";
import { type Change, type Round, roundsOf, type Stand, type Victim } from "./rounds.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** The first round, counted from 0; what came before it is only thought of. */
  readonly from?: number;
  readonly rounds: number;
  /** One node is a virtual machine, whose QEMU is killed too. Slow. */
  readonly vm?: boolean;
  /** Called with each round when it has ended. */
  readonly say?: (line: string) => void;
  /** Ends the run with what is done after so long, ms. */
  readonly limitMs?: number;
  /** Ends the run after the round under way. */
  readonly signal?: AbortSignal;
  /** Goes on after a round that failed, from a machine that is cleaned up. Else that round's failure is thrown. */
  readonly goOn?: boolean;
}

export interface ChaosReport {
  readonly done: number;
  /** Rounds in which the victim was there and was killed, by victim and change: "holder deploy". */
  readonly hits: Readonly<Record<string, number>>;
  /** Each begins with the round. */
  readonly failures: readonly string[];
}

const lab = "/chaos";

/** Two intents that differ in nodes, links, networks, quality and what makes a node restart. */
const intents: Readonly<Record<Exclude<Stand, "absent">, string>> = {
  plain: `name: chaos
management: true
nodes:
  h1: {template: linux}
  h2: {template: linux}
  h3: {template: linux}
  s1: {template: switch}
networks:
  lan: {type: bridge}
links:
  - endpoints: ["h1:eth0", "h2:eth0"]
    quality: {a: {delay: 5}, b: {delay: 5, loss: 1}}
  - ["h2:eth1", "s1:eth0"]
  - ["h3:eth0", "s1:eth1"]
  - ["h1:eth1", lan]
`,
  other: `name: chaos
management: {ipv6-subnet: auto}
nodes:
  h1: {template: linux, env: {CHANGED: yes it is}}
  h2: {template: linux}
  h4: {template: linux}
networks:
  out: {type: nat}
links:
  - endpoints: ["h1:eth0", "h2:eth0"]
    quality: {a: {delay: 20}}
  - endpoints: ["h4:eth0", "h2:eth1"]
    suspended: true
  - ["h1:eth1", out]
`,
};

function intentOf({ vm }: Run, stand: Stand): string {
  const yaml = stand === "absent" ? "" : intents[stand];
  return vm ? yaml.replace("h3: {template: linux}", "h3: {template: vm}") : yaml;
}

/** Processes that the lab's nodes are: a switch has none. */
const nodeCount: Readonly<Record<Stand, number>> = { absent: 0, plain: 3, other: 3 };

/** A change or a call that has not ended by then never will. */
const hangMs = 120_000;

/** Kills parts of the service and of a lab while the lab changes, round by round, and checks after each that nothing is lost, wrong or left. */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, from = 0, say = () => {} } = options;
  await using service = await EmbeddedService.make();
  const vm = options.vm === true;
  const run: Run = { vm, service, takes: new Map(), userNamespaces: new Set(), hits: {} };
  const failures: string[] = [];
  const began = performance.now();
  let done = 0;
  let stands: Stand = "absent";
  await service.start();
  for (const round of roundsOf(seed, vm ? ["hypervisor"] : [])) {
    if (round.number < from) continue;
    if (done === options.rounds || options.signal?.aborted || performance.now() - began > (options.limitMs ?? Number.POSITIVE_INFINITY))
      break;
    const { number, victim, change } = round;
    const about = `seed ${seed} round ${number}: ${victim} killed at ${round.moment} of ${change}, ${round.before} → ${round.after}`;
    const start = performance.now();
    try {
      if (stands !== round.before) await bring(run, round.before);
      const hit = await play(run, round);
      if (hit) run.hits[`${victim} ${change}`] = (run.hits[`${victim} ${change}`] ?? 0) + 1;
      stands = round.after;
      say(`ok      ${about}${hit ? "" : " (it was not there)"} (${Math.round(performance.now() - start)} ms)`);
    } catch (error) {
      const text = `${about}\n${(error as Error).stack}\n${service.log.split("\n").slice(-25).join("\n")}`;
      failures.push(text);
      say(`FAILED  ${text}`);
      if (options.goOn !== true) break;
      await afresh(run);
      stands = "absent";
    }
    done++;
  }
  if (failures.length === 0) await bring(run, "absent");
  return { done, hits: run.hits, failures };
}

interface Run {
  readonly vm: boolean;
  readonly service: EmbeddedService;
  /** How long each change took last, ms. */
  readonly takes: Map<Change, number>;
  /** Of every lab that was seen. */
  readonly userNamespaces: Set<string>;
  readonly hits: Record<string, number>;
}

/** One round; whether there was something to kill. */
async function play(run: Run, round: Round): Promise<boolean> {
  const { service } = run;
  const { change, victim, after } = round;
  if (change === "start") await power(run, "stop");
  const capture = victim === "tap" && change !== "deploy" ? await startCapture(run, change === "start") : undefined;
  run.userNamespaces.clear();
  await note(run);
  const began = performance.now();
  const call = begin(run, round);
  const ended = call.then(
    () => true,
    () => true,
  );
  const moment = round.moment * (run.takes.get(change) ?? 500);
  const early = await Promise.race([ended, delay(moment, false)]);
  if (early) run.takes.set(change, performance.now() - began);
  const hit = await kill(run, victim, round, ended);
  if (victim === "service") {
    await service.end("SIGKILL");
    await note(run);
    await ended;
    await service.start();
  }
  const failure = await within(
    "the call answers",
    call.then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  if (failure !== undefined && !isTold(failure, victim, change)) throw failure;
  await idle(run);
  await note(run);
  await tellsTheTruth(run);
  if (capture !== undefined) await captureIsTold(run, capture);

  // The same call again brings it about.
  await again(run, round);
  if (after !== "absent") {
    if (change === "stop" || change === "wipe") await allAre(run, after, "stopped");
    else await power(run, "start");
    if (change === "stop" || change === "wipe") await power(run, "start");
    await allAre(run, after, "running");
    await nothingPlanned(run, after);
  }
  await nothingElse(run, after);
  return hit;
}

/** On a node that runs: none where the round begins with a lab that is down. */
async function startCapture({ service: { client } }: Run, down: boolean): Promise<string | undefined> {
  return down ? undefined : (await client.startCapture({ lab, node: "h2", interface: "eth0" })).capture;
}

/** A capture runs if its tap runs, and is removed in any case. */
async function captureIsTold({ service }: Run, id: string): Promise<void> {
  let seen = "";
  const there = (await service.client.listLabs()).labs.some((one) => one.lab === lab && one.exists);
  if (!there) return;
  await eventually(
    "a capture that was killed is reported as ended",
    async () => {
      const capture = (await service.client.listCaptures({ lab })).captures.find((one) => one.capture === id);
      const taps = (await processesOf(service.labs)).filter(({ role }) => role === "tap").length;
      seen = JSON.stringify({ capture, taps });
      return (capture?.status === "running") === taps > 0;
    },
    () => seen,
  );
  await service.client.stopCapture({ id }).catch((error: unknown) => {
    // One that has ended by itself needs no stop.
    if (!(error instanceof LabwrightError)) throw error;
  });
}

/** The round's call, as a promise that ends when the change has. */
function begin(run: Run, { change, after, before, random }: Round): Promise<unknown> {
  const { client } = run.service;
  const links = { plain: ["h1:eth0", "h2:eth0"], other: ["h1:eth0", "h2:eth0"] } as const;
  const yaml = after === "absent" ? "" : intentOf(run, after);
  const job = async (id: "deployProject" | "destroyProject" | "execProject" | "reconcileProject", input: object): Promise<unknown> => {
    const started = await client.startJob(id, input as never);
    return client.waitForJob(id, started.job, { timeoutMs: hangMs });
  };
  switch (change) {
    case "deploy":
      return job("deployProject", { yaml });
    case "destroy":
      return job("destroyProject", { lab, wipe: random.chance(0.7) });
    case "stop":
      return job("execProject", { lab, action: "stop", stopmode: random.pick([0, 1, 3]) });
    case "start":
      return job("execProject", { lab, action: "start" });
    case "wipe":
      return job("execProject", { lab, action: "wipe" });
    case "quality":
      return client.applyLinkQuality({
        lab,
        endpoints: [...links[before as "plain"]],
        a: { delay: random.int(50) },
        save: random.chance(0.5),
      });
    case "suspend":
      return client.setLinkSuspend({ lab, endpoints: [...links[before as "plain"]], suspended: true });
    case "reconcile":
      return (async () => {
        const { plan_identity = "" } = await client.planProject({ yaml, prune: true });
        return job("reconcileProject", { yaml, prune: true, confirm: true, plan_identity });
      })();
  }
}

/** A second call completes the change. Changes that a round only tried are undone. */
async function again(run: Run, { change, after }: Round): Promise<void> {
  const { client } = run.service;
  const there = (await client.listLabs()).labs.some((one) => one.lab === lab && one.exists);
  switch (change) {
    case "destroy":
      if (there) await client.destroyProject({ lab, wipe: true });
      // A lab that is gone on the host, and whose record is left, is destroyed by the same call.
      else if ((await client.listLabs()).labs.some((one) => one.lab === lab)) await client.destroyProject({ lab });
      return;
    case "deploy":
      if (!there) await client.deployProject({ yaml: intentOf(run, after) });
      else await reconcile(run, after as "plain");
      return;
    case "stop":
    case "start":
    case "wipe":
      return power(run, change);
    case "quality":
    case "suspend": {
      const endpoints: [string, string] = ["h1:eth0", "h2:eth0"];
      if (change === "suspend") {
        expectEqual(await client.setLinkSuspend({ lab, endpoints, suspended: true }), { suspended: { a: true, b: true } });
        await client.setLinkSuspend({ lab, endpoints, suspended: false });
        return;
      }
      await power(run, "start");
      await allAre(run, after, "running");
      const { effective } = await client.applyLinkQuality({ lab, endpoints, a: { delay: 33 }, save: true });
      expectEqual(effective, { a: { delay: 33 } });
      return reconcile(run, after as "plain");
    }
    case "reconcile":
      return reconcile(run, after as "plain");
  }
}

async function reconcile(run: Run, to: Exclude<Stand, "absent">): Promise<void> {
  const { client } = run.service;
  const wanted = { yaml: intentOf(run, to), prune: true };
  const { plan_identity = "" } = await client.planProject(wanted);
  const { status } = await client.reconcileProject({ ...wanted, confirm: true, plan_identity });
  if (status !== "applied" && status !== "unchanged") throw new Error(`the second reconcile ended as ${status}`);
}

async function power({ service: { client } }: Run, action: "start" | "stop" | "wipe"): Promise<void> {
  const tally = await client.execProject({ lab, action, stopmode: 1 });
  if (tally.failed + tally.invalid > 0) throw new Error(`${action} again: ${JSON.stringify(tally)}`);
}

/** Kills at once, or as soon as there is something to kill, while the change runs. */
async function kill(run: Run, victim: Victim, { random }: Round, ended: Promise<unknown>): Promise<boolean> {
  if (victim === "service") return true;
  const role = victim === "holder" ? "init" : victim;
  let over = false;
  void ended.then(() => {
    over = true;
  });
  for (;;) {
    const last = over;
    await note(run);
    const found = (await processesOf(run.service.labs)).filter((one) => one.role === role);
    if (found.length > 0) {
      await note(run);
      try {
        process.kill(random.pick(found).pid, "SIGKILL");
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
    if (last) return false;
    await delay(2);
  }
}

/** A call may fail with a message about the kill, but not with a defect, a time-out or anything else. */
function isTold(error: unknown, victim: Victim, change: Round["change"]): boolean {
  if (!(error instanceof LabwrightError)) return false;
  // Killed between the plan and its check: the lab is another one than the plan has seen.
  if (change === "reconcile" && error.code === "plan_stale") return true;
  return victim === "service"
    ? ["host_unreachable", "host_timeout"].includes(error.code ?? "") || error.status === 0
    : error.code === "host_error";
}

/** No change runs any more: also one that a restarted service goes on with. */
async function idle({ service }: Run): Promise<void> {
  await eventually(
    "every change ends",
    async () => {
      const status = await service.client.getProjectStatus({ lab }).catch((error: unknown) => {
        // Its destroy has ended, maybe just now.
        if (error instanceof LabwrightError && error.code === "lab_not_found") return undefined;
        throw error;
      });
      return status?.operation === undefined;
    },
    () => "",
    hangMs,
  );
}

/** Each node that is reported as up has a process, and each process belongs to such a node. */
async function tellsTheTruth({ service }: Run): Promise<void> {
  let seen = "";
  await eventually(
    "the status is what the process table shows",
    async () => {
      const { labs } = await service.client.listLabs();
      const there = labs.some((one) => one.lab === lab && one.exists);
      const status = there ? await service.client.getProjectStatus({ lab }) : undefined;
      seen = JSON.stringify(status);
      if (there && status?.live?.available !== true) return false;
      const nodes = (status?.live?.nodes ?? []).filter(({ name }) => name !== "s1");
      const up = nodes.filter(({ status: one }) => one === "running" || one === "starting").map(({ id }) => Number(id));
      const alive = (await processesOf(service.labs)).filter(({ role }) => role === "node").map(({ node }) => node ?? 0);
      seen = JSON.stringify({ nodes, alive });
      return JSON.stringify(up.sort()) === JSON.stringify(alive.sort());
    },
    () => seen,
  );
}

async function allAre({ service }: Run, stand: Stand, wanted: "running" | "stopped"): Promise<void> {
  let seen = "";
  await eventually(
    `all nodes are ${wanted}`,
    async () => {
      const { live } = await service.client.getProjectStatus({ lab });
      seen = JSON.stringify(live);
      return live?.nodes !== undefined && live.nodes.length >= nodeCount[stand] && live.nodes.every(({ status }) => status === wanted);
    },
    () => seen,
  );
}

async function nothingPlanned(run: Run, stand: Stand): Promise<void> {
  if (stand === "absent") return;
  const { actions, text } = await run.service.client.planProject({ yaml: intentOf(run, stand), prune: true });
  if (actions?.length !== 0) throw new Error(`the plan is not empty: ${text}`);
}

/** Nothing is there but what the lab needs as it stands. */
async function nothingElse(run: Run, stand: Stand): Promise<void> {
  const { service } = run;
  await note(run);
  let seen: unknown;
  await eventually(
    `${stand}: nothing else is there`,
    async () => {
      const processes = await processesOf(service.labs);
      const of = (role: string) => processes.filter((one) => one.role === role).length;
      const living = processes.find(({ role }) => role === "init")?.lab;
      const there = stand !== "absent";
      const kept = (await readdir(join(service.stateDir, "labs"))).length;
      const wanted = {
        counts: [there ? 1 : 0, nodeCount[stand], 0],
        run: living === undefined ? [] : [living, `${living}/holder.json`, `${living}/holder.log`, `${living}/holder.sock`],
        drafts: [],
        labs: stand === "absent" ? kept <= 1 : kept === 1,
        // A table and an interface for each: the management network and the nat network.
        outside: { absent: 0, plain: 2, other: 4 }[stand],
      };
      const inside = there ? new Set<string>() : run.userNamespaces;
      const found = await outside(service.labs, service.base, inside);
      const is = {
        counts: [of("init"), of("node"), of("tap")],
        run: await filesBelow(service.runDir),
        drafts: (await readdir(service.stateDir))
          .concat(await filesBelow(join(service.stateDir, "labs")))
          .filter((name) => name.endsWith(".tmp")),
        // None where the kernel has netem.
        labs: of("shaper") <= (there ? 1 : 0),
        outside: found.length,
      };
      seen = { wanted, is, found, processes };
      return JSON.stringify({ ...wanted, labs: true }) === JSON.stringify(is) && wanted.labs;
    },
    () => JSON.stringify(seen, null, 1),
  );
}

/** Records the present labs and their namespaces, for a later search. */
async function note({ service, userNamespaces }: Run): Promise<void> {
  await noteLabs(service.labs, service.stateDir, service.runDir);
  for (const { role, pid } of await processesOf(service.labs)) {
    const space = role === "init" ? await userNamespaceOf(pid) : undefined;
    // A process that is still between its clone and its namespace shows the machine's own.
    if (space !== undefined && space !== (await userNamespaceOf(process.pid))) userNamespaces.add(space);
  }
}

/** Makes the lab stand so, undisturbed. */
async function bring(run: Run, stand: Stand): Promise<void> {
  const { client } = run.service;
  const there = (await client.listLabs()).labs.some((one) => one.lab === lab);
  if (stand === "absent") {
    if (there) await client.destroyProject({ lab });
    return;
  }
  if (there) await reconcile(run, stand);
  else await client.deployProject({ yaml: intentOf(run, stand) });
  await power(run, "start");
}

/** After a round that failed: as if nothing had ever run. */
async function afresh(run: Run): Promise<void> {
  const { service } = run;
  await service.end("SIGKILL");
  await note(run);
  await service.endLabs();
  await service.start();
  await bring(run, "absent").catch(async () => {
    await service.end("SIGKILL");
    for (const directory of [service.stateDir, service.runDir]) await rm(directory, { recursive: true, force: true });
    service.forgetLogin();
    await service.start();
  });
}

function within<T>(what: string, answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  const never = delay(hangMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`${what}: not within ${hangMs / 1000} s`);
  });
  never.catch(() => undefined);
  return Promise.race([answer, never]).finally(() => late.abort());
}

/** Every field of `wanted` is in `is`, deeply. */
function expectEqual(is: unknown, wanted: unknown): void {
  const holds = (a: unknown, b: unknown): boolean =>
    typeof b === "object" && b !== null
      ? typeof a === "object" && a !== null && Object.entries(b).every(([key, value]) => holds((a as Record<string, unknown>)[key], value))
      : a === b;
  if (!holds(is, wanted)) throw new Error(`wanted ${JSON.stringify(wanted)}, is ${JSON.stringify(is)}`);
}
