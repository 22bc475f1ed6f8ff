import type { Sandbox } from "../sandbox/sandbox.ts";
import type { FabricChange } from "./fabric.ts";
import { runBatch } from "./run-batch.ts";

/**
 * Carries out what of the change is about where ports lead, and lets the new ones come up. Throws host_error.
 * @param program labwright-shaper, which does it without the list of all devices that tc asks the kernel for; on a machine with netem it may be
 * missing, or older: tc does the same
 */
export async function redirectPorts(sandbox: Sandbox, program: string, { redirects, tc, up }: FabricChange): Promise<void> {
  const done = redirects === "" || (await sandbox.run([program, "redirect"], redirects)).code === 0;
  if (done) return;
  await runBatch(sandbox, ["ip", "-batch", "-"], up);
  await runBatch(sandbox, ["tc", "-batch", "-"], tc);
}
