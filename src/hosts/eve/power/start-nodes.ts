import { Failure } from "../../../contract/errors.ts";
import type { EveAccount } from "../account/account.ts";
import { type EveAnswer, hostError } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import { pause } from "../labs/world.ts";
import { type NodeStatus, readNodes } from "../read/lab-read.ts";
import { nodesFailed } from "./failed-nodes.ts";
import type { PowerRun } from "./power.ts";
import { inTurns, nameOf, type PendingOutcome, powerCall } from "./power-calls.ts";

/** Users of the host for whom this process has seen a running node: their unix user exists. */
const seenRunning = new WeakSet<EveAccount>();

/** Exit codes of the host's wrapper after which a second start may succeed: 11 network, 12 node, 14 unix user. */
const passing = new Set([11, 12, 14]);

interface Start {
  readonly run: PowerRun;
  /** Nodes whose start has an unknown outcome, with what happened. */
  readonly pending: Map<number, PendingOutcome>;
  readonly failures: Map<number, Failure>;
}

/**
 * Starts the stopped nodes and waits until all run. The first start of a host user creates a unix user, and other starts at the same time fail (14).
 * Therefore one node starts first for a user without a seen running node. A failed node does not stop the others.
 *
 * Throws nodesFailed(): host_error with data.nodes.
 */
export async function bringUp(run: PowerRun, ids: readonly number[], down: readonly number[]): Promise<void> {
  const { account } = run.place;
  const start: Start = { run, pending: new Map(), failures: new Map() };
  const alone = down.length > 1 && !(await wasSeenRunning(run)) ? down.slice(0, 1) : [];
  for (const id of alone) await startOne(start, id);
  await inTurns(run, down.slice(alone.length), (id) => startOne(start, id));
  await waitUntilUp(
    start,
    ids.filter((id) => !start.failures.has(id)),
  );
  if (start.failures.size < ids.length) seenRunning.add(account);
  if (start.failures.size > 0) throw nodesFailed(start.failures, (id) => nameOf(run.lab.nodes, id));
}

async function wasSeenRunning({ place, at, signal }: PowerRun): Promise<boolean> {
  const { account } = place;
  if (!seenRunning.has(account) && (await readNodes(account, at, signal)).some(({ status }) => status > 1)) seenRunning.add(account);
  return seenRunning.has(account);
}

/**
 * Starts a node, and repeats the start if the host failed. Does not repeat it while the node's lock exists (status 1), because the host would answer
 * 200 and start nothing.
 */
async function startOne({ run, pending, failures }: Start, id: number): Promise<void> {
  const unanswered = [...pending].find(([, { ended }]) => !ended);
  if (unanswered !== undefined) {
    // Each further start could wait as long.
    const [other, { text }] = unanswered;
    const [name, first] = [nameOf(run.lab.nodes, id), nameOf(run.lab.nodes, other)];
    failures.set(
      id,
      hostFailure(
        `node ${name} was not started: the host did not answer the start of ${first} (${text}). Look at the host, then start it again`,
      ),
    );
    return;
  }
  const call = () => powerCall(run, id, "start", pending);
  let answer = await call();
  if (answer !== undefined && passing.has(answer.code ?? 0) && (await statusOf(run, id)) === 0) answer = await call();
  if (answer !== undefined && answer.code !== 80049) failures.set(id, await startFailure(run, id, answer));
}

async function startFailure(run: PowerRun, id: number, answer: EveAnswer): Promise<Failure> {
  const failure = hostError(`start node ${nameOf(run.lab.nodes, id)}`, answer);
  if (failure.code !== "host_error") return failure;
  const isLocked = (await statusOf(run, id)) === 1;
  const reason = isLocked ? leftLocked : answer.code === notStarted ? (missingImage(run, id) ?? ownWords) : undefined;
  if (reason === undefined) return failure;
  return new Failure("host_error", `${failure.message.replace(/\.$/, "")}; ${reason}`, { data: { ...failure.data }, cause: failure });
}

/** The host's wrapper could not start the node, and does not report why. */
const notStarted = 12;

/** Returns the next step if the host does not have the node's image. */
function missingImage({ place, lab }: PowerRun, id: number): string | undefined {
  const node = lab.nodes.find((one) => one.id === id);
  const template = place.catalogue.template(node?.template ?? "");
  if (node === undefined || template?.images === undefined) return undefined;
  const { image = "" } = node;
  if (template.images.includes(image) || (image === "" && template.images.length > 0)) return undefined;
  const missing = image === "" ? `no image for template ${template.id}` : `no image ${image} for template ${template.id}`;
  const change = template.images.length > 0 ? `, or change "image" to one of ${template.images.join(", ")}` : "";
  return `the host has ${missing}: put the image there${change}, then start the node again`;
}

const leftLocked = "its interrupted preparation left its lock behind (status 1): labwright wipe removes the lock, and deletes the disk";

async function statusOf({ place, at, signal }: PowerRun, id: number): Promise<number> {
  return (await readNodes(place.account, at, signal)).find((node) => node.id === id)?.status ?? 0;
}

/**
 * Waits until each node runs, or records it as failed: at once if it ran and is down again; after `comeUpMs` if the host has answered and the node has no
 * process; otherwise after `patienceMs`.
 */
async function waitUntilUp(start: Start, ids: readonly number[]): Promise<void> {
  const { run, pending, failures } = start;
  const { place, at, lab, signal } = run;
  const { timing, edition } = place.world;
  const began = new Map(ids.map((id) => [id, performance.now()]));
  const repeated = new Set<number>();
  const ran = new Set<number>();
  for (let waiting = ids; waiting.length > 0; ) {
    const nodes = new Map((await readNodes(place.account, at, signal)).map((node) => [node.id, node]));
    waiting = [];
    run.reached?.(new Set(ids.filter((id) => !failures.has(id) && isUp(nodes.get(id)))));
    for (const id of ids.filter((one) => !failures.has(one))) {
      const [name, node] = [nameOf(lab.nodes, id), nodes.get(id)];
      const delayMs = 1000 * (lab.nodes.find((one) => one.id === id)?.delay ?? 0);
      const waited = performance.now() - (began.get(id) ?? 0);
      const outcome = pending.get(id);
      // On Community the process exists when the host answers. For other editions this is not known.
      const isOver = edition.sharedNames && outcome?.ended !== false && (node?.status ?? 0) < 2;
      const limit = isOver ? Math.min(timing.patienceMs, timing.comeUpMs + delayMs) : timing.patienceMs;
      if (isUp(node)) ran.add(id);
      else if (ran.has(id)) failures.set(id, hostFailure(`node ${name} ran and ended at once; ${ownWords}`));
      else if (waited > limit && isOver && outcome !== undefined && node?.status === 0 && !repeated.has(id)) {
        // No lock and no process: the host is not starting it any more.
        repeated.add(id);
        pending.delete(id);
        await startOne(start, id);
        began.set(id, performance.now());
        waiting = [...waiting, id];
      } else if (waited > limit) failures.set(id, notUp(name, node, outcome?.text, limit));
      else waiting = [...waiting, id];
    }
    if (waiting.length > 0) await pause(place.world, signal);
  }
}

const ownWords =
  "the reason is on the host, in the node's running directory below /opt/unetlab/tmp and in /opt/unetlab/data/Logs/unl_wrapper.txt";

function isUp(node: NodeStatus | undefined): boolean {
  return node?.status === 2 || node?.status === 3;
}

function notUp(name: string, node: NodeStatus | undefined, outcome: string | undefined, limitMs: number): Failure {
  const status = node?.status ?? "unknown";
  const ended = outcome === undefined ? `its process ended at once or never began; ${ownWords}` : "try again";
  const why = node?.status === 1 ? leftLocked : ended;
  return hostFailure(
    `${outcome ?? "the host took the start"}, and node ${name} does not run after ${limitMs / 1000} s (status ${status}): ${why}`,
  );
}
