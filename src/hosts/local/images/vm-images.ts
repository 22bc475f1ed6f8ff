import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { compareNatural } from "../../../base/natural-order.ts";
import type { LocalImage } from "./images.ts";

/** The files of a virtual machine's image, in one directory, by name. */
export interface VmImage {
  readonly disks: readonly { readonly file: string; readonly format: "qcow2" | "raw" }[];
  readonly cdroms: readonly string[];
  readonly kernel?: string;
  readonly initrd?: string;
  readonly commandLine?: string;
  /** The template that it was added for. Absent: somebody else made the directory. */
  readonly template?: string;
  /** Names of the files that it was added from. */
  readonly from?: string;
}

export interface FoundVmImages {
  /** Sorted by name. */
  readonly images: readonly LocalImage[];
  /** Why a directory gave no image, for people. */
  readonly problems: readonly string[];
}

/** Every directory of `directory` is an image of its name. None if it does not exist. */
export async function findVmImages(directory: string): Promise<FoundVmImages> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const images: LocalImage[] = [];
  const problems: string[] = [];
  for (const entry of entries.sort((a, b) => compareNatural(a.name, b.name))) {
    const path = join(directory, entry.name);
    if (entry.name.startsWith(".") || !entry.isDirectory()) continue;
    try {
      if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/.test(entry.name))
        throw new Error("its name has other characters than letters, digits, . _ + -");
      const { vm, description, size, modified } = await readVmImage(path);
      images.push({ name: entry.name, description, rootfs: path, layers: [path], size, modified, digest: "", vm });
    } catch (error) {
      problems.push(`${path} is not an image of a virtual machine: ${(error as Error).message}`);
    }
  }
  return { images, problems };
}

/**
 * Disks are files that end in .qcow2, .raw or .img, in the order of their names; their format is read from their first bytes. Files that end in .iso are put
 * in as CDs. image.yaml may add properties. Throws Error with the problem.
 */
export async function readVmImage(
  directory: string,
): Promise<{ readonly vm: VmImage; readonly description: string; readonly size: number; readonly modified: string }> {
  const root = process.getuid?.() === 0;
  const disks: { file: string; format: "qcow2" | "raw" }[] = [];
  const cdroms: string[] = [];
  const files = new Set<string>();
  let size = 0;
  let modified = 0;
  const readable = (name: string, mode: number, bits: number) => {
    // Labs have ids of their own.
    if (root && (mode & bits) !== bits) throw new Error(`nodes may not read ${name}: chmod ${bits === 5 ? "755" : "644"} it`);
  };
  readable("it", (await stat(directory)).mode, 5);
  for (const entry of (await readdir(directory)).sort(compareNatural)) {
    const found = await stat(join(directory, entry));
    // It becomes a part of the node's root, in which a directory could hide the hypervisor's own files.
    if (!found.isFile()) throw new Error(`${entry} is not a file`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(entry))
      throw new Error(`the name of ${JSON.stringify(entry)} has other characters than letters, digits, . _ + -`);
    readable(entry, found.mode, 4);
    files.add(entry);
    size += Math.min(found.size, found.blocks * 512);
    modified = Math.max(modified, found.mtimeMs);
    if (/\.(qcow2|raw|img)$/.test(entry)) disks.push({ file: entry, format: await formatOf(join(directory, entry)) });
    if (/\.iso$/.test(entry)) cdroms.push(entry);
  }
  const words: ImageWords = files.has("image.yaml")
    ? imageWords(await readFile(join(directory, "image.yaml"), "utf8"), files)
    : { description: "", vm: {} };
  if (disks.length === 0 && cdroms.length === 0 && words.vm.kernel === undefined) {
    throw new Error("it has no .qcow2, .raw, .img or .iso file");
  }
  if (disks.length > 3 || cdroms.length > 1) throw new Error("it has more than three disks, or more than one CD");
  return {
    vm: { disks, cdroms, ...words.vm },
    description: words.description,
    size,
    modified: words.added ?? new Date(modified).toISOString(),
  };
}

interface ImageWords {
  readonly description: string;
  readonly vm: Partial<VmImage>;
  readonly added?: string;
}

function imageWords(text: string, files: ReadonlySet<string>): ImageWords {
  const document = parseDocument(text, { uniqueKeys: true, stringKeys: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw new Error(`image.yaml: ${problem.message.split("\n")[0]}`);
  const value: unknown = document.toJS({ maxAliasCount: 10 }) ?? {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("image.yaml is not a map");
  const known = ["description", "template", "kernel", "initrd", "command-line", "added", "from"];
  for (const [key, word] of Object.entries(value)) {
    if (!known.includes(key)) throw new Error(`image.yaml: ${key} is none of ${known.join(", ")}`);
    if (typeof word !== "string" || /[\n\0]/.test(word)) throw new Error(`image.yaml: ${key} is not one line of text`);
    if ((key === "kernel" || key === "initrd") && !files.has(word)) throw new Error(`image.yaml: there is no file ${word}`);
  }
  const {
    description = "",
    template,
    kernel,
    initrd,
    "command-line": commandLine,
    added,
    from,
  } = value as Readonly<Record<string, string>>;
  if (added !== undefined && Number.isNaN(Date.parse(added))) throw new Error("image.yaml: added is not a time");
  if (kernel === undefined && (initrd ?? commandLine) !== undefined) throw new Error("image.yaml: initrd and command-line need a kernel");
  const vm = {
    ...(kernel && { kernel }),
    ...(initrd && { initrd }),
    ...(commandLine && { commandLine }),
    ...(template && { template }),
    ...(from && { from }),
  };
  return { description, vm, ...(added !== undefined && { added: new Date(added).toISOString() }) };
}

async function formatOf(path: string): Promise<"qcow2" | "raw"> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.equals(Buffer.from([0x51, 0x46, 0x49, 0xfb])) ? "qcow2" : "raw";
  } finally {
    await file.close();
  }
}
