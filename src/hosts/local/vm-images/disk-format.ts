/** The formats of a file, by its first bytes. */
export type DiskFormat =
  | "qcow2"
  | "vmdk"
  /** A text that lists the files of a VMDK disk. */
  | "vmdk descriptor"
  | "iso"
  /** A tar archive that begins with an OVF description. */
  | "ova"
  | "tar"
  /** A disk with a partition table. */
  | "raw"
  /** Formats that are not read. */
  | "vdi"
  | "vhdx"
  | "vhd"
  | "zip"
  | "7z"
  | "qed";

/** The number of first bytes that `formatOf` needs: up to the descriptor of an ISO 9660 file system. */
export const headBytes = 17 * 2048;

/** Returns the format of a file by its first `headBytes` bytes (fewer if it is shorter), `undefined` if it is none of them. */
export function formatOf(head: Buffer): DiskFormat | undefined {
  const starts = (text: string, at = 0) => head.toString("latin1", at, at + text.length) === text;
  if (starts("QFI\xfb")) return "qcow2";
  if (starts("KDMV") || starts("COWD")) return "vmdk";
  if (/^\s*# Disk DescriptorFile/.test(head.toString("latin1", 0, 64))) return "vmdk descriptor";
  // Before the partition table: an ISO that also boots from a USB stick has both.
  if (starts("CD001", 16 * 2048 + 1)) return "iso";
  if (starts("ustar", 257)) return /\.ovf\0/i.test(head.toString("latin1", 0, 101)) ? "ova" : "tar";
  if (starts("vhdxfile")) return "vhdx";
  if (starts("conectix")) return "vhd";
  if (starts("PK\x03\x04")) return "zip";
  if (starts("7z\xbc\xaf\x27\x1c")) return "7z";
  if (starts("QED\0")) return "qed";
  if (head.length >= 68 && head.readUInt32LE(64) === 0xbeda107f) return "vdi";
  return head.length >= 512 && head[510] === 0x55 && head[511] === 0xaa ? "raw" : undefined;
}
