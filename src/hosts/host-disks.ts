/** The nodes' disks of a lab that was removed without wiping. They belong to the lab's owner, who alone gets them back, with a new lab at the same path. */
export interface KeptDisks {
  /** Unique on the host. */
  readonly id: string;
  /** Path of the lab. */
  readonly lab: string;
  readonly owner: string;
  /** When the lab was removed, ms since 1970. */
  readonly keptAt: number;
  /** Sorted by name; `bytes` as the file system counts them. */
  readonly nodes: readonly { readonly name: string; readonly bytes: number }[];
}

/** Kept disks. A session sees the disks of its user; an admin's session sees all. */
export interface HostDisks {
  /** Sorted by lab, then the newest first. */
  list(): Promise<readonly KeptDisks[]>;
  /** Deletes the disks. Throws disks_not_found if this session does not see them, operation_not_allowed for a viewer. */
  remove(id: string): Promise<void>;
  readonly transfers: HostDiskTransfers;
}

/** The disk of a node as a tar archive, which fits only the image with the digest `base`. */
export interface DiskCopy {
  /** The node's name on the host. */
  readonly node: string;
  /** files: the files that differ from the image. machine: the overlays over the image's disks. */
  readonly kind: "files" | "machine";
  readonly template: string;
  readonly image?: string;
  readonly kernel?: "own";
  readonly base: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface DiskTransfer {
  readonly id: string;
  readonly lab: string;
  /** ms since 1970. */
  readonly expiresAt: number;
}

/**
 * Disks on their way to and from other hosts. A transfer belongs to its user, and expires. Methods with an id throw disks_not_found for transfers of other users
 * and of the other direction.
 */
export interface HostDiskTransfers {
  /** Throws disks_not_found. */
  find(id: string): Promise<DiskTransfer>;
  /**
   * Copies the disks of a lab's nodes for this user, who may be another than the session's. Throws lab_not_found, nodes_running, and host_error if there is no
   * room for the copies.
   */
  exportLab(lab: string, reader: string): Promise<DiskTransfer & { readonly disks: readonly DiskCopy[] }>;
  /** Throws disks_not_found, also for a node that the export does not have. */
  read(id: string, node: string, offset: number): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Begins an upload, or continues the one with the same disks. Throws lab_exists, template_not_found, bad_request for disks that do not fit this host, and
   * host_error if there is no room.
   */
  importLab(
    lab: string,
    disks: readonly DiskCopy[],
  ): Promise<DiskTransfer & { readonly received: readonly { readonly node: string; readonly bytes: number }[] }>;
  /** Appends to a disk, if `offset` is its present end. Returns the end. Throws bad_request for more bytes than were declared. */
  write(id: string, node: string, offset: number, data: Uint8Array): Promise<number>;
  /** Checks the uploaded disks and keeps them. Throws bad_request for an incomplete, changed or unsafe disk, and lab_exists. Returns the id of the kept disks. */
  finish(id: string): Promise<{ readonly disks: string; readonly lab: string; readonly nodes: readonly string[]; readonly note?: string }>;
  drop(id: string): Promise<void>;
}
