import { readFileSync } from "node:fs";
import { type KernelFeature, kernelFeatures } from "../../../engine/model/kernel-features.ts";
import type { TemplateLack } from "../../../engine/model/plan.ts";
import { refusedMeans, type TemplateNeed } from "../templates/container-template.ts";

/** The facts of the machine that decide about needs of templates. */
export interface MachineFacts {
  readonly kvm: boolean;
  readonly kernelLacks: readonly KernelFeature[];
  /** Returns the value of a setting, such as fs.inotify.max_user_instances; undefined if the machine has no such setting. */
  readonly setting: (name: string) => number | undefined;
  /** Flags of the processor; undefined if they are not known. */
  readonly cpuFlags: ReadonlySet<string> | undefined;
}

/** Returns what nodes of a template need and do not get on this machine. */
export function templateLacks(needs: readonly TemplateNeed[], machine: MachineFacts): readonly TemplateLack[] {
  return needs.flatMap(({ what, ...texts }) => {
    const missing = missingOf(what, machine);
    return missing === undefined ? [] : [{ what: missing, ...texts }];
  });
}

function missingOf(what: TemplateNeed["what"], { kvm, kernelLacks, setting, cpuFlags }: MachineFacts): string | undefined {
  if ("means" in what) return refusedMeans[what.means];
  if ("kvm" in what) return kvm ? undefined : "hardware virtualisation (/dev/kvm)";
  if ("kernel" in what) return kernelLacks.includes(what.kernel) ? `${kernelFeatures[what.kernel]} in the machine's kernel` : undefined;
  if ("cpu" in what) {
    const absent = cpuFlags === undefined ? [] : what.cpu.filter((flag) => !cpuFlags.has(flag));
    return absent.length === 0 ? undefined : `a processor with ${absent.join(", ")}`;
  }
  const value = setting(what.setting);
  return value === undefined || value >= what.min ? undefined : `${what.setting} of the machine of at least ${what.min}; it is ${value}`;
}

/** Reads the facts of this machine. */
export function machineFacts(kvm: boolean, kernelLacks: readonly KernelFeature[]): MachineFacts {
  const [, flags] = /^flags\s*: (.*)$/m.exec(textOf("/proc/cpuinfo") ?? "") ?? [];
  return {
    kvm,
    kernelLacks,
    setting: (name) => {
      const value = Number(textOf(`/proc/sys/${name.replaceAll(".", "/")}`) ?? Number.NaN);
      return Number.isFinite(value) ? value : undefined;
    },
    cpuFlags: flags === undefined ? undefined : new Set(flags.split(" ")),
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
