import { randomUUID } from "node:crypto";
import { Failure } from "../../../contract/errors.ts";
import type { Operation, Step } from "../../../engine/model/plan.ts";
import type { LabNetwork, LabNode, Position } from "../../../intent/lab/lab.ts";
import type { Applied, NativeIds, Progress } from "../../host.ts";
import { StepLog, stepBatches } from "../../host-batches.ts";
import { isUnreadableLab } from "../../host-unreadable.ts";
import { hostFailure } from "../api/host-failure.ts";
import { settled } from "../api/pending-outcome.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import type { TakenIds } from "../labs/other-labs.ts";
import { refuseInUse } from "../labs/other-users.ts";
import { refuseSharedId } from "../labs/shared-id.ts";
import type { EvePlace } from "../labs/world.ts";
import { failedNodes } from "../power/failed-nodes.ts";
import { leftRunning } from "../power/left-running.ts";
import { bringDown, refuseStrays, startNodes, stopNodes, wipeNodes } from "../power/power.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { isUp, type LabHead, labNotFound, type NodeStatus, readHead, readNodes, withHead } from "../read/lab-read.ts";
import { configTaken } from "../templates/template.ts";
import { renumberedIds } from "../write/given-ids.ts";
import { editLab, type LabEdit } from "../write/lab-edit.ts";
import { writeLab, writeNewLab } from "../write/write-lab.ts";
import { appliedSteps } from "./applied-steps.ts";
import { separateCopy } from "./own-id.ts";
import { leaveTaken } from "./renumber.ts";

interface Run {
  readonly place: EvePlace;
  readonly at: EveLabPath;
  readonly progress: Progress;
  ids: NativeIds;
}

const nobody: NativeIds = { nodes: {}, networks: {}, links: {} };

/**
 * Runs the steps. Consecutive steps of one kind form a batch: all changes of the lab's file are one write, and nodes start and stop together. The
 * lab's lock is checked before each batch, because Community Edition stores the lock but does not enforce it.
 */
export async function applySteps(place: EvePlace, at: EveLabPath, operations: readonly Operation[], progress: Progress): Promise<Applied> {
  const run: Run = { place, at, progress, ids: progress.ids };
  const log = new StepLog(operations, progress);
  let head: LabHead | null = null;
  await refuseOthersNodes(run, operations);
  for (const batch of stepBatches(operations)) {
    progress.signal?.throwIfAborted();
    try {
      const removes = batch[0]?.step.do === "delete-lab";
      head = await (removes ? readHeadToDelete(place, at) : readHead(place.account, at));
      if (head !== null && head.lock !== 0)
        throw log.locked(`lab ${at.path} is locked on the host`, `lab ${at.path} was locked on the host during the change`);
      log.begin(batch);
      await runBatch(run, head, batch, (some) => log.finish(some));
      log.finish(batch);
    } catch (error) {
      throw cutOff(error, log);
    }
  }
  await warnOfConfigs(run, operations);
  head = await readHead(place.account, at);
  return head === null ? { ids: run.ids } : { ids: run.ids, labId: head.uuid };
}

/** Warns of each running node whose startup-config changed: the host gives it the new text only after a wipe. */
async function warnOfConfigs({ place, at, ids, progress }: Run, operations: readonly Operation[]): Promise<void> {
  const changed = operations.flatMap(({ step }) =>
    step.do === "update-node" && step.fields.includes("startupConfig") ? [step.node.key] : [],
  );
  if (changed.length === 0) return;
  const up = new Set((await readNodes(place.account, at)).filter(({ status }) => isUp(status)).map(({ id }) => String(id)));
  for (const node of changed) {
    if (!up.has(ids.nodes[node] ?? "")) continue;
    const message = `${node} runs with its earlier startup-config: ${configTaken}; labwright wipe --node ${node} deletes its disk`;
    progress.warn?.({ code: "wipe_needed", node, message });
  }
}

/**
 * Refuses, before the first step, a change that deletes nodes of other labs or users: the host would forget their processes, and no call could end them. A forced
 * deletion first separates a lab from labs with the same id.
 */
async function refuseOthersNodes({ place, at, progress }: Run, operations: readonly Operation[]): Promise<void> {
  const whole = operations.some(({ step }) => step.do === "delete-lab");
  if (!whole && !operations.some(({ step }) => step.do === "delete-node")) return;
  if (whole && progress.force === true) {
    const head = await readHeadToDelete(place, at);
    // A lab that the host cannot read is deleted without its nodes.
    if (head !== null && head !== unreadable && head.lock === 0) await separateCopy(place, at, head);
  }
  if (whole) await refuseSharedId(place, at, { what: `lab ${at.path} was not destroyed` });
  await refuseInUse(place, at, {
    whole,
    owner: progress.owner,
    force: progress.force === true,
    warn: (node, message) => progress.warn?.({ code: "left_running", node, message }),
  });
}

/** Returns the lab's head, `unreadable` for a lab that the host cannot read. */
async function readHeadToDelete({ account }: EvePlace, at: EveLabPath): Promise<LabHead | null> {
  try {
    return await readHead(account, at);
  } catch (error) {
    if (isUnreadableLab(error)) return unreadable;
    throw error;
  }
}

/** The host reports neither lock nor nodes of such a lab. */
const unreadable: LabHead = { uuid: "", name: "", lock: 0, description: "", author: "", body: "" };

async function runBatch(
  run: Run,
  head: LabHead | null,
  batch: readonly Operation[],
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const first = batch[0]?.step;
  if (first === undefined) return;
  if (first.do === "create-lab") return inTurn(run, true, () => createLab(run, head, first));
  if (first.do === "delete-lab") return inTurn(run, false, () => deleteLab(run, head));
  if (head === null) {
    // The parts of a deleted lab are deleted with it: a list of steps that deletes the lab may run again.
    if (batch.every(({ step }) => step.do === "stop" || step.do === "wipe" || step.do.startsWith("delete-"))) return;
    throw labNotFound(run.at.path);
  }
  if (first.do !== "start" && first.do !== "stop" && first.do !== "wipe") {
    const creates = batch.some(({ step }) => step.do.startsWith("create-"));
    return inTurn(run, creates, () => editBatch(run, head, batch, creates, done));
  }
  const { place, at, progress } = run;
  const { reader, edition: kind } = place.world;
  const lab = withHead(kind.exports ? await reader.file(place.account, at) : (await reader.read(place.account, at)).lab, head);
  const edit = openEdit(run, lab, noneTaken);
  const ids = batch.flatMap(({ step }) => {
    const key = "node" in step && typeof step.node === "string" ? step.node : "";
    const id = edit.nodeId(key);
    // A deleted node counts as stopped and wiped.
    if (id === undefined && step.do === "start") throw new Failure("node_not_found", `the lab has no node ${key}`);
    return id ?? [];
  });
  // A wipe stops nodes, too: a stopped node is not a wiped one.
  const reached =
    first.do === "wipe"
      ? undefined
      : (some: ReadonlySet<number>) => done(batch.filter((operation) => some.has(nodeIdOf(operation, edit) ?? -1)));
  const power = { place, at, lab, signal: progress.signal, force: progress.force, reached };
  try {
    if (first.do === "start") await startNodes(power, ids);
    else if (first.do === "stop") await stopNodes(power, ids, first.mode);
    else await wipeNodes(power, ids, progress.stopMode ?? 3);
  } catch (error) {
    const failed = failedNodes(error);
    const others = batch.filter((operation) => !failed.has(nodeIdOf(operation, edit) ?? -1));
    if (first.do !== "wipe") await reportPower(run, others, edit, first.do, done);
    throw withSteps(error, batch, edit);
  }
}

/** After a batch of starts or stops with failures: reports the steps of the nodes that are as wanted as done. */
async function reportPower(
  { place, at }: Run,
  batch: readonly Operation[],
  edit: LabEdit,
  word: "start" | "stop",
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const nodes = await readNodes(place.account, at).catch(() => undefined);
  if (nodes === undefined) return;
  const status = new Map(nodes.map((node) => [node.id, node.status]));
  done(
    batch.filter((operation) => {
      const now = status.get(nodeIdOf(operation, edit) ?? -1) ?? 0;
      return word === "stop" ? now === 0 || (now === 1 && place.world.edition.sharedNames) : now === 2 || now === 3;
    }),
  );
}

/** Returns the failure with the failed steps and the reason of each. */
function withSteps(error: unknown, batch: readonly Operation[], edit: LabEdit): unknown {
  const reasons = failedNodes(error);
  if (!(error instanceof Failure) || reasons.size === 0) return error;
  const failures = batch.flatMap((operation) => {
    const message = reasons.get(nodeIdOf(operation, edit) ?? -1);
    return message === undefined ? [] : [{ id: operation.id, message }];
  });
  return new Failure(error.code, error.message, { data: { ...error.data, failures }, cause: error });
}

/** Returns the failure of an import of a whole lab file: all of its steps failed, and no single step is the reason. */
function failedTogether(error: unknown, batch: readonly Operation[]): unknown {
  if (!(error instanceof Failure) || error.data?.together !== true) return error;
  const { together: _marked, ...data } = error.data;
  return new Failure(error.code, error.message, { data: { ...data, failures: batch.map(({ id }) => ({ id })) }, cause: error });
}

function nodeIdOf({ step }: Operation, edit: LabEdit): number | undefined {
  return "node" in step && typeof step.node === "string" ? edit.nodeId(step.node) : undefined;
}

/** Runs writes of one lab one after the other. If labs share numbers, writes that assign new numbers run one after the other on the whole host. */
function inTurn<T>({ place, at }: Run, numbers: boolean, work: () => Promise<T>): Promise<T> {
  const { writes, edition } = place.world;
  const mine = () => writes.run(at.path, work);
  return numbers && edition.sharedNames ? writes.run("", mine) : mine();
}

async function createLab(run: Run, head: LabHead | null, { lab: wanted }: Step & { do: "create-lab" }): Promise<void> {
  const { place, at } = run;
  if (head !== null) {
    const before = withHead(await place.world.reader.file(place.account, at), head);
    const edit = openEdit(run, before, noneTaken);
    edit.step({ do: "create-lab", lab: wanted });
    await writeLab(place, at, before, edit.lab);
    return;
  }
  run.ids = nobody;
  const empty: UnlLab = {
    name: at.name,
    id: randomUUID(),
    version: "1",
    scripttimeout: 300,
    lock: 0,
    nodes: [],
    networks: [],
    textObjects: [],
    pictures: [],
    configs: [],
  };
  const edit = openEdit(run, empty, await takenIds(run), placesOf([...wanted.nodes, ...wanted.networks]));
  // An import creates everything at once, so that the following steps have nothing to do.
  if (place.world.edition.imports !== "none") {
    for (const network of wanted.networks) edit.step({ do: "create-network", network });
    for (const node of wanted.nodes) edit.step({ do: "create-node", node });
    for (const link of wanted.links) edit.step({ do: "create-link", link });
  }
  edit.step({ do: "create-lab", lab: wanted });
  await writeNewLab(place, at, edit.lab, (folder, isOurs) => run.progress.madeFolder?.(folder, isOurs));
  run.ids = (await leaveTaken(place, at, edit.lab, edit.ids)).ids;
}

async function editBatch(
  run: Run,
  head: LabHead,
  batch: readonly Operation[],
  creates: boolean,
  done: (some: readonly Operation[]) => void,
): Promise<void> {
  const { place, at } = run;
  const taken = creates ? await takenIds(run) : noneTaken;
  const editNow = async () => {
    const before = withHead(await place.world.reader.file(place.account, at), head);
    return { before, ...runEdits(openEdit(run, before, taken, placesOf(batch.flatMap(placed))), batch) };
  };
  let edited = await editNow();
  // Wiping takes time, in which somebody may change the lab by hand. The file that is written contains these changes only if it was read after them.
  if (await emptyGone(run, edited.before, edited.edit.lab)) edited = await editNow();
  const { before, edit, after, failure } = edited;
  if (after.length > 0) {
    try {
      const { wanted } = await writeLab(place, at, before, edit.lab);
      run.ids = idsAsGiven(edit, wanted);
      const old = new Set(before.nodes.map(({ id }) => id));
      if (wanted.nodes.some(({ id }) => !old.has(id))) run.ids = (await leaveTaken(place, at, wanted, run.ids, old)).ids;
    } catch (error) {
      // Reports the parts that were done as done; if the host cannot be read, reports none.
      const got = await place.world.reader.file(place.account, at).catch(() => undefined);
      // The last step is never counted: if all steps were done, there would be no failure.
      const count = got === undefined ? 0 : Math.min(appliedSteps(before, after, got, place.catalogue), batch.length - 1);
      done(batch.slice(0, count));
      throw failedTogether(error, batch.slice(count));
    }
  }
  if (failure !== undefined) {
    done(batch.slice(0, after.length));
    throw failure.error;
  }
}

interface Edited {
  readonly edit: LabEdit;
  /** The lab after each step. */
  readonly after: readonly UnlLab[];
  /** Why the step after these failed. */
  readonly failure?: { readonly error: unknown };
}

function runEdits(edit: LabEdit, batch: readonly Operation[]): Edited {
  const after: UnlLab[] = [];
  for (const { step } of batch) {
    try {
      edit.step(step);
      after.push(edit.lab);
    } catch (error) {
      return { edit, after, failure: { error } };
    }
  }
  return { edit, after };
}

/**
 * Nodes must be stopped before they are deleted, or their processes keep running under their number. They must be wiped, or the next node with the
 * number gets their disk. Returns whether there were any.
 */
async function emptyGone(run: Run, before: UnlLab, after: UnlLab): Promise<boolean> {
  const { place, at, progress } = run;
  const kept = new Set(after.nodes.map(({ id }) => id));
  const gone = before.nodes.flatMap(({ id }) => (kept.has(id) ? [] : [id]));
  if (gone.length > 0) await wipeNodes({ place, at, lab: before, signal: progress.signal }, gone, progress.stopMode ?? 3);
  return gone.length > 0;
}

async function deleteLab(run: Run, head: LabHead | null): Promise<void> {
  const { place, at, progress } = run;
  run.ids = nobody;
  if (head === null) return;
  const listed = head === unreadable ? undefined : await nodesToDelete(place, at);
  // The host neither lists nor stops the nodes of a lab that it cannot read.
  if (listed === undefined) for (const warning of await leftRunning(place, at.path, progress.ids.nodes)) progress.warn?.(warning);
  const nodes = listed ?? [];
  const up = nodes.filter(({ status }) => isUp(status)).map(({ id }) => id);
  if (up.length > 0) {
    const lab = await labToDelete(place, at, nodes);
    const power = { place, at, lab, signal: progress.signal, force: progress.force };
    const { foreign, late } = await bringDown(power, up, progress.stopMode ?? 3);
    refuseStrays(power, foreign);
    for (const id of [...late, ...[...foreign.keys()].filter((one) => foreign.get(one)?.lab === undefined)]) {
      const name = nodes.find((node) => node.id === id)?.name ?? String(id);
      const node = Object.entries(progress.ids.nodes).find(([, native]) => native === String(id))?.[0] ?? name;
      const message = `something runs on as number ${id} of the host, and a stop of ${name} did not end it: an administrator of the host ends it there`;
      progress.warn?.({ code: "left_running", node, message });
    }
  }
  const timeoutMs = place.world.timing.powerMs;
  const gone = async () => (await readHeadToDelete(place, at)) === null;
  try {
    await settled(
      `delete lab ${at.path}`,
      () => place.account.call({ method: "DELETE", path: `/api/labs${at.url}`, read: false, timeoutMs }),
      // The host deletes a broken lab without a warning.
      ({ code, status }) => code === 60022 || (code === undefined && status === 200),
      gone,
    );
  } finally {
    place.world.reader.forget(at.path);
    place.world.others.forget(at.path);
    place.world.owners.of(place.account).forget(at.path);
  }
  if (!(await gone())) throw hostFailure(`the host reported that lab ${at.path} is deleted, but it still exists`);
}

/** Returns undefined if a node of the lab has an id that the host cannot use: the others are not listed either. */
async function nodesToDelete({ account }: EvePlace, at: EveLabPath): Promise<readonly NodeStatus[] | undefined> {
  try {
    return await readNodes(account, at);
  } catch (error) {
    if (isUnreadableLab(error)) return undefined;
    throw error;
  }
}

/** Returns the lab, or only its nodes if its file cannot be read: enough to stop them. */
async function labToDelete({ account, world }: EvePlace, at: EveLabPath, nodes: readonly NodeStatus[]): Promise<UnlLab> {
  try {
    return (await world.reader.read(account, at)).lab;
  } catch (error) {
    if (!isUnreadableLab(error)) throw error;
    const unknown = nodes.map(({ id, name }) => ({ id, name, interfaces: [] }));
    return { nodes: unknown, networks: [], textObjects: [], pictures: [], configs: [] };
  }
}

const noneTaken: TakenIds = { nodes: new Set(), networks: new Set() };

function takenIds({ place, at }: Run): Promise<TakenIds> {
  return place.world.edition.sharedNames ? place.world.others.taken(place.account, at.path) : Promise.resolve(noneTaken);
}

function openEdit({ place, ids }: Run, lab: UnlLab, taken: TakenIds, coming: readonly Position[] = []): LabEdit {
  return editLab(lab, ids, { catalogue: place.catalogue, lists: place.world.interfaces, taken, newUuid: randomUUID, coming });
}

function placed({ step }: Operation): readonly (LabNode | LabNetwork)[] {
  if (step.do === "create-node" || step.do === "update-node") return [step.node];
  return step.do === "create-network" || step.do === "update-network" ? [step.network] : [];
}

function placesOf(things: readonly (LabNode | LabNetwork)[]): readonly Position[] {
  return things.flatMap(({ position }) => position ?? []);
}

/** Returns the ids of the edit, with the numbers that the host assigned instead. */
function idsAsGiven(edit: LabEdit, wanted: UnlLab): NativeIds {
  const table = (kind: "nodes" | "networks") => new Map(edit.lab[kind].map(({ id }, index) => [id, wanted[kind][index]?.id ?? id]));
  const [nodes, networks] = [table("nodes"), table("networks")];
  return renumberedIds(edit.ids, { node: (id) => nodes.get(id) ?? id, network: (id) => networks.get(id) ?? id });
}

/** Returns the error that stopped the run, with the progress of the run. */
function cutOff(error: unknown, { applied, remaining: left }: StepLog): unknown {
  if (!(error instanceof Failure) || error.code.startsWith("lab_locked")) return error;
  const failures = error.data?.failures ?? [];
  const failed = failures[0]?.id ?? left[0];
  const rest = left.filter((id) => id !== failed && failures.every((one) => one.id !== id));
  // The caller does not know the host's numbers.
  const { nodes: _numbers, ...data } = error.data ?? {};
  return new Failure(error.code, error.message, { data: { ...data, applied, failed, remaining: rest }, cause: error });
}
