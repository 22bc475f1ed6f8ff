import { ownValue } from "../tree/own-value.ts";
import { genericMachine, type MachineOf, type MachineTemplate } from "./machine-template.ts";
import { type Mapping, type Role, ruleFor, type TypeRule } from "./mapping.ts";

/** The images that are there, by template. */
export type AvailableImages = Readonly<Record<string, readonly string[]>>;

export type Substitute = "frr" | "linux";
export const substitutes = ["frr", "linux"] as const;

export interface ChoiceOptions {
  readonly mapping: Mapping;
  /** Absent: not known, so that no image is taken to be there. */
  readonly images?: AvailableImages;
  /** The templates of virtual machines, with names of interfaces of their own. Absent: the generic one alone is known. */
  readonly machineOf?: MachineOf;
  /** Stand-ins for nodes whose image is not there. */
  readonly substitute?: Substitute;
}

/** An image that a node would need. */
export interface MissingImage {
  readonly template: string;
  readonly image: string;
  /** The software, for people. */
  readonly vendor?: string;
  /** The file from which it is made, for people. */
  readonly file?: string;
}

export interface Choice {
  readonly rule: TypeRule | undefined;
  /** The template, or `network` with its type. */
  readonly template: string;
  readonly network?: "bridge" | "nat";
  readonly image?: string;
  /** Set for a virtual machine. */
  readonly machine?: MachineTemplate;
  /** Set for software in a container image that has a template of its own. */
  readonly kind?: MachineTemplate;
  /** Set if the node's own software is replaced by a stand-in. */
  readonly isStandIn: boolean;
  readonly missing?: MissingImage;
  /** The fate of the type, for the report. */
  readonly message: string;
}

const standIns: Readonly<Record<Substitute, Readonly<Record<Role, string>>>> = {
  frr: { router: "frr", switch: "switch", host: "linux" },
  linux: { router: "linux", switch: "switch", host: "linux" },
};

/** Chooses the template of a node by its type and image in the other tool. */
export function chooseTemplate(options: ChoiceOptions, tool: string, type: string, image: string | undefined): Choice {
  const rule = ruleFor(options.mapping, tool, type, image);
  const shown = rule?.vendor ?? type;
  if (rule?.network !== undefined)
    return { rule, template: "", network: rule.network, isStandIn: false, message: `${shown} is a network of type ${rule.network}` };
  const isPlainHost = image === undefined && rule?.template === "container" && rule.role === "host";
  const template = isPlainHost ? "linux" : (rule?.template ?? (image === undefined ? "linux" : "container"));
  const wanted = rule?.image === undefined ? image : rule.image.replace("{image}", image ?? "").trim();
  const known = template === genericMachine.id ? genericMachine : options.machineOf?.(template);
  const [machine, kind] = known?.isContainer === true ? [undefined, known] : [known, undefined];
  if (kind !== undefined && options.substitute === undefined && (wanted === undefined || wanted === ""))
    return { rule, template, kind, isStandIn: false, message: `${shown} is template ${template}` };
  if (known === undefined && template !== "container" && rule?.file === undefined) {
    const own = rule?.image === undefined ? undefined : wanted;
    const stands = rule === undefined ? ": no rule for this type" : "";
    return {
      rule,
      template,
      ...(own !== undefined && { image: own }),
      isStandIn: rule === undefined,
      message: `${shown} is template ${template}${stands}`,
    };
  }
  const name = wanted === undefined || wanted === "" ? type : wanted;
  const there = [...(ownValue(options.images, template) ?? []), ...(kind === undefined ? [] : (options.images?.["container"] ?? []))];
  const found = imageThatIs(there, name);
  const own = { rule, template, isStandIn: false, ...(machine !== undefined && { machine }), ...(kind !== undefined && { kind }) };
  if (found !== undefined) return { ...own, image: found, message: `${shown} is template ${template} with image ${found}` };
  if (machine !== undefined && machine.id !== genericMachine.id) {
    // A container that somebody made of the disk with vrnetlab.
    const packed = tool === "containerlab" && image !== undefined ? imageThatIs(options.images?.["vrnetlab"] ?? [], image) : undefined;
    if (packed !== undefined) {
      const ofContainers = options.machineOf?.("vrnetlab");
      return {
        rule: rule && { ...rule, attributes: { ...rule.attributes, kind: type } },
        template: "vrnetlab",
        ...(ofContainers !== undefined && { kind: ofContainers }),
        image: packed,
        isStandIn: false,
        message: `${shown} is template vrnetlab with image ${packed}`,
      };
    }
    const ofSoftware = ownValue(options.images, template) ?? [];
    const generic = imageThatIs(options.images?.[genericMachine.id] ?? [], name);
    if (generic !== undefined && ofSoftware.length === 0) {
      const message = `${shown} is template ${genericMachine.id} with image ${generic}, which was added without template ${template}`;
      return { ...own, template: genericMachine.id, machine: genericMachine, image: generic, message };
    }
    // The software counts, not its version.
    if (ofSoftware.length > 0)
      return { ...own, message: `${shown} is template ${template} with the first image of it that was added; ${name} is not there` };
  }
  const missing = {
    template,
    image: name,
    ...(rule?.vendor !== undefined && { vendor: rule.vendor }),
    ...(rule?.file !== undefined && { file: rule.file }),
  };
  const need = needText(missing, {
    isUnknown: options.images === undefined,
    type,
    isContainer: template === "container" || kind !== undefined,
  });
  if (options.substitute === undefined) {
    // A template of software takes any image of it.
    const image = machine === undefined || machine.id === genericMachine.id ? { image: name } : {};
    return { ...own, ...image, missing, message: `${shown} is template ${template}; ${need}` };
  }
  const standIn = standIns[options.substitute][rule?.role ?? "host"];
  return { rule, template: standIn, isStandIn: true, missing, message: `${shown} is replaced by template ${standIn}; ${need}` };
}

/** Names the file that an image is made from, and the command. */
function needText(
  { template, image, file }: MissingImage,
  { isUnknown, type, isContainer }: { readonly isUnknown: boolean; readonly type: string; readonly isContainer: boolean },
): string {
  const where = isUnknown ? "was not looked for" : "is not there";
  if (template === genericMachine.id && needsEmulator.test(type) && file?.endsWith(".qcow2") !== true)
    return `it needs ${image} and an emulator of its own, which Labwright does not have: --substitute chooses a stand-in`;
  if (isContainer && file === undefined)
    return `it needs the image ${image}, which ${where}: it is pulled from its registry before the first start`;
  const how = isContainer || template === genericMachine.id ? `: labwright image add FILE --name ${image}` : ": labwright image add FILE";
  return `it needs the image ${image}${file === undefined ? "" : `, made from ${file}`}, which ${where}${how}`;
}

/** Types whose images are not disks of virtual machines: Dynamips, also by the names of its platforms, and IOS on Linux or Unix. */
const needsEmulator = /^(?:dynamips|iou|iol|c(?:1710|26\d\d|36\d\d|37\d\d|7200)\b)/i;

/** Finds an image by its name, or by its name without the registry, the default tag or the suffix of a disk. */
export function imageThatIs(available: readonly string[], wanted: string): string | undefined {
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
  return (
    available.find((name) => same(name, wanted)) ??
    available.find((name) => same(plain(name), plain(wanted))) ??
    available.find((name) => same(lastPart(plain(name)), lastPart(plain(wanted))))
  );
}

function plain(name: string): string {
  return name
    .replace(/^docker:\/\//, "")
    .replace(/^(docker\.io|ghcr\.io|quay\.io|registry-1\.docker\.io)\//, "")
    .replace(/^library\//, "")
    .replace(/:latest$/, "")
    .replace(/\.(qcow2|img|vmdk)$/, "");
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
