import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { Operation, Step, StopMode } from "../../../engine/model/plan.ts";
import { publishedPort } from "../../../intent/lab/published-port.ts";
import type { Applied, NativeIds, Progress } from "../../host.ts";
import { StepLog, stepBatches } from "../../host-batches.ts";
import type { BindPolicy } from "../binds/bind-policy.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { Definitions, PutOptions } from "../definitions/definitions.ts";
import { type DefinitionEdit, editDefinition } from "../definitions/edit-definition.ts";
import type { Trash } from "../files/trash.ts";
import { machineTrouble } from "../machine/machine-trouble.ts";
import { refuseUsedSubnet } from "../management/management.ts";
import { applyLive } from "../nodes/live-config.ts";
import { troubledNode } from "../nodes/node-trouble.ts";
import { savedConfigs, takeOverConfig } from "../nodes/saved-config.ts";
import type { Readiness } from "../readiness/readiness.ts";
import type { Admission } from "../resources/admission.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { vmOf } from "../templates/vm-template.ts";
import type { LocalLab } from "./local-lab.ts";
import { hasOtherFiles, writeNodeFiles } from "./write-node-files.ts";

/** The lab and the parts of the host that an apply needs. */
export interface ApplyContext {
  readonly path: string;
  /** Owner of a lab that the apply creates. */
  readonly user: string;
  readonly definitions: Definitions;
  readonly trash: Trash;
  readonly catalogue: Catalogue;
  readonly admission: Admission;
  readonly binds: BindPolicy;
  readonly bootId: string;
  /** Returns the live part of a lab. */
  readonly lab: (id: string) => LocalLab;
  readonly readiness: (id: string) => Pick<Readiness, "forget">;
  readonly forget: (id: string) => void;
  /** Throws operation_not_allowed with the text unless the user is an admin. */
  readonly refuseUnlessAdmin: (why: string) => void;
}

/**
 * Runs the steps in batches. A batch is one write of the definition, one spawn, one `ip` and one `tc` process, however many nodes and links it has. The lab's
 * lock and the signal are checked before each batch.
 */
export async function applySteps(context: ApplyContext, operations: readonly Operation[], progress: Progress): Promise<Applied> {
  const { path, definitions } = context;
  let ids = progress.ids;
  const log = new StepLog(operations, progress);

  await refuseImpossible(context, operations, log);
  await warnUnmanaged(context, operations, progress);
  for (const batch of await batchesOf(context, operations)) {
    progress.signal?.throwIfAborted();
    const definition = await definitions.get(path);
    if (definition?.locked === true) throw log.locked("the lab is locked", "the lab was locked during the change");
    log.begin(batch);
    try {
      ids = await runBatch(context, definition, batch, ids, progress, log);
      log.finish(batch);
    } catch (error) {
      throw withProgress(error, log);
    }
  }
  const after = await definitions.get(path);
  return after === undefined ? { ids } : { ids, labId: after.id };
}

/**
 * Refuses VMs with settings that no VM can have, and ports, networks and paths of the machine that only an admin may choose, before the first step: otherwise
 * half of the lab would be made. Those that the lab already has stay allowed.
 */
async function refuseImpossible(context: ApplyContext, operations: readonly Operation[], log: StepLog): Promise<void> {
  const { catalogue, refuseUnlessAdmin } = context;
  const before = await context.definitions.get(context.path);
  const known = [before?.management?.ipv4Subnet, before?.management?.ipv6Subnet];
  const publishes = new Set(before?.nodes.flatMap(({ name, ports }) => (ports ?? []).map((port) => `${name} ${port}`)));
  const bound = new Set(before?.nodes.flatMap(({ name, binds }) => (binds ?? []).map((text) => `${name} ${text}`)));
  for (const { step } of operations) {
    const { ipv4Subnet, ipv6Subnet } = managementOf(step) ?? {};
    try {
      for (const subnet of [ipv4Subnet, ipv6Subnet]) {
        if (subnet === undefined || subnet === "auto") continue;
        if (!known.includes(subnet))
          refuseUnlessAdmin(`the management network ${subnet}: only an admin chooses it; management: true gives the lab a free one`);
        await refuseUsedSubnet(subnet, before?.id);
      }
    } catch (error) {
      throw withProgress(error, log);
    }
    if (step.do !== "create-node" && step.do !== "update-node") continue;
    const template = catalogue.template(step.node.template);
    try {
      if (template?.backend === "vm") vmOf(template, step.node);
      const fresh = (step.node.binds ?? []).filter((text) => !bound.has(`${step.node.name} ${text}`));
      if (fresh.length > 0) refuseUnlessAdmin(`node ${step.node.name}: bind ${fresh[0]}: only an admin gives nodes paths of the machine`);
      await context.binds.check(before?.owner ?? context.user, step.node.name, fresh);
      for (const text of step.node.ports ?? []) {
        if (isReserved(text) && !publishes.has(`${step.node.name} ${text}`))
          refuseUnlessAdmin(`node ${step.node.name}: port ${text}: only an admin publishes ports below 1024 or on other addresses`);
      }
    } catch (error) {
      throw withProgress(error, log);
    }
  }
}

/** Returns the management network that the step gives the lab. */
function managementOf(step: Step): LabDefinition["management"] | undefined {
  if (step.do === "create-lab") return step.lab.management;
  return step.do === "update-lab" ? (step.management ?? undefined) : undefined;
}

/** Warns of new nodes, and of all nodes of a lab that gets a management network, that have no interface in it. */
async function warnUnmanaged({ path, definitions, catalogue }: ApplyContext, operations: readonly Operation[], progress: Progress) {
  const before = await definitions.get(path);
  const gets = operations.some(({ step }) => managementOf(step) !== undefined);
  if (!gets && before?.management === undefined) return;
  const put = operations.flatMap(({ step }) => (step.do === "create-node" ? [step.node] : []));
  const old = gets ? (before?.nodes ?? []).map((node) => ({ ...node, key: node.name })) : [];
  for (const { key, template } of [...put, ...old]) {
    if (catalogue.template(template)?.backend !== "vm") continue;
    const message = `${key} is a virtual machine: it has no interface in the management network`;
    progress.warn?.({ code: "no_management_interface", node: key, message });
  }
}

/** Returns whether the port is below 1024 or on an address that is not the loopback address. */
function isReserved(text: string): boolean {
  const port = publishedPort(text);
  return port !== undefined && (port.port < 1024 || port.address !== undefined);
}

/** Returns whether the steps delete the lab with its disks. Then they are one batch: running nodes have nothing to save, and end with the lab. */
function isTeardown(operations: readonly Operation[]): boolean {
  const last = operations.at(-1)?.step;
  return last?.do === "delete-lab" && last.wipe && operations.every(({ step }) => ["stop", "wipe", "delete-lab"].includes(step.do));
}

async function batchesOf(
  { path, definitions, lab }: ApplyContext,
  operations: readonly Operation[],
): Promise<ReturnType<typeof stepBatches>> {
  if (isTeardown(operations)) return [operations];
  const definition = operations.at(-1)?.step.do === "delete-lab" ? await definitions.get(path) : undefined;
  // A lab whose holder hangs can only be ended: it cannot stop its nodes first.
  return definition !== undefined && lab(definition.id).hanging() !== undefined ? [operations] : stepBatches(operations);
}

async function runBatch(
  context: ApplyContext,
  definition: LabDefinition | undefined,
  batch: readonly Operation[],
  ids: NativeIds,
  progress: Progress,
  log: StepLog,
): Promise<NativeIds> {
  const first = batch[0]!.step;
  const last = batch.at(-1)!.step;
  if (first.do === "create-lab") {
    if (definition === undefined) await context.definitions.put(newLab(context, first));
    else await context.definitions.change(context.path, (now) => renewedLab(now, first));
    return ids;
  }
  if (last.do === "delete-lab") {
    if (definition !== undefined) await deleteLab(context, definition, last.wipe);
    return { nodes: {}, networks: {}, links: {} };
  }
  if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${context.path}`);
  const edit = editDefinition(definition, ids, context.catalogue.template);
  const stopping = first.do === "stop" || first.do === "wipe" ? nodesOf(edit, batch) : [];
  await context.lab(definition.id).refuseForeign(stopping);
  await context.lab(definition.id).refuseHanging();
  switch (first.do) {
    case "start":
      await startNodes(context, definition, edit, batch);
      break;
    case "stop":
      await stopNodes(context, definition, edit, batch, first.mode, progress);
      break;
    case "wipe":
      await wipeNodes(context, definition, edit, batch, progress.stopMode ?? 3, progress);
      break;
    default: {
      let failure: unknown;
      let count = 0;
      for (const { step } of batch) {
        try {
          edit.step(step);
          count++;
        } catch (error) {
          failure = error;
          break;
        }
      }
      const done = batch.slice(0, count);
      // First: a change that a crash interrupts is planned again, because the definition still has the old text.
      await applyLiveConfigs(context, definition, edit, done, progress);
      if (count > 0) await commitEdit(context, definition, edit);
      takeOverConfigs(context, definition, edit, done);
      if (failure !== undefined) {
        log.finish(batch.slice(0, count));
        throw failure;
      }
    }
  }
  return edit.ids();
}

/** Running nodes that get a changed configuration at the same time. */
const parallelConfigs = 4;

/** Gives running nodes the lines of their startup-configs that change. A node that does not take them gets a warning, and the text at its next start. */
async function applyLiveConfigs(
  { catalogue, definitions, lab, readiness }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  progress: Progress,
): Promise<void> {
  const changed = batch.flatMap(({ step, key }) => {
    if (step.do !== "update-node" || !step.fields.includes("startupConfig")) return [];
    const template = catalogue.template(step.node.template);
    const id = edit.nodeId(step.node.key);
    if (template?.configLanguage === undefined || template.savedConfig === undefined || id === undefined) return [];
    return [{ key, id, path: template.savedConfig, node: step.node }];
  });
  if (changed.length === 0) return;
  const live = lab(before.id);
  const life = await live.life(before, catalogue);
  const { sandbox } = live;
  if (sandbox === null) return;
  const saved = savedConfigs(definitions.directory(before.id), before, catalogue.template);
  const old = new Map(before.nodes.map((node) => [node.id, saved.get(node.id) ?? node.startupConfig ?? ""]));
  const taken = new Map(before.nodes.map((node) => [node.id, node.startupConfig ?? ""]));
  const queue = changed.filter(({ id }) => life.get(id)?.power === "running");
  const worker = async () => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const { key, id, path, node } = one;
      const daemons = node.attributes["daemons"] ?? "auto";
      const texts = { before: old.get(id) ?? "", after: node.startupConfig ?? "", taken: taken.get(id) ?? "" };
      const config = { ...texts, path, startsDaemons: daemons === "auto" };
      const problem = await applyLive(sandbox, id, config).catch((error: unknown) => {
        if (error instanceof Failure) return error.message;
        throw error;
      });
      readiness(before.id).forget(id);
      if (problem === undefined) continue;
      const message = `node ${key} runs without its whole new startup-config: ${problem}. Stop and start it: it boots with the new one`;
      progress.warn?.({ code: "config_not_live", node: key, message });
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallelConfigs, queue.length) }, worker));
}

/** Makes nodes boot with the configuration that these steps set, even if it is the old one and the node has saved another since. */
function takeOverConfigs(
  { catalogue, definitions }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
): void {
  const old = new Map(before.nodes.map((node) => [node.id, node.startupConfig ?? ""]));
  const set = new Set(
    batch.flatMap(({ step }) =>
      step.do === "update-node" && step.fields.includes("startupConfig") ? (edit.nodeId(step.node.key) ?? []) : [],
    ),
  );
  for (const node of edit.result().nodes) {
    const path = catalogue.template(node.template)?.savedConfig;
    const was = old.get(node.id);
    if (path === undefined || was === undefined || (was === (node.startupConfig ?? "") && !set.has(node.id))) continue;
    takeOverConfig(definitions.directory(before.id), node, path);
  }
}

function newLab({ path, user, definitions }: ApplyContext, { lab }: Step & { do: "create-lab" }): LabDefinition {
  const kept = definitions.kept.find(path, user);
  return {
    version: 1,
    id: kept?.id ?? randomUUID(),
    path,
    name: lab.name,
    ...(lab.description === undefined ? {} : { description: lab.description }),
    ...(lab.management === undefined ? {} : { management: lab.management }),
    owner: user,
    locked: false,
    next: kept?.next ?? { node: 1, network: 1, link: 1 },
    nodes: [],
    networks: [],
    links: [],
    texts: lab.texts,
    trafficFilters: lab.trafficFilters,
    ...(kept === undefined ? {} : { disks: Object.fromEntries(kept.nodes.map((node) => [node.name, node.id])) }),
  };
}

function renewedLab(definition: LabDefinition, { lab }: Step & { do: "create-lab" }): LabDefinition {
  const { description: _old, management: _network, ...rest } = definition;
  const management = lab.management === undefined ? {} : { management: lab.management };
  const description = lab.description === undefined ? {} : { description: lab.description };
  return { ...rest, name: lab.name, ...description, ...management, texts: lab.texts, trafficFilters: lab.trafficFilters };
}

async function deleteLab({ path, definitions, lab, forget }: ApplyContext, definition: LabDefinition, wipe: boolean): Promise<void> {
  await lab(definition.id).destroy();
  await definitions.remove(path, { keepDisks: !wipe });
  forget(definition.id);
}

/** Stops removed nodes before the definition is written, and removes their disks after: a crash in between leaves no node that the definition lacks running. */
async function commitEdit(
  { definitions, trash, catalogue, lab }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
): Promise<void> {
  const after = edit.result();
  const live = lab(before.id);
  const kept = new Set(after.nodes.map((node) => node.id));
  const gone = before.nodes.filter((node) => !kept.has(node.id)).map((node) => node.id);
  if (gone.length > 0)
    await live.stop(
      before.nodes.filter(({ id }) => !kept.has(id)),
      1,
      catalogue,
    );
  // First: addresses that are in use, or a port that another program has, change nothing.
  if (changesManagement(before, after)) await live.settleManagement(after, catalogue);
  await publishPorts(live, catalogue, before, after);
  // Written first: if a node refuses a file, the definition still has the old one, and the next plan shows the change again.
  await changeFiles(live, catalogue, before, after);
  if (JSON.stringify(after) !== JSON.stringify(before)) await put(definitions, after);
  await live.reconcileFabric(after, catalogue, { of: "edit", before });
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const limited = after.nodes.filter(({ id, cpu, ram }) => cpu !== old.get(id)?.cpu || ram !== old.get(id)?.ram);
  if (limited.length > 0) await live.limit(after, new Set(limited.map(({ id }) => id)), catalogue);
  await removeDisks(trash, live, gone);
}

function changesManagement(before: LabDefinition, after: LabDefinition): boolean {
  const of = ({ management, nodes }: LabDefinition) =>
    JSON.stringify([management, nodes.map(({ id, mgmtIpv4, mgmtIpv6 }) => [id, mgmtIpv4, mgmtIpv6])]);
  return of(before) !== of(after);
}

/** Writes changed files into nodes that run. Other nodes get them when they start. */
async function changeFiles(live: LocalLab, catalogue: Catalogue, before: LabDefinition, after: LabDefinition): Promise<void> {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const changed = after.nodes.filter((node) => {
    const was = old.get(node.id);
    return was !== undefined && hasOtherFiles(was, node);
  });
  if (changed.length === 0) return;
  const up = await running(live, before, catalogue);
  await Promise.all(
    changed.map(async (node) => {
      if (up.has(node.id) && live.sandbox !== null) await writeNodeFiles(live.sandbox, old.get(node.id) as DefinedNode, node);
    }),
  );
}

async function startNodes(context: ApplyContext, before: LabDefinition, edit: DefinitionEdit, batch: readonly Operation[]): Promise<void> {
  const wanted = nodesOf(edit, batch);
  const named = new Set(wanted);
  // A running or suspended node has its memory already.
  const starting = edit.result().nodes.filter(({ id, power }) => named.has(id) && power === "stopped");
  using _memory = await context.admission.admit(before.id, starting, context.catalogue);
  for (const id of wanted) edit.power(id, "running", context.bootId);
  const after = edit.result();
  const started = new Map(after.nodes.map((node) => [node.id, node]));
  const record = (ids: ReadonlySet<number>) =>
    put(context.definitions, { ...after, nodes: before.nodes.map((node) => (ids.has(node.id) ? started.get(node.id)! : node)) });
  try {
    await context.lab(before.id).start(after, new Set(wanted), context.catalogue, record);
  } catch (error) {
    const id = troubledNode(error);
    const broken = batch.find(({ key }) => id !== undefined && edit.nodeId(key) === id);
    if (broken === undefined || !(error instanceof Failure)) throw error;
    throw new Failure(error.code, error.message, { data: { ...error.data, failed: broken.id }, cause: error });
  }
}

async function stopNodes(
  { definitions, catalogue, lab }: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  mode: StopMode,
  progress: Progress,
): Promise<void> {
  const named = new Set(nodesOf(edit, batch));
  const live = lab(before.id);
  // Only running nodes can be hibernated; others stay off.
  const up = mode === 2 ? await running(live, before, catalogue) : named;
  const nodes = before.nodes.filter(({ id }) => named.has(id) && up.has(id));
  for (const { id } of nodes) edit.power(id, mode === 2 ? "suspended" : "stopped");
  let after = edit.result();
  await put(definitions, after, { isEnding: true });
  try {
    const forced = await live.stop(nodes, mode, catalogue);
    if (forced.size > 0) {
      after = { ...after, nodes: after.nodes.map((node) => (forced.has(node.id) ? { ...node, forced: true } : node)) };
      await put(definitions, after, { isEnding: true });
      for (const operation of batch) warnForced(operation, forced.get(edit.nodeId(operation.key) ?? 0), progress);
    }
  } catch (error) {
    // Only nodes that were hibernated are recorded as such; the others go on running.
    if (mode === 2) {
      // If the nodes' power cannot be read now, all are recorded as before: their next status reads their processes.
      const still = await running(live, before, catalogue).catch(() => up);
      const old = new Map(before.nodes.map((node) => [node.id, node]));
      await put(
        definitions,
        { ...after, nodes: after.nodes.map((node) => (still.has(node.id) ? (old.get(node.id) ?? node) : node)) },
        { isEnding: true },
      );
    }
    throw error;
  }
  await live.reconcileFabric(after, catalogue);
}

async function publishPorts(live: LocalLab, catalogue: Catalogue, before: LabDefinition, after: LabDefinition): Promise<void> {
  try {
    await live.publish(after, catalogue, { strict: true });
  } catch (error) {
    // If the nodes cannot be read now, `error` is still what the change failed with.
    await live.publish(before, catalogue, { strict: false }).catch(() => undefined);
    throw error;
  }
}

function warnForced({ key }: Operation, grace: number | undefined, { warn }: Progress): void {
  if (grace === undefined) return;
  warn?.({ code: "stop_forced", node: key, message: `${key} did not end within ${grace / 1000} s and was switched off` });
}

async function running(live: LocalLab, definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlySet<number>> {
  const life = await live.life(definition, catalogue);
  return new Set([...life].filter(([, { power }]) => power === "running" || power === "starting").map(([id]) => id));
}

async function wipeNodes(
  context: ApplyContext,
  before: LabDefinition,
  edit: DefinitionEdit,
  batch: readonly Operation[],
  mode: StopMode,
  progress: Progress,
): Promise<void> {
  // A suspended node would resume with a disk that is gone.
  await stopNodes(context, before, edit, batch, mode === 2 ? 3 : mode, progress);
  await removeDisks(context.trash, context.lab(before.id), nodesOf(edit, batch));
}

/** Writes the definition, with the lock that it has on disk now. */
function put(definitions: Definitions, after: LabDefinition, options?: PutOptions): Promise<void> {
  return definitions.change(after.path, (now) => ({ ...after, locked: now.locked }), options);
}

/** Throws node_not_found for a key that the lab does not have. */
function nodesOf(edit: DefinitionEdit, batch: readonly Operation[]): readonly number[] {
  return batch.map(({ step }) => {
    const key = "node" in step && typeof step.node === "string" ? step.node : "";
    const id = edit.nodeId(key);
    if (id === undefined) throw new Failure("node_not_found", `the lab has no node ${key}`);
    return id;
  });
}

/** Removes the disks of stopped nodes: nothing writes there any more. */
async function removeDisks(trash: Trash, lab: LocalLab, ids: readonly number[]): Promise<void> {
  await Promise.all(ids.map((id) => trash.discard(join(lab.directory, "nodes", String(id)))));
}

/** Returns the error with the finished and the remaining steps. Errors of the machine, such as a full disk or a missing program, become host_error. */
function withProgress(error: unknown, { applied, remaining: left }: StepLog): unknown {
  const named = error instanceof Failure ? error.data?.failed : undefined;
  // The error may name the step of the batch that failed; otherwise it is the first one.
  const failed = left.find((id) => id === named) ?? left[0];
  const far = { applied, ...(failed !== undefined && { failed }), remaining: left.filter((id) => id !== failed) };
  if (error instanceof Failure) {
    const isComplete = error.code !== "host_error" || typeof error.data?.host === "object";
    const host = isComplete ? {} : { host: { message: error.message } };
    return new Failure(error.code, error.message, { data: { ...error.data, ...host, ...far }, cause: error });
  }
  const trouble = machineTrouble(error);
  return trouble === undefined ? error : new Failure(trouble.code, trouble.message, { data: { ...trouble.data, ...far }, cause: error });
}
