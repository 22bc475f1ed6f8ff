import type { NativeIds } from "./host.ts";

/** A named copy of a lab's definition, without disks. */
export interface LabSnapshot {
  /** Unique among the snapshots of its lab. */
  readonly name: string;
  /** When it was taken, ms since 1970. */
  readonly takenAt: number;
}

/** The result of restoring a snapshot. */
export interface RestoredLab {
  /** The known ids that are still valid. */
  readonly ids: NativeIds;
  /** Nodes of the snapshot. kept: the node has its earlier disk. new: it has no disk and begins with its image. */
  readonly nodes: readonly { readonly id: string; readonly name: string; readonly disk: "kept" | "new" }[];
  /** Nodes that the lab had and the snapshot does not have: they are deleted with their disks. `id`: as before the restore. */
  readonly removed: readonly { readonly id: string; readonly name: string }[];
}

/** Snapshots of stopped labs. They belong to the lab's path. */
export interface HostSnapshots {
  /** The oldest first. Empty for a lab that does not exist. */
  list(lab: string): Promise<readonly LabSnapshot[]>;
  /** Throws lab_not_found, nodes_running, number_clash, and snapshot_exists. */
  take(lab: string, name: string): Promise<LabSnapshot>;
  /**
   * Gives the lab the definition of the snapshot. Nodes of the same name, template and image keep their disks. `ids` as in Progress. Safe to run again.
   * Throws lab_not_found, snapshot_not_found, lab_locked, lab_in_use, nodes_running and number_clash.
   */
  restore(lab: string, name: string, ids: NativeIds): Promise<RestoredLab>;
  /** Throws snapshot_not_found, and nodes_running if nodes of the copy itself run. */
  remove(lab: string, name: string): Promise<void>;
  /** Deletes all snapshots of the lab, which need not exist any more. Returns the number of deleted snapshots; a copy whose nodes run stays. */
  removeAll(lab: string): Promise<number>;
}
