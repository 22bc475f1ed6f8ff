/** A file of a cpio archive; paths have no leading slash. */
export interface CpioEntry {
  readonly path: string;
  /** With the type: 0o100755, 0o040755, 0o120777 … */
  readonly mode: number;
  /** A symbolic link's target, a file's bytes; empty for a directory. */
  readonly data: Buffer;
  /** Absent: root. */
  readonly uid?: number;
  readonly gid?: number;
}

/** Returns the archive in the format of a Linux initial RAM disk ("newc"). Times are zero, so that the same files give the same bytes. */
export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const [i, entry] of [...entries, { path: "TRAILER!!!", mode: 0, data: Buffer.alloc(0) }].entries()) {
    const name = Buffer.from(`${entry.path}\0`);
    const isDirectory = (entry.mode & 0o170000) === 0o040000;
    // inode, mode, uid, gid, links, time, size, device (2), special device (2), length of the name, checksum
    const fields = [
      i + 1,
      entry.mode,
      entry.uid ?? 0,
      entry.gid ?? 0,
      isDirectory ? 2 : 1,
      0,
      entry.data.length,
      0,
      0,
      0,
      0,
      name.length,
      0,
    ];
    const header = Buffer.from(`070701${fields.map((field) => field.toString(16).toUpperCase().padStart(8, "0")).join("")}`);
    parts.push(header, name, padding(header.length + name.length), entry.data, padding(entry.data.length));
  }
  return Buffer.concat(parts);
}

function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}
