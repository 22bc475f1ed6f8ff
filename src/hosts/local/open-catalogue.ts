import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { KernelFeature } from "../../engine/model/kernel-features.ts";
import type { TunnelRules } from "../../engine/model/plan.ts";
import { type Feature, featureNames, type HostNetworkType } from "../host.ts";
import { type LocalImage, readImages } from "./images/images.ts";
import { findVmImages } from "./images/vm-images.ts";
import { managementWorks } from "./management/management.ts";
import { natWorks } from "./nat/nat.ts";
import { missingKernelFeatures } from "./own-kernel/kernel-features.ts";
import { machineFacts, templateLacks } from "./own-kernel/template-lacks.ts";
import type { ShapingMeans } from "./quality/quality-means.ts";
import type { ControlGroups } from "./resources/control-groups.ts";
import type { MachineMeans } from "./resources/lab-resources.ts";
import { keptLimits } from "./resources/node-limits.ts";
import type { Catalogue } from "./templates/catalogue.ts";
import { nodeLimits } from "./templates/node-needs.ts";
import { problemText } from "./templates/reading/read-template.ts";
import { builtinTemplates, loadTemplates, type TemplateMemory } from "./templates/reading/templates.ts";
import { hostTemplate, type LocalTemplate, templateRules } from "./templates/template.ts";
import { hypervisorImage } from "./templates/vm-template.ts";
import { type TunnelPolicy, tunnelRules } from "./tunnels/tunnel-policy.ts";
import { howToAllow } from "./tunnels/tunnel-refusal.ts";
import { kvmWorks } from "./vm/kvm.ts";

/** The template files of all catalogues of this process, so that a second host does not read Labwright's own again. */
const memory: TemplateMemory = new Map();

/**
 * Returns a function that reads the catalogue: the built-in templates, those of `<state>/templates`, and the images. It reads again after `freshMs`, and at once
 * when a file was added or removed. While nothing changes, it returns the same object.
 */
export function openCatalogue(options: {
  readonly state: string;
  readonly images: string;
  readonly vmImages: string;
  /** Whether this service lets nodes see paths of the machine. */
  readonly hasBinds: boolean;
  readonly shaping: Promise<ShapingMeans>;
  /** Whether packets can be captured. */
  readonly capture: Promise<boolean>;
  readonly tunnels?: TunnelPolicy | undefined;
  readonly means: Promise<MachineMeans>;
  readonly warn: (text: string) => void;
  readonly freshMs?: number;
}): () => Promise<Catalogue> {
  let current: { readonly until: number; readonly mark: string; readonly catalogue: Promise<Catalogue> } | undefined;
  const directories = [join(options.state, "templates"), options.images, options.vmImages];
  const warned = new Set<string>();
  const nat = natWorks();
  const management = managementWorks();
  let kvm: Promise<boolean> | undefined;
  const kernelLacks = missingKernelFeatures();
  let last: { readonly templates: readonly LocalTemplate[]; readonly rest: string; readonly catalogue: Catalogue } | undefined;

  async function load(): Promise<Catalogue> {
    const { templates, problems } = await loadTemplates([builtinTemplates, join(options.state, "templates")], memory);
    for (const problem of problems) {
      const text = problemText(problem);
      if (!warned.has(text)) options.warn(text);
      warned.add(text);
    }
    const { images: own, problems: damaged } = await readImages(options.images);
    const vm = await findVmImages(options.vmImages);
    for (const text of [...damaged, ...vm.problems]) {
      if (!warned.has(text)) options.warn(text);
      warned.add(text);
    }
    const hypervisor = own.find(({ name }) => name === hypervisorImage);
    if (hypervisor !== undefined) kvm ??= kvmWorks(hypervisor.rootfs);
    const images = [...own, ...vm.images.filter(({ name }) => !own.some((image) => image.vm !== undefined && image.name === name))];
    const means = await options.means;
    const works = {
      nat: await nat,
      management: await management,
      hasBinds: options.hasBinds,
      shaping: (await options.shaping) !== null,
      capture: await options.capture,
      kvm: (await kvm) ?? false,
      tunnels: await tunnelRules(options.tunnels),
    };
    const lacks = await kernelLacks;
    const rest = JSON.stringify([images, works, lacks]);
    const same = last?.rest === rest && sameTemplates(last.templates, templates);
    if (last === undefined || !same) last = { templates, rest, catalogue: catalogue(templates, images, { ...works, means, lacks }) };
    return last.catalogue;
  }

  return async () => {
    const mark = changeMark(directories);
    const now = performance.now();
    if (current === undefined || current.until < now || current.mark !== mark) {
      const loading = load();
      const entry = { until: now + (options.freshMs ?? 2000), mark, catalogue: loading };
      current = entry;
      // The callers that wait for this load get the failure. The next call loads again.
      loading.catch(() => {
        if (current === entry) current = undefined;
      });
    }
    return current.catalogue;
  };
}

/** Returns a text that changes when an entry is added to one of the directories or removed. Synchronous: some microseconds, and each change asks several times. */
function changeMark(directories: readonly string[]): string {
  return directories.map(timeOf).join(" ");
}

function timeOf(directory: string): number {
  try {
    return statSync(directory).mtimeMs;
  } catch {
    return 0; // a missing or unreadable directory is reported by load()
  }
}

/** Compares by identity: an unchanged file gives the same object. */
function sameTemplates(some: readonly LocalTemplate[], others: readonly LocalTemplate[]): boolean {
  return some.length === others.length && some.every((template, at) => template === others[at]);
}

function catalogue(
  templates: readonly LocalTemplate[],
  images: readonly LocalImage[],
  {
    nat,
    management,
    hasBinds,
    shaping,
    capture,
    kvm,
    tunnels,
    means,
    lacks,
  }: {
    readonly nat: boolean;
    readonly management: boolean;
    readonly hasBinds: boolean;
    readonly shaping: boolean;
    readonly capture: boolean;
    readonly kvm: boolean;
    readonly tunnels: TunnelRules | undefined;
    readonly means: MachineMeans;
    readonly lacks: readonly KernelFeature[];
  },
): Catalogue {
  const byId = new Map(templates.map((template) => [template.id, template]));
  const networkTypes: HostNetworkType[] = [
    { type: "bridge", description: "A learning bridge inside the lab", external: false, nat: false },
    ...(nat ? [{ type: "nat", description: "The way out through the machine's address, with DHCP", external: true, nat: true }] : []),
    ...(tunnels === undefined
      ? []
      : [{ type: "vxlan", description: "A tunnel to the network with the same VNI on another machine", external: true, nat: false }]),
  ];
  const works = new Set<Feature>([
    "consoleStream",
    "consoleRun",
    "consoleLog",
    "nodeExec",
    "switching",
    "keptDisks",
    "wipe",
    "gracefulStop",
    "hibernate",
    "hotPlug",
    "lock",
    "importLab",
    "linkSuspend",
    "resume",
    "saveConfigs",
    "hostLoad",
    "hostUsers",
    "userChanges",
    ...(nat ? (["nat"] as const) : []),
    ...(kvm ? (["kvm"] as const) : []),
    ...(shaping ? (["linkQuality"] as const) : []),
    ...(capture ? (["capture", "traffic"] as const) : []),
    ...limitFeatures(means.groups),
  ]);
  const features = Object.fromEntries(featureNames.map((name) => [name, works.has(name)])) as Record<Feature, boolean>;
  const { cpu, memory } = means.groups.why;
  const cannot = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { ram: memory }) };
  const facts = machineFacts(kvm, lacks);
  const rulesOf = (template: LocalTemplate) => {
    const missing = templateLacks(template.needs, facts);
    return {
      ...templateRules(template, images, template.backend === "namespace" ? cannot : {}),
      ...(missing.length > 0 && { lacks: missing }),
    };
  };
  const icons = new Set(templates.flatMap((template) => template.icon ?? []));
  return {
    template: (id) => byId.get(id),
    limits: (node) => {
      const template = byId.get(node.template);
      return template?.backend === "bridge" ? undefined : keptLimits(means.groups, nodeLimits(node, template));
    },
    images,
    templates: templates.map((template) => hostTemplate(template, images)),
    networkTypes,
    icons: [...icons].sort().map((name) => ({ name })),
    features,
    rules: {
      templates: templates.map(rulesOf),
      networkTypes: networkTypes.map(({ type }) => type),
      ...(tunnels === undefined ? { otherNetworkTypes: { vxlan: howToAllow } } : { tunnels }),
      features,
      kernelLacks: lacks,
      unsupportedFields: [...(management ? [] : managementFields), ...(hasBinds ? [] : ["binds"])],
      why: { ...Object.fromEntries(managementFields.map((field) => [field, noManagement])), binds: noBinds },
      cores: availableParallelism(),
    },
  };
}

/** Fields that need a management network. */
const managementFields = ["lab.management", "mgmtIpv4", "mgmtIpv6"];
const noManagement = "a management network needs a service that runs as root, and nftables";

const noBinds = "this service lets nodes see no paths of the machine: labwright serve --bind-allow DIRECTORY, as root";

function limitFeatures({ cpu, memory, pids, usage }: ControlGroups): readonly Feature[] {
  return [
    ...(cpu === undefined ? [] : (["cpuLimit"] as const)),
    ...(memory === undefined ? [] : (["memoryLimit"] as const)),
    ...(pids === undefined ? [] : (["processLimit"] as const)),
    ...(usage === undefined || memory === undefined ? [] : (["nodeLoad"] as const)),
  ];
}
