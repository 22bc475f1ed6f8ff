import { Failure } from "../../../contract/errors.ts";
import type { EveAnswer } from "../api/answer.ts";
import { readNodes } from "../read/lab-read.ts";
import { nodesFailed } from "./failed-nodes.ts";
import type { PowerRun } from "./power.ts";

/** Nodes that start or stop at once. Nodes that share a network take turns: otherwise the host makes their bridge twice. */
const width = 8;

/** A call whose outcome is unknown. */
export interface PendingOutcome {
  readonly text: string;
  /** Whether the host or the connection ended the call. After a time-out, the call may still be running. */
  readonly ended: boolean;
}

/** Returns undefined if the outcome is unknown, and adds the call to `pending`. The caller reads the node before it sends the call again. */
export async function powerCall(
  { place, at, signal }: PowerRun,
  id: number,
  word: string,
  pending: Map<number, PendingOutcome>,
): Promise<EveAnswer | undefined> {
  const path = `/api/labs${at.url}/nodes/${id}/${word}`;
  const send = () => place.account.call({ path, read: false, timeoutMs: place.world.timing.powerMs });
  try {
    const answer = await send().catch(async (error: unknown) => {
      if (!(error instanceof Failure) || error.code !== "expired_host_session") throw error;
      // The host checks the session first, so nothing was done. A node that was stopped for a change must not stay stopped: the read opens the session again.
      await readNodes(place.account, at, signal);
      return send();
    });
    if (!answer.broken) return answer;
    pending.set(id, { text: `the host broke over ${word} (${answer.message})`, ended: true });
  } catch (error) {
    if (!(error instanceof Failure) || (error.code !== "host_timeout" && error.code !== "host_unreachable")) throw error;
    pending.set(id, { text: error.message, ended: error.code === "host_unreachable" });
  }
  return undefined;
}

/**
 * Runs the work for all nodes, several at the same time, but never for two nodes on the same network. A node that the host refuses does not stop the
 * others: throws nodesFailed() at the end. Any other failure ends the work.
 */
export async function inTurns({ lab, signal }: PowerRun, ids: readonly number[], work: (id: number) => Promise<void>): Promise<void> {
  const networks = new Map(lab.nodes.map((node) => [node.id, node.interfaces.flatMap((one) => one.network_id ?? [])]));
  const waiting = [...ids];
  const busy = new Set<number>();
  const under = new Set<Promise<void>>();
  const refused = new Map<number, Failure>();
  let failed: { readonly error: unknown } | undefined;
  while (waiting.length > 0 || under.size > 0) {
    const stop = failed !== undefined || signal?.aborted === true;
    const next =
      stop || under.size >= width ? -1 : waiting.findIndex((id) => !(networks.get(id) ?? []).some((network) => busy.has(network)));
    if (next < 0) {
      if (under.size === 0) break;
      await Promise.race(under);
      continue;
    }
    const [id = 0] = waiting.splice(next, 1);
    const used = networks.get(id) ?? [];
    for (const network of used) busy.add(network);
    const one: Promise<void> = work(id)
      .catch((error: unknown) => {
        if (error instanceof Failure && error.code === "host_error") refused.set(id, error);
        else failed ??= { error };
      })
      .finally(() => {
        for (const network of used) busy.delete(network);
        under.delete(one);
      });
    under.add(one);
  }
  if (failed !== undefined) throw failed.error;
  signal?.throwIfAborted();
  if (refused.size > 0) throw nodesFailed(refused, (id) => nameOf(lab.nodes, id));
}

export function nameOf(nodes: readonly { readonly id: number; readonly name?: string }[], id: number): string {
  return nodes.find((node) => node.id === id)?.name ?? String(id);
}
