import { idRange } from "../machine/idmap.ts";
import { runOnMachine } from "../machine/machine.ts";

/** Whether the tap takes packets as root of a user namespace only, which is what it is in a lab. @param tap the program, which need not be there */
export async function captureWorks(tap: string): Promise<boolean> {
  const nobody = ["setpriv", `--reuid=${idRange.base}`, `--regid=${idRange.base}`, "--clear-groups", "--no-new-privs"];
  const argv = [...(process.getuid?.() === 0 ? nobody : []), "unshare", "--user", "--map-root-user", "--net", tap, "probe", "port=lo"];
  return (await runOnMachine(argv)).code === 0;
}
