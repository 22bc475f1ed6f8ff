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
}
