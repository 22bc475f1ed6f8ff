import { release } from "node:os";
import { parseArgs } from "node:util";
import { type KernelFeature, kernelFeatures } from "../../../engine/model/kernel-features.ts";
import { findImages } from "../images/images.ts";
import { localPaths } from "../machine/paths.ts";
import { hypervisorImage, kernelImage } from "../templates/vm-template.ts";
import { kvmWorks } from "../vm/kvm.ts";
import { missingKernelFeatures } from "./kernel-features.ts";

const help = `Usage: labwright doctor [--format json]

Shows the parts of this machine's kernel that labs may need, and the next step for those that it does not have. Changes nothing, except that
the kernel loads modules that it has.`;

interface Report {
  readonly kernel: string;
  readonly features: readonly { readonly name: KernelFeature; readonly description: string; readonly available: boolean }[];
  /** Whether nodes can have a kernel of their own. */
  readonly own_kernel: boolean;
  /** Whether hardware virtualisation works. */
  readonly kvm: boolean;
}

async function examine(): Promise<Report> {
  const { images: directory } = localPaths(process.env, process.getuid?.() ?? 0);
  const images = await findImages(directory);
  const hypervisor = images.find(({ name }) => name === hypervisorImage);
  const missing = new Set(await missingKernelFeatures());
  return {
    kernel: release(),
    features: Object.entries(kernelFeatures).map(([name, description]) => ({
      name: name as KernelFeature,
      description,
      available: !missing.has(name as KernelFeature),
    })),
    own_kernel: hypervisor !== undefined && images.some(({ name }) => name === kernelImage),
    kvm: hypervisor !== undefined && (await kvmWorks(hypervisor.rootfs)),
  };
}

function show({ kernel, features, own_kernel, kvm }: Report): string {
  const rows = features.map(({ description, available }) => [description, available ? "yes" : "no"]);
  const tests = [
    ["nodes with kernel: own", own_kernel ? "yes" : "no"],
    ["hardware virtualisation", kvm ? "yes" : "no"],
  ];
  const width = Math.max(...[...rows, ...tests].map(([name = ""]) => name.length));
  const lines = [["KERNEL", kernel], ...rows, ...tests].map(([name = "", value]) => `${name.padEnd(width)}  ${value}`);
  const missing = features.some(({ available }) => !available);
  const advice = [
    ...(missing && own_kernel
      ? ["For a feature with no: write kernel: own at the nodes that need it, or load the module into this machine's kernel."]
      : []),
    ...(own_kernel ? [] : ["For nodes with kernel: own: run labwright setup, on an x86-64 machine."]),
    ...(kvm
      ? []
      : [
          "Without hardware virtualisation, nodes with kernel: own and virtual machines run on an emulated processor, several times slower.",
        ]),
  ];
  return [...lines, ...(advice.length === 0 ? [] : ["", ...advice])].join("\n");
}

try {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: { format: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) console.log(help);
  else if (values.format !== undefined && !["json", "table"].includes(values.format))
    throw new Error(`the format is table or json, not ${values.format}`);
  else {
    const report = await examine();
    console.log(values.format === "json" ? JSON.stringify(report, null, 2) : show(report));
  }
} catch (error) {
  console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
