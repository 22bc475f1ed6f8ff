import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type Identity, lives } from "../holder/identity.ts";
import { openRequest } from "../holder/request.ts";
import type { Frame } from "../holder/wire.ts";
import { nodeState } from "./node-states.ts";
import type { NodeState } from "./sandbox.ts";

/**
 * Watches the states. The holder disconnects a watcher that does not read. As long as the lab runs, this connects again: the first states of a
 * connection contain the changes in between.
 */
export async function watchStates(
  path: string,
  identity: Identity,
  onChange: (change: NodeState | "gone") => void,
): Promise<{ close(): void }> {
  const known = new Map<number, string>();
  let close = (): void => {};
  let closed = false;

  const follow = async (report: boolean): Promise<void> => {
    const take = (frame: Frame, loud: boolean) => {
      const state = nodeState(frame);
      const text = JSON.stringify(state);
      if (known.get(state.id) === text) return;
      known.set(state.id, text);
      if (loud && !closed) onChange(state);
    };
    const { socket, reader } = await openRequest(path, "watch", [], { onFrame: (frame) => take(frame, report) });
    const drain = () => {
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) take(frame, true);
    };
    close = () => socket.destroy();
    if (closed) return close();
    socket.on("error", () => {}); // the following close is handled
    socket.on("close", () => void again());
    socket.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      drain();
    });
    drain();
  };

  const again = async (): Promise<void> => {
    while (!closed) {
      try {
        return await follow(true);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        // A check that fails, such as for lack of file descriptors, is repeated.
        if (!(await lives(identity).catch(() => true))) return closed ? undefined : onChange("gone");
        await delay(50);
      }
    }
  };

  await follow(false);
  return {
    close() {
      closed = true;
      close();
    },
  };
}
