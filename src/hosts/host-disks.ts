/** The nodes' disks of a lab that was removed without wiping. They belong to the lab's owner, who alone gets them back in a lab at the same path. */
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

/** Disks that were kept. A session sees those of its user; an admin's session sees all. */
export interface HostDisks {
  /** Sorted by lab, then the newest first. */
  list(): Promise<readonly KeptDisks[]>;
  /** Removes them. Throws disks_not_found for those that this session does not see, operation_not_allowed for a viewer. */
  remove(id: string): Promise<void>;
}
