import { chmod, stat } from "node:fs/promises";
import { Failure } from "../../../contract/errors.ts";
import { ifThere } from "../../../files/if-there.ts";

const device = "/dev/net/tun";

/**
 * Labs must be able to open the device that creates interfaces of virtual machines. Opening it grants nothing without rights in a network namespace,
 * so Debian's udev allows it to everybody. On machines without udev, root does the same here. Throws host_error if the device is missing or closed.
 * @param effect what does not work without it
 */
export async function openTun(effect = "virtual machines have no interfaces here"): Promise<void> {
  const found = await ifThere(stat(device));
  if (found === undefined) throw lacking(effect, "is missing: load the kernel's module tun (in a container: let it have the device)");
  if ((found.mode & 0o006) === 0o006) return;
  if (process.getuid?.() !== 0) throw lacking(effect, "may not be opened by ordinary users: chmod 666 it, as udev does");
  await chmod(device, 0o666);
}

function lacking(effect: string, what: string): Failure {
  const message = `${effect}: ${device} ${what}`;
  return new Failure("host_error", message, { data: { host: { message } } });
}
