import { basename, dirname } from "node:path";
import { matches } from "../../../base/names/wildcard.ts";
import type { LocalTemplate, TemplateSoftware } from "./template.ts";

/** Returns the template whose software has a file of this name: the one with the longest matching pattern. */
export function templateForFile(
  templates: readonly LocalTemplate[],
  backend: LocalTemplate["backend"],
  path: string,
): LocalTemplate | undefined {
  const name = tellingName(path);
  let best: { readonly template: LocalTemplate; readonly length: number } | undefined;
  for (const template of templates) {
    const length = template.backend === backend ? matchLength(template.software, name) : 0;
    if (length > (best?.length ?? 0)) best = { template, length };
  }
  return best?.template;
}

/** Returns the number of characters of the longest pattern of the software that matches a name; 0: none does. */
export function matchLength(software: TemplateSoftware | undefined, name: string): number {
  const fitting = (software?.files ?? []).filter((pattern) => matches(bare(pattern), bare(name)));
  return Math.max(0, ...fitting.map((pattern) => pattern.replaceAll("*", "").length));
}

/** Names of disks in the folders of EVE-NG, which are the same for all software. */
const eveDisk = /^(?:virtio|hd|sata|scsi|lsi|megasas|nvme)[a-z]$|^cdrom$/i;

/** Returns the name of an image that is made from a file: its name without its kind, or the name of its folder for a disk of EVE-NG. */
export function imageNameOf(path: string): string {
  return tellingName(path)
    .replace(/[^A-Za-z0-9._+-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|-+$/g, "")
    .slice(0, 100);
}

/** Returns the name under which the software of a file may be known, without its kind. */
function tellingName(path: string): string {
  const own = bare(basename(path));
  return eveDisk.test(own) ? basename(dirname(path)) : own;
}

function bare(name: string): string {
  return name.replace(/\.(gz|xz|zst)$/i, "").replace(/\.(qcow2?|vmdk|ova|iso|img|raw|bin)$/i, "");
}

/** Returns which file an image of this software is made from, and where it comes from. */
export function softwareText({ name, files, source, license }: TemplateSoftware): string {
  const paid = license === undefined ? "" : `, which needs ${license}`;
  return `the file ${files[0]} of ${name} from ${source}${paid}`;
}
