import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { idRange } from "../machine/idmap.ts";
import { supervisor } from "../templates/vm-template.ts";

/** Whom the hypervisor runs as inside a lab (native/supervisor/vm.h). */
const hypervisorUser = 1000;

/**
 * Whether hardware virtualisation works for labs: the processor reports it, and a guest of a few instructions runs, as the user
 * that hypervisors have out here. A /dev/kvm that opens proves nothing: on some machines no guest ever runs.
 * @param hypervisor the tree of the hypervisor's image
 */
export async function kvmWorks(hypervisor: string): Promise<boolean> {
  const flags = /^flags\s*:.*\b(vmx|svm)\b/m;
  if (!flags.test(await readFile("/proc/cpuinfo", "utf8"))) return false;
  const id = idRange.base + hypervisorUser;
  const user = process.getuid?.() === 0 ? { uid: id, gid: id } : {};
  return new Promise((resolve) => {
    execFile(join(hypervisor, supervisor), ["probe-kvm"], { ...user, timeout: 10_000, killSignal: "SIGKILL", cwd: "/" }, (error) =>
      resolve(error === null),
    );
  });
}
