import type { HostRules, TemplateRules, ValueRule } from "../../engine/model/plan.ts";
import { defined } from "../../engine/shared/defined.ts";
import type { Feature, HostNetworkType, TemplateAttribute } from "../host.ts";
import { featureNames } from "../host.ts";
import type { MemoryTemplate } from "./memory-template.ts";

/** Capabilities of a host without packets: it stores and reports everything, and forwards nothing. */
export const memoryFeatures: Readonly<Record<Feature, boolean>> = Object.fromEntries(
  featureNames.map((name) => [
    name,
    [
      "linkQuality",
      "linkSuspend",
      "consoleStream",
      "consoleRun",
      "consoleLog",
      "nodeExec",
      "wipe",
      "hibernate",
      "gracefulStop",
      "hotPlug",
      "lock",
      "importLab",
      "jobs",
      "saveConfigs",
      "hostUsers",
    ].includes(name),
  ]),
) as Record<Feature, boolean>;

export const memoryNetworkTypes: readonly HostNetworkType[] = [
  { type: "bridge", description: "A network inside the lab", external: false, nat: false },
  { type: "nat", description: "The way out of a lab, which here leads nowhere", external: true, nat: true },
  { type: "vxlan", description: "A tunnel to another machine, which here leads nowhere", external: true, nat: false },
];

export function memoryRules(templates: readonly MemoryTemplate[], unsupportedFields: readonly string[]): HostRules {
  return {
    templates: templates.map(templateRules),
    networkTypes: memoryNetworkTypes.map(({ type }) => type),
    features: memoryFeatures,
    unsupportedFields,
  };
}

function valueRule({ type, options, min, max }: TemplateAttribute): ValueRule {
  return defined<ValueRule>({ type, options: options?.map(({ value }) => value), min, max });
}

function templateRules(template: MemoryTemplate): TemplateRules {
  const defaults = template.attributes.flatMap((one) => (one.default === undefined ? [] : [[one.name, one.default] as const]));
  return defined<TemplateRules>({
    id: template.id,
    type: template.type,
    image: template.images.find((image) => image.default)?.name,
    images: template.fields.image === "unsupported" ? undefined : template.images.map(({ name }) => name),
    icon: template.icon,
    cpu: template.cpu,
    ram: template.ram,
    attributes: Object.fromEntries(defaults),
    values: Object.fromEntries(template.attributes.map((one) => [`attributes.${one.name}`, valueRule(one)])),
    startupConfig: template.configSupported,
    fields: template.fields,
    why: undefined,
    links: template.links,
    ethFormat: template.ethFormat,
    maxInterfaces: template.maxInterfaces,
  });
}
