import type { FieldRule, TemplateRules, ValueRule } from "../../../engine/model/plan.ts";
import type { LabNode } from "../../../intent/lab/lab.ts";
import type { HostTemplate, TemplateAttribute } from "../../host.ts";
import type { LocalImage } from "../images/images.ts";
import type { ContainerTemplate, TemplateNeed } from "./container-template.ts";
import { declaredFiles, ownerCommands } from "./declared-files.ts";
import { nodeNeed } from "./node-needs.ts";
import { matchLength, softwareText } from "./software.ts";
import { hypervisorImage, kernelImage, maxShareOfMachine, ownKernelInterfaces, ownKernelMinRam, type VmTemplate } from "./vm-template.ts";

/** One template file, read and checked. docs/templates.md explains each key. */
export interface ReadyCheck {
  readonly argv: readonly string[];
  /** Names of daemons that must go on running for the node to stay ready. */
  readonly daemons?: readonly string[];
  /** The program in the node that starts an ended daemon, with the daemon's name as its argument; for people. */
  readonly restart?: string;
}

export interface LocalTemplate {
  readonly id: string;
  /** Other ids of the same template, such as the short names of containerlab's kinds. */
  readonly also: readonly string[];
  /** Present if `id` is an alias: the id of the template itself. */
  readonly sameAs?: string;
  readonly description: string;
  /** linux, router, switch, pc. */
  readonly type: string;
  /**
   * namespace: a node of the lab's sandbox with its own root. container: the same with an image from a container archive, which defines its process.
   * vm: a virtual machine. bridge: a bridge in the fabric, without a process.
   */
  readonly backend: "namespace" | "container" | "vm" | "bridge";
  readonly icon?: string;
  /** Names of its images, the default first. Empty for a bridge. Empty for a container or vm: all images of this host, without a default. */
  readonly images: readonly string[];
  /** The image of containers that name none. A container may name any image. */
  readonly usualImage?: string;
  /** Parts of the names of images that are offered for it, in lower case; empty: all. */
  readonly imageNames: readonly string[];
  /** The origin of its image, for people. */
  readonly imageSource?: string;
  /** "eth{0}": {0} is the index, counted from 0. The names inside the node, then other names that links may use (interface-names.ts). */
  readonly ethFormat: string;
  readonly maxInterfaces: number;
  /** Interfaces of a node whose intent has no number and fewer links. Absent: 0. */
  readonly ethernet?: number;
  /** Only of a namespace. */
  readonly boot: readonly string[];
  readonly console: {
    readonly type: "telnet" | "serial" | "none";
    /** The program on the node's terminal. Empty for a container whose process is on it. */
    readonly argv: readonly string[];
    /** Regular expression that matches the prompt's line. */
    readonly prompt?: string;
    /** The account for consoles that ask for a login. */
    readonly login?: { readonly username: string; readonly password?: string };
    /** Regular expression for the line at which its pager waits, and the key that continues. */
    readonly pager?: { readonly pattern: string; readonly key: string };
  };
  /** A program in the node: exit code 0 means ready, 1 not yet. Absent: a node is ready when it has booted. */
  readonly ready?: ReadyCheck;
  /** The hardware of the virtual machine; present for a vm. */
  readonly vm?: VmTemplate;
  /** How a container starts, if not only by its image. */
  readonly container?: ContainerTemplate;
  readonly needs: readonly TemplateNeed[];
  /** Default resources of a node: ram and disk in MiB. Absent: the defaults of node-needs.ts. */
  readonly limits?: { readonly ram?: number; readonly processes?: number; readonly disk?: number };
  /** Expected memory of a node in MiB, if its intent has none. */
  readonly need?: number;
  /** Which system calls its nodes may make (native/holder/calls.c); absent: usual. */
  readonly systemCalls?: "usual" | "wide";
  readonly startupConfig: boolean;
  /** The language of the startup configuration; frr: vtysh of the node's image checks it. Absent: it is not checked. */
  readonly configLanguage?: "frr";
  /** The file inside the node in which it saves its configuration, in the form of a startup configuration. */
  readonly savedConfig?: string;
  /** The way to make a running node write savedConfig: a program inside the node, or a command on its console. Or a program whose output is the configuration. */
  readonly save?: { readonly argv: readonly string[] } | { readonly console: string } | { readonly print: readonly string[] };
  readonly attributes: readonly LocalAttribute[];
  readonly fields: Readonly<Partial<Record<TemplateField, FieldRule>>>;
  /** The reason why a field is "unsupported", for people. */
  readonly reasons: Readonly<Partial<Record<TemplateField, string>>>;
  readonly links: "live" | "restart" | "recreate";
  /** The software of its images, which users get from elsewhere. */
  readonly software?: TemplateSoftware;
  /** The template from which it has what its file omits. */
  readonly extends?: string;
  /** The file it was read from. */
  readonly file: string;
}

/** The software that runs in the nodes of a template, and the files that it comes in. */
export interface TemplateSoftware {
  /** For people: "Cisco IOSv". */
  readonly name: string;
  /** Names of the files, without regard to case; `*` is any text. The first is shown to people. */
  readonly files: readonly string[];
  /** For people: where the file comes from. */
  readonly source: string;
  /** For people: the licence that it needs. Absent: it is free. */
  readonly license?: string;
}

export interface LocalAttribute extends TemplateAttribute {
  /** For a string that is a list: the valid words. They are not in the catalogue, but in the description. */
  readonly words?: readonly string[];
}

/** The image with Open vSwitch, in which VLAN-aware switches run. */
export const switchingImage = "openvswitch";

/** The fields of a node that a template has a rule for. */
export const templateFields = [
  "name",
  "image",
  "icon",
  "startupConfig",
  "exec",
  "cpu",
  "ram",
  "ethernet",
  "position",
  "env",
  "attributes",
  "labels",
] as const satisfies readonly (keyof LabNode)[];
export type TemplateField = (typeof templateFields)[number];

/** Returns the template for the catalogue. `images` are the images of this host. */
export function hostTemplate(template: LocalTemplate, images: readonly LocalImage[]): HostTemplate {
  const there = imagesOf(template, images).filter(({ name }) => fits(template, name));
  const usual = defaultImage(template, images);
  return {
    id: template.id,
    ...(template.sameAs === undefined ? {} : { sameAs: template.sameAs }),
    ...(imageSourceOf(template) === undefined ? {} : { imageSource: imageSourceOf(template)! }),
    description: template.description,
    type: template.type,
    provisioned: template.backend === "bridge" || there.length > 0,
    ...(template.icon === undefined ? {} : { icon: template.icon }),
    configSupported: template.startupConfig,
    images: there.map((image) => ({
      name: image.name,
      default: image.name === usual,
      size_bytes: image.size,
      modified_at: image.modified,
    })),
    attributes: template.attributes.map(({ words: _words, ...attribute }) => attribute),
    ethFormat: template.ethFormat,
    consoleType: template.console.type,
    ...(template.console.prompt === undefined ? {} : { prompt: template.console.prompt }),
    ...(template.console.login === undefined ? {} : { login: template.console.login }),
    ...(template.console.pager === undefined ? {} : { pager: template.console.pager }),
    ...(template.save !== undefined && "console" in template.save && { saveCommand: template.save.console }),
  };
}

/**
 * Returns the template for the engine. `images` are the images of this host; `cannot` explains why the machine cannot limit a namespace node's cpu or
 * ram.
 */
export function templateRules(
  template: LocalTemplate,
  images: readonly LocalImage[],
  cannot: Readonly<Partial<Record<"cpu" | "ram", string>>> = {},
): TemplateRules {
  const absent = (["cpu", "ram"] as const).filter((name) => cannot[name] !== undefined && template.fields[name] !== "unsupported");
  const unsupported = Object.fromEntries(absent.map((name) => [name, "unsupported" as const]));
  const reasons = Object.fromEntries(absent.map((name) => [name, `this machine cannot limit it: ${cannot[name]}`]));
  const there = imagesOf(template, images).map(({ name }) => name);
  const usual = defaultImage(template, images);
  const defaults = template.attributes.flatMap((a) => (a.default === undefined ? [] : [[a.name, a.default] as const]));
  return {
    id: template.id,
    type: template.type,
    ...(usual !== undefined && { image: usual }),
    ...(template.software !== undefined && { needs: softwareText(template.software) }),
    ...(template.backend === "container" && template.imageNames[0] !== undefined && { imageName: `${template.imageNames[0]}:VERSION` }),
    ...(template.imageSource === undefined ? {} : { imageSource: template.imageSource }),
    ...(template.backend === "bridge" ? {} : { images: there }),
    ...(template.icon === undefined ? {} : { icon: template.icon }),
    ...(template.vm === undefined ? {} : { cpu: template.vm.cpu, ram: template.vm.ram }),
    ...(template.backend === "bridge" ? {} : { need: nodeNeed({}, template) }),
    attributes: Object.fromEntries(defaults),
    values: valueRules(template),
    startupConfig: template.startupConfig,
    ...(template.configLanguage === undefined ? {} : { configLanguage: template.configLanguage }),
    fields: {
      ...template.fields,
      ...unsupported,
      ...sshRule(template).fields,
      ...hostRule(template.backend, images).fields,
      ...kernelRule(template, images).fields,
    } as Readonly<Record<string, FieldRule>>,
    why: {
      ...template.reasons,
      ...reasons,
      ...sshRule(template).why,
      ...hostRule(template.backend, images).why,
      ...kernelRule(template, images).why,
    } as Readonly<Record<string, string>>,
    ...(template.backend === "vm" && { portsNeedManagement: true as const }),
    links: template.links,
    ethFormat: template.ethFormat,
    maxInterfaces: template.maxInterfaces,
    ...(template.ethernet !== undefined && { ethernet: template.ethernet }),
    ...(noOwnKernel(template, images) === undefined && { ownKernel: { maxInterfaces: ownKernelInterfaces, minRam: ownKernelMinRam } }),
  };
}

/** Returns whether nodes may have a kernel of their own. With another kernel a node has another disk, so it is created again. */
function kernelRule(
  template: LocalTemplate,
  images: readonly LocalImage[],
): {
  readonly fields: { readonly kernel: FieldRule };
  readonly why: Readonly<Record<string, string>>;
} {
  const why = noOwnKernel(template, images);
  return why === undefined ? { fields: { kernel: "recreate" }, why: {} } : { fields: { kernel: "unsupported" }, why: { kernel: why } };
}

function noOwnKernel(template: LocalTemplate, images: readonly LocalImage[]): string | undefined {
  if (template.backend === "vm") return "a virtual machine always has its own kernel";
  if (template.backend !== "namespace") return `a ${template.backend === "bridge" ? "switch" : "container"} uses the machine's kernel`;
  if (template.ethFormat !== "eth{0}") return "its interfaces must be named eth0, eth1 and so on";
  const missing = [kernelImage, hypervisorImage].some((name) => !images.some((image) => image.name === name));
  return missing ? "this host has no kernel for nodes: labwright setup builds it, on x86-64 machines" : undefined;
}

/** Returns whether nodes take public keys: their boot starts an SSH server, or cloud-init of their guest gets the keys. */
function sshRule({ id, backend, vm }: LocalTemplate): {
  readonly fields: { readonly sshKeys: FieldRule };
  readonly why: Readonly<Record<string, string>>;
} {
  const why = {
    container: "a container has the programs of its image; start its SSH server there",
    vm: `the guests of template ${id} have no cloud-init, which would take the keys`,
    bridge: "a switch has no SSH server",
  };
  const hasCloudInit = Object.values(vm?.configDrive?.files ?? {}).includes("identity-keys");
  if (backend === "namespace" || hasCloudInit) return { fields: { sshKeys: "restart" }, why: {} };
  return { fields: { sshKeys: "unsupported" }, why: { sshKeys: why[backend] } };
}

/** Returns how nodes take `files`, `binds`, `switching`, `ports`, `mgmt-ipv4` and `mgmt-ipv6`: the same for all templates of a backend. */
function hostRule(
  backend: LocalTemplate["backend"],
  images: readonly LocalImage[],
): {
  readonly fields: Readonly<Record<"files" | "binds" | "switching" | "ports" | "mgmtIpv4" | "mgmtIpv6", FieldRule>>;
  readonly why: Readonly<Record<string, string>>;
} {
  const noFiles = { vm: "a virtual machine gets its files from its own image and cloud-init", bridge: "a switch has no files" };
  const noSwitching = "only a node of template switch has it; inside other nodes, configure VLANs with their own commands";
  const noAddresses = "a switch has no addresses";
  if (backend === "bridge") {
    const isBuilt = images.some(({ name }) => name === switchingImage);
    const noImage = `it needs the image ${switchingImage}, which is not on this host: labwright setup builds it`;
    return {
      fields: {
        files: "unsupported",
        binds: "unsupported",
        switching: isBuilt ? "live" : "unsupported",
        ports: "unsupported",
        mgmtIpv4: "unsupported",
        mgmtIpv6: "unsupported",
      },
      why: {
        files: noFiles.bridge,
        binds: noFiles.bridge,
        ports: noAddresses,
        mgmtIpv4: noAddresses,
        mgmtIpv6: noAddresses,
        ...(!isBuilt && { switching: noImage }),
      },
    };
  }
  if (backend !== "vm")
    return {
      fields: { files: "live", binds: "restart", switching: "unsupported", ports: "live", mgmtIpv4: "live", mgmtIpv6: "live" },
      why: { switching: noSwitching },
    };
  const why = {
    files: noFiles.vm,
    binds: noFiles.vm,
    switching: noSwitching,
  };
  return {
    fields: {
      files: "unsupported",
      binds: "unsupported",
      switching: "unsupported",
      ports: "live",
      // The guest asks for its IPv4 address again and again, but reads the IPv6 address at its boot.
      mgmtIpv4: "live",
      mgmtIpv6: "restart",
    },
    why,
  };
}

function valueRules({ vm, attributes }: LocalTemplate): Readonly<Record<string, ValueRule>> {
  const machine = (["cpu", "ram"] as const).map(
    (name) => [name, { type: "integer", min: 1, max: maxShareOfMachine[name] } as const] as const,
  );
  const own = attributes.map(({ name, type, options, words, default: usual, min, max }) => {
    const rule: ValueRule = {
      type,
      ...(options === undefined ? {} : { options: options.map(({ value }) => value) }),
      ...(words === undefined ? {} : { words, ...(typeof usual === "string" && { usual }) }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
    };
    return [`attributes.${name}`, rule] as const;
  });
  return Object.fromEntries<ValueRule>([...(vm === undefined ? [] : machine), ...own]);
}

/**
 * Returns a node's image: `wanted` by name, or the template's default if `wanted` is absent or "default". `undefined` if the template does not run
 * it, or if it is not on this host.
 */
export function nodeImage(template: LocalTemplate, images: readonly LocalImage[], wanted: string | undefined): LocalImage | undefined {
  const name = wanted === undefined || wanted === "default" ? defaultImage(template, images) : wanted;
  return imagesOf(template, images).find((image) => image.name === name);
}

/**
 * Returns the image of nodes whose intent has none: the first of the template, or the one that was added first for its software. A later one would make all nodes
 * of this template again.
 */
function defaultImage(template: LocalTemplate, images: readonly LocalImage[]): string | undefined {
  if (template.usualImage !== undefined) return template.usualImage;
  if (template.images.length > 0 || template.software === undefined || template.backend !== "vm") return template.images[0];
  const order = (one: LocalImage, other: LocalImage) => (`${one.modified} ${one.name}` < `${other.modified} ${other.name}` ? -1 : 1);
  return imagesOf(template, images).toSorted(order)[0]?.name;
}

/** Returns whether the image is offered for the template: a node may name any other of its backend. */
function fits(template: LocalTemplate, name: string): boolean {
  if (template.imageNames.length === 0 || name === template.usualImage) return true;
  return template.imageNames.some((part) => name.toLowerCase().includes(part));
}

/** Returns the origin of the template's images, for people. */
function imageSourceOf({ imageSource, software }: LocalTemplate): string | undefined {
  return imageSource ?? (software && softwareText(software));
}

/** Returns the template's images that exist on this host, in the template's order. */
function imagesOf(template: LocalTemplate, images: readonly LocalImage[]): readonly LocalImage[] {
  const suited = images.filter((image) => backendOf(image) === template.backend);
  if (template.images.length === 0) return suited.filter((image) => isFor(image, template));
  return template.images.flatMap((name) => suited.filter((image) => image.name === name));
}

/** Returns whether a template without a list of images runs this one. A template of software runs the images of its software. */
function isFor({ name, vm }: LocalImage, { id, backend, software }: LocalTemplate): boolean {
  if (software === undefined || backend !== "vm") return true;
  return vm?.template === undefined ? matchLength(software, name) > 0 : vm.template === id;
}

/** Returns the backend that runs nodes with this image. */
function backendOf(image: LocalImage): LocalTemplate["backend"] {
  if (image.vm !== undefined) return "vm";
  return image.container === undefined ? "namespace" : "container";
}

/** Written first: creates the target directory of the link /etc/labwright in our images, which is not on the node's disk. */
export function nameFile(name: string): { readonly path: string; readonly mode: number; readonly text: string } {
  return { path: "/run/labwright/node", mode: 0o644, text: `${name}\n` };
}

const startSsh = "/usr/lib/labwright/ssh-start";

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join("");
}

/**
 * Returns the files that the boot scripts of our images read. Written at every boot, also empty ones: a stale file from an earlier boot would be run
 * again. docs/templates.md defines the contract.
 */
export function bootFiles(node: LabNode): readonly { readonly path: string; readonly mode: number; readonly text: string }[] {
  return [
    nameFile(node.name),
    { path: "/etc/labwright/startup-config", mode: 0o640, text: node.startupConfig ?? "" },
    {
      path: "/etc/labwright/exec",
      mode: 0o640,
      text: [...(node.sshKeys === undefined ? [] : [startSsh]), ...ownerCommands(node.files), ...node.exec]
        .map((command) => `${execLine(command)}\n`)
        .join(""),
    },
    ...(node.sshKeys === undefined ? [] : [{ path: "/root/.ssh/authorized_keys", mode: 0o600, text: lines(node.sshKeys) }]),
    ...declaredFiles(node.files),
  ];
}

/** Returns the node's env, LABWRIGHT_NODE (its name), and LABWRIGHT_<ATTRIBUTE> for each attribute, including defaults. A boolean is "true" or "false". */
export function bootEnv(template: LocalTemplate, node: LabNode): Readonly<Record<string, string>> {
  const env: Record<string, string> = { ...node.env, LABWRIGHT_NODE: node.name };
  for (const attribute of template.attributes) {
    const value = node.attributes[attribute.name] ?? attribute.default;
    if (value !== undefined) env[`LABWRIGHT_${attribute.name.toUpperCase().replaceAll("-", "_")}`] = String(value);
  }
  return env;
}

/** Encodes a command as one line: a backslash is doubled, a line break becomes \n. The boot script decodes it with printf %b. */
function execLine(command: string): string {
  return command.trim().replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
