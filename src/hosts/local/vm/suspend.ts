import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { nodeDisk } from "../files/node-disk.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { supervisor } from "../templates/vm-template.ts";

/** The file in which the supervisor keeps a hibernated guest (native/supervisor/vm.h), on the node's disk. */
const savedState = "/vm/state";

/** @param directory of the lab */
export function hasSavedState(directory: string, node: number): boolean {
  return nodeDisk(join(directory, "nodes", String(node))).has(savedState);
}

/** Removes the saved state, so that the node's next start is a boot. */
export function dropSavedState(directory: string, node: number): void {
  nodeDisk(join(directory, "nodes", String(node))).remove(savedState);
}

/** Saves the guest's state on its disk and stops the node. Throws host_error with the hypervisor's message if that fails; the guest then runs on. */
export async function hibernateVm(sandbox: Sandbox, directory: string, node: number): Promise<void> {
  // After a successful hibernation the node ends, and this program with it.
  const said = await sandbox.exec(node, [supervisor, "hibernate"], { timeoutMs: maxMs }).catch((error: unknown) => {
    if (error instanceof Failure) return { stderr: error.message };
    throw error;
  });
  if (!hasSavedState(directory, node)) {
    const message = `the virtual machine could not be hibernated: ${said.stderr.trim() || "it ended before its state was saved"}`;
    throw new Failure("host_error", message, { data: { host: { message } } });
  }
  let over = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const watch = await sandbox.watch((state) => {
    if (state === "gone" || (state.id === node && state.pid === 0)) over();
  });
  try {
    const { nodes } = await sandbox.info();
    if (nodes.some(({ id, pid }) => id === node && pid > 0)) await ended;
  } finally {
    watch.close();
  }
}

/** Enough for a guest with tens of gigabytes on a slow disk, ms. */
const maxMs = 600_000;
