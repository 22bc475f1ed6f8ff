import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import { type Identity, lives, parseIdentity, readIfThere } from "../holder/identity.ts";
import { protocolVersion } from "../holder/wire.ts";
import { nodeProcesses } from "./node-processes.ts";
import type { NodeState, SandboxOptions } from "./sandbox.ts";

/**
 * A running holder that another release of Labwright has started, with another protocol. Its nodes keep running and are visible. The only possible
 * change is to stop all nodes of the lab.
 */
export interface IncompatibleHolder {
  /** Returns the running nodes from the process table, `null` if the holder has ended. */
  nodes(): Promise<ReadonlyMap<number, NodeState> | null>;
  /** The failure of every change: host_error with the remedy. */
  refusal(): Failure;
  /** Ends the holder and with it the lab. Resolves when it has ended. */
  end(): Promise<void>;
}

/** Returns the incompatible holder of this directory, `null` if there is no holder or a compatible one. */
export async function incompatibleHolder({ dir, lab }: SandboxOptions): Promise<IncompatibleHolder | null> {
  const identity = parseIdentity(await readIfThere(join(dir, "holder.json")));
  if (identity === null || identity.version === protocolVersion || identity.lab !== lab || !(await isLabs(identity))) return null;
  return {
    nodes: async () => {
      if (!(await lives(identity))) return null;
      return nodeProcesses(lab, identity.pid);
    },
    refusal: () =>
      new Failure(
        "host_error",
        `the lab was started by another release of Labwright (its holder, process ${identity.pid}, speaks protocol ${identity.version}, this ` +
          `service ${protocolVersion}): stop all its nodes, which keep their disks, and start them again; or use the release that started it`,
        { data: { host: { message: `protocol ${identity.version}`, pid: identity.pid } } },
      ),
    end: async () => {
      for (let pause = 1; await isLabs(identity); pause = Math.min(pause * 2, 20)) {
        kill(identity.pid);
        await delay(pause);
      }
    },
  };
}

/** Returns whether this process runs and belongs to this lab. Compares the start time too, because the kernel reuses pids. */
async function isLabs(identity: Identity): Promise<boolean> {
  if (!(await lives(identity))) return false;
  return (await readIfThere(`/proc/${identity.pid}/cmdline`)).split("\0").includes(`lab=${identity.lab}`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
