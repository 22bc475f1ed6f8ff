import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { idRange } from "../machine/idmap.ts";
import { supervisor } from "../templates/vm-template.ts";

/** The user id of the hypervisor inside a lab (native/supervisor/vm.h). */
const hypervisorUser = 1000;

/**
 * Returns whether hardware virtualisation works for labs: the processor supports it, and a guest of a few instructions runs, as the machine's user id
 * of hypervisors. Opening /dev/kvm is not enough: on some machines no guest runs. @param hypervisor the tree of the hypervisor's image
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
