import { idRange } from "../machine/idmap.ts";
import { probeMachine } from "../machine/probe-machine.ts";

/** Returns whether the tap can capture as root of a user namespace, as it does in a lab. @param tap path of the program, which may be missing */
export async function captureWorks(tap: string): Promise<boolean> {
  const nobody = ["setpriv", `--reuid=${idRange.base}`, `--regid=${idRange.base}`, "--clear-groups", "--no-new-privs"];
  const argv = [...(process.getuid?.() === 0 ? nobody : []), "unshare", "--user", "--map-root-user", "--net", tap, "probe", "port=lo"];
  return (await probeMachine(argv)).code === 0;
}
