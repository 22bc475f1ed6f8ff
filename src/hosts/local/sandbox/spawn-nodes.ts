import { chownSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { type Frame, list, texts } from "../holder/wire.ts";
import type { HolderConnection } from "./holder-connection.ts";
import type { NodeSpawn, Sandbox, SpawnedNode } from "./sandbox.ts";

/** Maximum number of failed nodes in an error. The others most likely failed for the same reason. */
const maxListed = 3;

/**
 * Number of nodes in one spawn request. Small, so that the work after a node's spawn begins early, and so that the synchronous file work of a chunk
 * does not block the service.
 */
export const spawnedAtOnce = 64;

interface FailedNode {
  readonly id: number;
  readonly problem: string;
}

/** Sets limits of nodes. Throws host_error with the nodes whose limits the machine refused. */
export async function limitNodes({ ask }: HolderConnection, nodes: Parameters<Sandbox["limit"]>[0]): Promise<void> {
  const refused: string[] = [];
  const onFrame = (frame: Frame) => {
    const [id, , problem = ""] = texts(frame);
    refused.push(`node ${id}: ${problem}`);
  };
  await ask(
    "limits",
    nodes.flatMap(({ id, entries }) => [id, ...list(entries.flat(), 3)]),
    { onFrame },
  );
  if (refused.length === 0) return;
  const words = refused.slice(0, maxListed).join("; ");
  throw new Failure("host_error", `the machine refused limits of ${refused.length} nodes: ${words}`, { data: { host: words } });
}

/**
 * Spawns nodes, and returns them in the requested order. After the first failure no further chunk is spawned. Throws host_error with the failed nodes.
 * @param owner the lab's root, which owns the disks
 */
export async function spawnNodes(
  holder: HolderConnection,
  nodes: readonly NodeSpawn[],
  owner: number | undefined,
  onSpawned?: (node: SpawnedNode) => void,
): Promise<readonly SpawnedNode[]> {
  const spawned: SpawnedNode[] = [];
  const failed: FailedNode[] = [];
  const onFrame = (frame: Frame) => {
    const [id, pid, problem = ""] = texts(frame);
    const node = { id: Number(id), pid: Number(pid) };
    if (problem !== "") failed.push({ id: node.id, problem });
    else {
      spawned.push(node);
      onSpawned?.(node);
    }
  };
  const spawnChunk = async (chunk: readonly NodeSpawn[]) => {
    makeDisks(chunk, owner);
    const limits = chunk.flatMap(({ id, limits: entries = [] }) => (entries.length > 0 ? [{ id, entries }] : []));
    if (limits.length > 0) await limitNodes(holder, limits);
    await holder.ask("spawn", chunk.flatMap(spawnFields), { onFrame });
  };
  await spawnInChunks(nodes, spawnChunk, () => failed.length > 0);
  if (failed.length > 0) throw notSpawned(nodes, failed);
  const byId = new Map(spawned.map((node) => [node.id, node]));
  return nodes.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Two chunks at a time: the next chunk begins while the last nodes of the previous one are still being spawned. */
async function spawnInChunks(
  nodes: readonly NodeSpawn[],
  spawnChunk: (chunk: readonly NodeSpawn[]) => Promise<void>,
  hasFailed: () => boolean,
): Promise<void> {
  const waiting = Array.from({ length: Math.ceil(nodes.length / spawnedAtOnce) }, (_, i) =>
    nodes.slice(i * spawnedAtOnce, (i + 1) * spawnedAtOnce),
  );
  const work = async () => {
    try {
      for (let chunk = waiting.shift(); chunk !== undefined && !hasFailed(); chunk = waiting.shift()) await spawnChunk(chunk);
    } catch (error) {
      waiting.length = 0; // also stops the other worker
      throw error;
    }
  };
  const ends = await Promise.allSettled([work(), work()]);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

function notSpawned(nodes: readonly NodeSpawn[], failed: FailedNode[]): Failure {
  // Sorted into the requested order, because the two workers end in any order.
  const order = new Map(nodes.map(({ id }, at) => [id, at]));
  failed.sort((one, other) => order.get(one.id)! - order.get(other.id)!);
  const listed = failed.slice(0, maxListed).map(({ id, problem }) => `node ${id}: ${problem}`);
  const words = [...listed, ...(failed.length > maxListed ? [`and ${failed.length - maxListed} more`] : [])].join("; ");
  const data = { host: words, failed: failed.slice(0, maxListed) };
  return new Failure("host_error", `${failed.length} of ${nodes.length} nodes could not be created: ${words}`, { data });
}

/**
 * Creates the directories of missing disks and gives them to `owner`, the lab's root user: the lab may have no write access to their parent directory.
 * Synchronous, because waiting for a thread takes much longer than the calls.
 */
function makeDisks(nodes: readonly NodeSpawn[], owner: number | undefined): void {
  for (const parent of new Set(nodes.map(({ disk }) => dirname(disk)))) mkdirSync(parent, { recursive: true });
  for (const { disk } of nodes) makeDisk(disk, owner);
}

function makeDisk(disk: string, owner: number | undefined): void {
  try {
    mkdirSync(disk, { mode: 0o755 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  if (owner !== undefined) chownSync(disk, owner, owner);
}

function spawnFields(node: NodeSpawn): (string | number)[] {
  const files = node.files.flatMap(({ path, mode, text }) => [path, mode, text]);
  const main = node.main === undefined ? [] : [node.main.workdir, node.main.uid, ...node.main.gids];
  const binds = (node.binds ?? []).flatMap(({ source, target, writable }) => [writable ? "rw" : "ro", source, target]);
  const env = Object.entries(node.env).map(([name, value]) => `${name}=${value}`);
  return [
    node.id,
    node.hostname,
    node.disk,
    ...[node.lower, files, env, node.boot, node.console, main, [...(node.devices ?? []), ...binds]].flatMap((items, i) =>
      list(items, i === 1 ? 3 : 1),
    ),
  ];
}
