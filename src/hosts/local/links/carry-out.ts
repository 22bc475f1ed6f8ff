import { succeeded } from "../machine/machine.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { FabricChange } from "./fabric-change.ts";

/** The parts of a change that the shaper does. */
export interface ShaperSteps {
  /** Runs when the shaper's ends exist, before frames are redirected into them. */
  readonly put: () => Promise<void>;
  /** Runs when no frame is redirected into the shaper's old ends any more. */
  readonly drop: () => Promise<void>;
}

type Runner = Pick<Sandbox, "run">;

/**
 * Makes the change in the kernel. Throws host_error if a command fails: the state of the fabric is then not known.
 * @param program path of labwright-shaper, which also sets redirects. tc does it if the program is missing or an older release. Only it prepares ports of
 * VLAN-aware switches.
 * @param shaper omitted if no link of the change is shaped
 */
export async function carryOut(sandbox: Runner, program: string, change: FabricChange, shaper?: ShaperSteps): Promise<void> {
  if (change.remove !== "") await removeDevices(sandbox, change.remove);
  await runBatch(sandbox, ["ip", "-batch", "-"], change.ip);
  if (change.frames !== "") await setFrames(sandbox, program, change.frames);
  await shaper?.put();
  await redirectPorts(sandbox, program, change);
  await runBatch(sandbox, ["ip", "-batch", "-"], change.late);
  await shaper?.drop();
  for (const { pid, name, mtu } of change.mtu) {
    const argv = ["nsenter", "-t", String(pid), "-n", "ip", "link", "set", "dev", name, "mtu", String(mtu)];
    succeeded(argv, await sandbox.run(argv));
  }
}

async function setFrames(sandbox: Runner, program: string, names: string): Promise<void> {
  const argv = [program, "frames"];
  succeeded(argv, await sandbox.run(argv, names));
}

/** The message of `ip` or `tc` for a device that does not exist. */
export const missingDevice = /Cannot find device|No such device|Failed to find .*device/;

/** The kernel removes the devices of a node that died, at any moment: a missing device is not a failure here. */
async function removeDevices(sandbox: Runner, text: string): Promise<void> {
  const argv = ["ip", "-force", "-batch", "-"];
  const result = await sandbox.run(argv, text);
  const serious = result.stderr.split("\n").filter((line) => !missingDevice.test(line) && !/^(Command failed|$)/.test(line));
  if (serious.length > 0) succeeded(argv, { ...result, stderr: serious.join("; ") });
}

/** Sets the redirects and brings new ports up. The shaper program is faster than tc, which first asks the kernel for the list of all devices. */
async function redirectPorts(sandbox: Runner, program: string, { redirects, tc, up }: FabricChange): Promise<void> {
  const done = redirects === "" || (await sandbox.run([program, "redirect"], redirects)).code === 0;
  if (done) return;
  await runBatch(sandbox, ["ip", "-batch", "-"], up);
  await runBatch(sandbox, ["tc", "-batch", "-"], tc);
}

/** Starts no process if there are no lines. */
async function runBatch(sandbox: Runner, argv: readonly string[], lines: string): Promise<void> {
  if (lines !== "") succeeded(argv, await sandbox.run(argv, lines));
}
