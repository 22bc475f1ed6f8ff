import { createHash } from "node:crypto";
import { join } from "node:path";
import { mergeFrr } from "../../../base/frr-merge.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { type NodeDisk, nodeDisk } from "../files/node-disk.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { hostname } from "./hostname.ts";

/** Digest of the configuration that the node applied at its last boot. Written by the boot script (setup/rootfs, boot-common). */
export const marker = "/var/lib/labwright/config.digest";

/** A comment with the digest of an intended configuration, and what FRR showed of it. Written by the boot script of routers, and by live changes. */
export const shownPath = "/var/lib/labwright/running.conf";

/** Returns the text for shownPath. */
export function shownFile(intended: string, shown: string): string {
  return `! ${digestOf(intended)}\n${shown}`;
}

/** Returns the content of shownPath, unless it is of another configuration than the intended one. */
export function shownFor(intended: string, content: string | undefined): string | undefined {
  return content?.startsWith(`! ${digestOf(intended)}\n`) === true ? content : undefined;
}

/**
 * Returns, by node id, the configurations that nodes saved by themselves (`write memory`) after they applied the intended one: they boot with these.
 * Omits nodes with a newer intended configuration, which the next boot applies instead, and those whose saved configuration means the intended one.
 */
export function savedConfigs(
  directory: string,
  definition: LabDefinition,
  template: (id: string) => LocalTemplate | undefined,
): ReadonlyMap<number, string> {
  const saved = new Map<number, string>();
  for (const node of definition.nodes) {
    const { savedConfig: path, configLanguage } = template(node.template) ?? {};
    if (path === undefined) continue;
    const disk = diskOf(directory, node.id);
    const taken = disk.read(marker)?.toString("latin1").trim();
    if (taken === undefined || taken !== digestOf(node.startupConfig ?? "")) continue;
    const bytes = disk.read(path);
    if (bytes === undefined || digestOf(bytes) === taken) continue;
    const text = plainText(bytes);
    const merged = text === undefined ? undefined : mergedConfig(node, text, disk.read(shownPath)?.toString(), configLanguage);
    if (merged !== undefined && merged !== node.startupConfig) saved.set(node.id, merged);
  }
  return saved;
}

/** Returns the configuration that the node saved last, `undefined` if there is none, or if an intent cannot contain it. */
export function savedText(directory: string, node: number, path: string): string | undefined {
  const bytes = diskOf(directory, node).read(path);
  return bytes === undefined ? undefined : plainText(bytes);
}

/** Merged configurations by the digest of both texts: each look at a lab needs them. */
const merges = new Map<string, string>();
const maxMerges = 1_000;

/** Returns the intended configuration with what the node has saved against it, in a language whose lines can be compared; otherwise the saved text. @param content of shownPath */
export function mergedConfig(
  { name, startupConfig = "" }: Pick<DefinedNode, "name" | "startupConfig">,
  saved: string,
  content: string | undefined,
  language: LocalTemplate["configLanguage"],
): string {
  if (language !== "frr") return saved;
  const shown = shownFor(startupConfig, content);
  const key = [name, digestOf(startupConfig), digestOf(saved), digestOf(shown ?? "")].join("\n");
  const merged = merges.get(key) ?? mergeFrr(startupConfig, saved, hostname(name), shown);
  merges.set(key, merged);
  if (merges.size > maxMerges) merges.delete(merges.keys().next().value!);
  return merged;
}

/**
 * Makes a stopped node apply its intended configuration at the next boot, even if the same one was applied before and the node has saved another since.
 * If the saved configuration is equal to it, the boot does not apply it, so that later saves of the node are kept.
 */
export function takeOverConfig(directory: string, node: DefinedNode, path: string): void {
  const disk = diskOf(directory, node.id);
  const wanted = digestOf(node.startupConfig ?? "");
  const bytes = disk.read(path);
  if (bytes !== undefined && digestOf(bytes) === wanted) {
    disk.rewrite(marker, `${wanted}\n`);
  } else disk.remove(marker);
}

function diskOf(directory: string, node: number): NodeDisk {
  return nodeDisk(join(directory, "nodes", String(node)));
}

function digestOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Returns `undefined` for content that is not a configuration file, or that YAML cannot contain. */
export function plainText(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids these characters
    return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text) ? undefined : text;
  } catch {
    // Bytes that are not UTF-8.
    return undefined;
  }
}
