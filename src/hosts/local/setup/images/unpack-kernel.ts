import { readFile, rm, writeFile } from "node:fs/promises";
import { command } from "../programs/command.ts";

/** Offsets in the header of a bzImage (Documentation/arch/x86/boot.rst of Linux). */
const header = { sectors: 0x1f1, start: 0x248, length: 0x24c } as const;
const sector = 512;

/** The first bytes of the packed kernel → the suffix of such files, and the command that unpacks one to the name without the suffix. */
const packers: readonly { readonly mark: string; readonly suffix: string; readonly argv: (out: string) => readonly string[] }[] = [
  { mark: "02214c18", suffix: ".lz4", argv: (out) => ["lz4", "-d", "-q", "-f", `${out}.lz4`, out] },
  { mark: "fd377a58", suffix: ".xz", argv: (out) => ["xz", "-d", "-q", "-f", `${out}.xz`] },
];

/**
 * Writes the kernel of a bzImage to `out`, unpacked: an emulated processor takes a second to unpack it, at every boot. The hypervisor enters both by what it
 * finds in the file, so that a kernel of an unknown packing is written as it is.
 */
export async function unpackKernel(image: string, out: string): Promise<void> {
  const bytes = await readFile(image);
  const start = ((bytes[header.sectors] ?? 0) + 1) * sector + bytes.readUInt32LE(header.start);
  // The size of the unpacked kernel follows it.
  const packed = bytes.subarray(start, start + bytes.readUInt32LE(header.length) - 4);
  const packer = packers.find(({ mark }) => packed.subarray(0, mark.length / 2).toString("hex") === mark);
  if (packer === undefined) return writeFile(out, bytes);
  await writeFile(`${out}${packer.suffix}`, packed);
  await command(packer.argv(out));
  await rm(`${out}${packer.suffix}`, { force: true });
}
