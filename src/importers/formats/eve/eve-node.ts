import type { Position } from "../../../intent/lab/lab.ts";
import { type Draft, positionOf } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import type { ReadOptions } from "../../reading/importer.ts";
import { base64Text } from "../../source/base64.ts";
import type { Part } from "../../tree/part.ts";
import { textKey } from "../../tree/xml-tree.ts";
import { integer } from "./networks.ts";

/** Models of network cards that a virtual machine here has too. */
const nics = ["virtio-net-pci", "e1000", "e1000e", "rtl8139", "vmxnet3", "ne2k_pci", "pcnet"];

const reasons: Readonly<Record<string, string>> = {
  "@uuid": "the host chooses it",
  "@firstmac": "the host chooses addresses of interfaces",
  "@console": "the template has a console",
  "@delay": "depends-on orders starts",
  "@cpulimit": "cpu limits a node",
  "@idlepc": "only Dynamips has it",
  "@nvram": "only IOS of Dynamips and IOL have it",
  "@qemu_options": "attributes of the template choose the options of QEMU",
  "@qemu_version": "the host has one version of QEMU",
  "@qemu_arch": "virtual machines have the machine's architecture",
  "@username": "accounts are not carried along",
  "@password": "accounts are not carried along",
};

export function readNode(draft: Draft, part: Part, config: Part | undefined, options: ReadOptions): DraftNode {
  const [name, type, template, image] = ["@name", "@type", "@template", "@image"].map((key) => part.get(key));
  const shown =
    (type?.text === "iol" || type?.text === "docker" || type?.text === "dynamips") && template?.text === undefined
      ? type.text
      : template?.text;
  const wanted = image?.text?.trim() === "" ? undefined : image?.text;
  const ofType = type?.text === "docker" ? "docker" : (shown ?? type?.text ?? "qemu");
  const node = draft.node(name?.text ?? "node", chooseTemplate(options, "eve", ofType, wanted), {
    name,
    type: template ?? type,
    image: wanted === undefined ? undefined : image,
  });
  if (template !== undefined) type?.mapped("the template names it");
  if (wanted === undefined) image?.dropped("empty");
  part.get("@id")?.mapped("the key of the node");
  readPlace(node, part);
  readSize(node, part, type?.text === "iol");
  const nic = part.get("@qemu_nic");
  if (node.machine !== undefined && nics.includes(nic?.text ?? "")) node.put("attributes", "nic", nic?.text, nic, "the attribute nic");
  for (const [key, reason] of Object.entries(reasons)) part.get(key)?.dropped(reason);
  readConfig(draft, node, config, part.get("@config"));
  return node;
}

function readPlace(node: DraftNode, part: Part): void {
  const [left, top, icon] = ["@left", "@top", "@icon"].map((key) => part.get(key));
  const position = placeOf(left, top);
  if (position !== undefined) node.set("position", { ...position });
  if (icon?.text !== undefined && /^[ -~]{1,255}$/.test(icon.text) && icon.text.trim() !== "") node.set("icon", icon.text, icon);
}

/** Returns a position in pixels. Old labs have percents of the drawing. */
export function placeOf(left: Part | undefined, top: Part | undefined): Position | undefined {
  const [x, y] = [left, top].map((part) => {
    const percent = /^\s*(-?\d+(?:\.\d+)?)%\s*$/.exec(part?.text ?? "")?.[1];
    return percent === undefined ? part?.number : Number(percent) * 10;
  });
  if (x === undefined || y === undefined) return undefined;
  for (const part of [left, top])
    if (part?.text?.includes("%")) part.mapped("percents of 1000 pixels");
    else part?.kept();
  return positionOf(x, y);
}

/** A stand-in takes what its template needs, not what another software needs. */
function readSize(node: DraftNode, part: Part, isIol: boolean): void {
  const [cpu, ram, ethernet, serial] = ["@cpu", "@ram", "@ethernet", "@serial"].map((key) => part.get(key));
  const size =
    node.machine !== undefined || node.template === "container"
      ? undefined
      : `nodes of template ${node.template} have the processors and memory that the template needs`;
  const cpus = cpu?.number;
  if (size !== undefined) for (const each of [cpu, ram]) each?.dropped(size);
  else {
    if (cpu !== undefined) node.set("cpu", cpus !== undefined && cpus > 0 && cpus <= 1024 ? cpus : undefined, cpu);
    const mebibytes = integer(ram);
    if (ram !== undefined)
      node.set("ram", mebibytes !== undefined && mebibytes > 0 && mebibytes <= 16 * 1024 * 1024 ? mebibytes : undefined, ram);
  }
  const count = (integer(ethernet) ?? 0) * (isIol ? 4 : 1);
  if (ethernet !== undefined) {
    const isPossible = count > 0 && count <= node.maxInterfaces && node.template !== "pc";
    if (isPossible) node.set("ethernet", count, ethernet, count === ethernet.number ? undefined : `${count} interfaces`);
    else ethernet.dropped(count === 0 ? "no number of interfaces" : `template ${node.template} has as many interfaces as its links need`);
  }
  serial?.dropped("a link of serial interfaces is an Ethernet link here");
}

function readConfig(draft: Draft, node: DraftNode, config: Part | undefined, chosen: Part | undefined): void {
  const data = config?.get(textKey);
  const text = data?.text === undefined ? undefined : base64Text(data.text);
  if (data === undefined || text === undefined || text.trim() === "") {
    data?.dropped("no text in base64");
    config?.get("@id")?.dropped("an empty configuration");
    chosen?.dropped("the node has no configuration");
    return;
  }
  config?.get("@id")?.mapped(`the configuration of ${node.key}`);
  chosen?.mapped(
    chosen.text === "0" ? "the configuration is carried along, although the source does not use it" : "the configuration of the file",
  );
  carryConfig(draft, node, text, data);
}
