import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { BindPolicy } from "../binds/bind-policy.ts";
import { unmappedBind, unmappedRefusal, writableSources } from "../binds/writable-binds.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { impassable } from "../images/preflight.ts";
import type { EarlyWiring } from "../links/early-wiring.ts";
import { succeeded } from "../machine/machine.ts";
import { managementAddresses } from "../management/management.ts";
import type { NodeHosts } from "../management/node-hosts.ts";
import { isSwitch, runsHypervisor } from "../nodes/node-life.ts";
import { nodeAddresses, nodeSpawn } from "../nodes/node-spawn.ts";
import { naming, nodeTrouble } from "../nodes/node-trouble.ts";
import type { KernelSnapshots } from "../own-kernel/kernel-snapshots.ts";
import type { LabResources } from "../resources/lab-resources.ts";
import { type NodeSpawn, type NodeState, type Sandbox, type SpawnedNode, switchingNode } from "../sandbox/sandbox.ts";
import { Batcher } from "../sync/batcher.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { openTun } from "../vm/tun.ts";
import type { LabSandbox } from "./lab-sandbox.ts";
import type { LabWiring } from "./lab-wiring.ts";
import type { PublishOptions } from "./reach-nodes.ts";

/** The parts of a lab that a start uses. */
interface StartingLab {
  readonly sandbox: LabSandbox;
  readonly wiring: LabWiring;
  readonly resources: LabResources;
  readonly nodeHosts: NodeHosts;
  readonly binds: BindPolicy;
  readonly snapshots: KernelSnapshots;
  publish(options: PublishOptions): Promise<void>;
  /** Receives what went wrong beside the error that is thrown. */
  warn(text: string): void;
}

interface StartRequest {
  readonly definition: LabDefinition;
  /** The nodes to start. */
  readonly ids: ReadonlySet<number>;
  readonly catalogue: Catalogue;
  /** Records the nodes that are to run, right before they boot. */
  readonly record: (ids: ReadonlySet<number>) => Promise<void>;
}

/** A start before its first process. */
interface PreparedStart {
  readonly sandbox: Sandbox;
  /** The lab had no sandbox before. */
  readonly isFirst: boolean;
  readonly spawns: readonly NodeSpawn[];
  /** Nodes with a hypervisor. */
  readonly machines: ReadonlySet<number>;
  /** Node → the lines of `ip -batch` for its addresses. */
  readonly addresses: ReadonlyMap<number, string>;
  readonly suspended: readonly number[];
}

/** Implements LocalLab.start. */
export async function startNodes(lab: StartingLab, request: StartRequest): Promise<void> {
  const prepared = await prepare(lab, request);
  const boots = new Boots(prepared.sandbox, request.record);
  const running: { early?: EarlyWiring } = {};
  try {
    await bootAll(lab, request, prepared, boots, running);
  } catch (error) {
    await undo(lab, prepared, { boots, early: running.early, cause: error });
    throw await explained(error, [lab.sandbox.directory, ...prepared.spawns.flatMap(({ lower }) => lower)]);
  }
}

/** Checks everything that can refuse the start. Throws host_error. */
async function prepare(lab: StartingLab, { definition, ids, catalogue }: StartRequest): Promise<PreparedStart> {
  const { directory } = lab.sandbox;
  const nodes = definition.nodes.filter((node) => ids.has(node.id));
  const processes = nodes.filter((node) => !isSwitch(node, catalogue));
  const states = await lab.sandbox.states();
  const machines = new Set(nodes.filter((node) => runsHypervisor(node, catalogue)).map(({ id }) => id));
  const fresh = processes.filter((node) => !((states.get(node.id)?.pid ?? 0) > 0));
  await lab.wiring.settleManagement(definition, catalogue);
  const managed = await managementAddresses(directory, definition);
  const spawns = fresh.map((node) =>
    naming(node, () => nodeSpawn(lab.sandbox.id, node, join(directory, "nodes", String(node.id)), catalogue, managed.get(node.id))),
  );
  const addresses = new Map(processes.map((node) => [node.id, naming(node, () => nodeAddresses(node, catalogue))]));
  // Switches are suspended with their daemons, all at once, if too much is written beside those.
  const thawed = nodes.some((node) => node.switching !== undefined) ? [switchingNode] : [];
  const suspended = [...processes.map(({ id }) => id), ...thawed].filter((id) => states.get(id)?.state === "suspended");
  if (machines.size > 0) await openTun();
  for (const { name, binds = [] } of processes) await lab.binds.check(definition.owner, name, binds);
  await renewForBinds(lab.sandbox, processes, states);
  const withKernels = await Promise.all(spawns.map((spawn) => lab.snapshots.prepare(spawn)));
  // Before anything runs: a port that another program has refuses the start.
  await lab.publish({ starting: ids, strict: true });
  const named = await lab.nodeHosts.prepare(directory, definition, withKernels, machines);
  const isFirst = lab.sandbox.sandbox === null;
  const sandbox = await lab.sandbox.ensure(definition.nodes.length, writableSources(definition.nodes));
  // The limits that this machine supports are known once the sandbox exists.
  const limited = named.map((spawn, i) => ({ ...spawn, limits: lab.resources.limitsOf(fresh[i]!, catalogue) }));
  return { sandbox, isFirst, spawns: limited, machines, addresses, suspended };
}

/** Ends a sandbox without running nodes that lacks a writable path of these nodes: the start makes a new one. Throws host_error if nodes run in it. */
async function renewForBinds(lab: LabSandbox, nodes: readonly DefinedNode[], states: ReadonlyMap<number, NodeState>): Promise<void> {
  const { sandbox } = lab;
  const missing = sandbox === null ? undefined : await unmappedBind(sandbox.pid, nodes);
  if (missing === undefined) return;
  if ([...states.values()].some(({ pid }) => pid > 0)) throw unmappedRefusal(missing);
  await lab.destroy();
}

/** Boots nodes, and records them before. */
class Boots {
  readonly #sandbox: Sandbox;
  readonly #record: (ids: ReadonlySet<number>) => Promise<void>;
  readonly #booting = new Set<number>();
  readonly #batches = new Batcher<number>((some) => this.boot(some, this.#booting));
  #isRecorded = false;

  constructor(sandbox: Sandbox, record: (ids: ReadonlySet<number>) => Promise<void>) {
    this.#sandbox = sandbox;
    this.#record = record;
  }

  has(id: number): boolean {
    return this.#booting.has(id);
  }

  /** Boots these nodes soon, in one batch with others. */
  add(some: readonly number[]): void {
    this.#batches.add(some);
  }

  /** Waits for the boots that were added. */
  done(): Promise<void> {
    return this.#batches.done();
  }

  /** @param all the nodes to record */
  async boot(some: readonly number[], all: ReadonlySet<number>): Promise<void> {
    for (const id of some) this.#booting.add(id);
    this.#isRecorded = true;
    await this.#record(all);
    if (some.length > 0) await this.#sandbox.release(some);
  }

  /** Records that none of the nodes is to run. */
  async forget(): Promise<void> {
    if (this.#isRecorded) await this.#record(new Set());
  }
}

async function bootAll(
  lab: StartingLab,
  { definition, ids, catalogue }: StartRequest,
  { sandbox, isFirst, spawns, machines, addresses, suspended }: PreparedStart,
  boots: Boots,
  running: { early?: EarlyWiring },
): Promise<void> {
  let spawned: readonly SpawnedNode[] = [];
  if (spawns.length > 0) {
    const all = new Set(spawns.map(({ id }) => id));
    const plain = new Set([...all].filter((id) => !machines.has(id)));
    const onWired = (some: readonly number[]) => boots.add(some.filter((id) => (addresses.get(id) ?? "") === ""));
    const early = await lab.wiring.spawning(sandbox, definition, { nodes: plain, all }, isFirst, catalogue, onWired);
    if (early !== undefined) running.early = early;
    spawned = await sandbox.spawn(spawns, (node) => early?.add(node));
  }
  await silence(
    sandbox,
    spawned.filter(({ id }) => machines.has(id)).map(({ pid }) => pid),
  );
  const scope = { of: "spawned", nodes: new Set(spawned.map(({ id }) => id)), early: running.early } as const;
  await lab.wiring.reconcileFabric(definition, catalogue, scope);
  await boots.done();
  const rest = spawned.filter(({ id }) => !boots.has(id));
  const byId = new Map(definition.nodes.map((node) => [node.id, node]));
  for (const { id, pid } of rest) await setAddresses(sandbox, byId.get(id)!, pid, addresses.get(id) ?? "");
  if (suspended.length > 0) await sandbox.freeze(suspended, "thaw");
  await boots.boot(
    rest.map(({ id }) => id),
    ids,
  );
  await lab.wiring.nameNodes(definition, catalogue, scope.nodes);
}

/** Ends everything that a failed start began. Each step runs even if one before it failed. @param cause the error of the start */
async function undo(
  lab: StartingLab,
  { spawns }: PreparedStart,
  { boots, early, cause }: { readonly boots: Boots; readonly early: EarlyWiring | undefined; readonly cause: unknown },
): Promise<void> {
  const step = (what: string, work: Promise<unknown> | undefined) =>
    work?.catch((error: Error) => {
      // The wiring and the boots may have failed with the start itself, which throws that error.
      if (error !== cause) lab.warn(`after a failed start, ${what} failed: ${error.message}`);
    });
  await step("closing its ports", lab.publish({ strict: false }));
  await step("its wiring", early?.done());
  await step("a boot", boots.done());
  // If the sandbox is lost too, the status shows it.
  if (spawns.length > 0) await step("ending its nodes", lab.sandbox.kill(spawns.map(({ id }) => id)));
  // Without this record the status is still right: it comes from the processes.
  await step("the record that they do not run", boots.forget());
}

/** Switches IPv6 off in the namespaces of VMs, before their interfaces exist: only the guest may send on them, not the machine's kernel. */
async function silence(sandbox: Sandbox, pids: readonly number[]): Promise<void> {
  if (pids.length === 0) return;
  const quiet = "test ! -d /proc/sys/net/ipv6 || for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done";
  const argv = ["sh", "-c", `for pid in ${pids.join(" ")}; do nsenter -t $pid -n sh -c '${quiet}' || exit; done`];
  succeeded(argv, await sandbox.run(argv));
}

/** Runs `ip -batch` in the node's net namespace. Throws host_error with the node, the line that failed, and the kernel's message. */
async function setAddresses(sandbox: Sandbox, node: DefinedNode, pid: number, lines: string): Promise<void> {
  if (lines === "") return;
  const { code, stderr } = await sandbox.run(["nsenter", "-t", String(pid), "-n", "ip", "-batch", "-"], lines);
  if (code === 0) return;
  const [, number = ""] = /Command failed -:(\d+)/.exec(stderr) ?? [];
  const line = lines.split("\n")[Number(number) - 1];
  const words = stderr.replace(/\s*Command failed -:\d+\s*$/, "").trim() || `code ${code}`;
  const message = `node ${node.name}: addresses and gateway: ${line === undefined ? "" : `ip ${line}: `}${words}`;
  throw nodeTrouble(node, new Failure("host_error", message, { data: { host: { code, message: words } } }));
}

/** Adds to a refusal that comes from a full disk or from the mode of a directory what the administrator can do. */
async function explained(error: unknown, directories: readonly string[]): Promise<unknown> {
  if (error instanceof Failure && /No space left on device/.test(error.message)) {
    const message = `the state directory's file system is full: free space on it and try again: ${error.message}`;
    return new Failure("host_error", message, { data: { ...error.data, host: { message: error.message } }, cause: error });
  }
  if (!(error instanceof Failure) || !/Permission denied/.test(error.message)) return error;
  const [closed] = await impassable(directories);
  return closed === undefined ? error : new Failure("host_error", closed, { data: { host: { message: error.message } }, cause: error });
}
