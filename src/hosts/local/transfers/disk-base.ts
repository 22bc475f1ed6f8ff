import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { LocalImage } from "../images/images.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { type LocalTemplate, nodeImage } from "../templates/template.ts";
import { kernelImage } from "../templates/vm-template.ts";

/** The image below a node's disk. */
export interface DiskBase {
  readonly kind: "files" | "machine";
  /** SHA-256 over the digests of the files below the overlays, or the digest of the image. */
  readonly base: string;
  readonly image: LocalImage;
  /** The files below a virtual machine's overlays, by index, with the names that the overlays have for them. */
  readonly backing: readonly { readonly file: string; readonly format: "qcow2" | "raw" }[];
}

/** The disk of a node with a kernel of its own, in the kernel's image (own-kernel-spawn.ts). */
const ownKernelBacking = { file: "guest/disk.raw", format: "raw" } as const;

/** Digests of files by path, inode, size and time of change: an image's files are large and never change. */
const digests = new Map<string, string>();

export interface NodeOnImage {
  readonly name: string;
  readonly template: string;
  readonly image?: string | undefined;
  readonly kernel?: "own" | undefined;
}

/** Returns the base of a node's disk; undefined for a node without a disk. Throws template_not_found, and bad_request if the image is not on this host. */
export async function diskBase(node: NodeOnImage, catalogue: Catalogue): Promise<DiskBase | undefined> {
  const template = catalogue.template(node.template);
  if (template === undefined) throw new Failure("template_not_found", `node ${node.name}: this host has no template ${node.template}`);
  if (template.backend === "bridge") return undefined;
  const image = imageOf(node, template, catalogue);
  if (template.backend === "vm") {
    const backing = image.vm?.disks ?? [];
    return { kind: "machine", base: await digestOf(backing.map(({ file }) => join(image.rootfs, file))), image, backing };
  }
  if (node.kernel !== "own") return { kind: "files", base: image.digest, image, backing: [] };
  const kernel = catalogue.images.find(({ name }) => name === kernelImage);
  if (kernel === undefined) throw missing(node.name, "this host has no kernel for nodes: labwright setup builds it");
  const below = await digestOf([join(kernel.rootfs, ownKernelBacking.file)]);
  return { kind: "machine", base: `${below}-${image.digest}`, image, backing: [ownKernelBacking] };
}

function imageOf(node: NodeOnImage, template: LocalTemplate, { images }: Catalogue): LocalImage {
  const image = nodeImage(template, images, node.image);
  if (image !== undefined) return image;
  const name = node.image ?? template.images[0];
  throw missing(
    node.name,
    name === undefined
      ? `template ${node.template} has no image on this host: labwright image add FILE`
      : `image ${name} is not on this host: labwright image add FILE, or labwright image pull`,
  );
}

function missing(node: string, problem: string): Failure {
  return new Failure("bad_request", `node ${node}: ${problem}`, { data: { problems: [{ path: "/disks", message: problem }] } });
}

async function digestOf(files: readonly string[]): Promise<string> {
  const all: string[] = [];
  for (const file of files) all.push(await fileDigest(file));
  return createHash("sha256").update(all.join("\n")).digest("hex");
}

/** Returns the SHA-256 of a file of an image, hex. */
export async function fileDigest(file: string): Promise<string> {
  const { ino, size, mtimeMs, ctimeMs } = await stat(file);
  const key = [file, ino, size, mtimeMs, ctimeMs].join(" ");
  const known = digests.get(key);
  if (known !== undefined) return known;
  const argv = ["nice", "-n", "10", "sha256sum", "--binary", "--", file];
  const digest = succeeded(argv, await runOnMachine(argv))
    .stdout.replace(/^\\/, "")
    .slice(0, 64);
  digests.set(key, digest);
  return digest;
}
