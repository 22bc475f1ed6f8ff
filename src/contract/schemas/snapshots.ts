import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, list, name, optionalJson, optionalName, text, time, word } from "./shapes.ts";

/** snapshot: its name; absent: the time of the service, such as 2026-11-22-190430. */
export const SnapshotTakePayload = Type.Object({ ...selectorFields, snapshot: optionalName });
export type SnapshotTakePayload = Static<typeof SnapshotTakePayload>;

export const SnapshotPayload = Type.Object({ ...selectorFields, snapshot: name });
export type SnapshotPayload = Static<typeof SnapshotPayload>;

/** A copy of the lab's definition on the host, without disks. */
export const Snapshot = Type.Object({ snapshot: text, taken_at: time });
export type Snapshot = Static<typeof Snapshot>;

/** The oldest first. */
export const SnapshotsData = Type.Object({ lab: text, snapshots: list(Snapshot) });
export type SnapshotsData = Static<typeof SnapshotsData>;

export const SnapshotTakenData = Type.Object({ lab: text, snapshot: text, taken_at: time, nodes: integer });
export type SnapshotTakenData = Static<typeof SnapshotTakenData>;

/**
 * nodes: the nodes of the restored lab. disk kept: the node keeps its current disk; new: it had none and starts from its image and startup
 * configuration. removed: host names of nodes that the snapshot does not have; they are deleted with their disks. not_restored: descriptions of
 * differences from the time of the snapshot, for people.
 */
export const SnapshotRestoredData = Type.Object({
  lab: text,
  snapshot: text,
  /** Sorted by node. */
  nodes: list(Type.Object({ node: text, disk: word(["kept", "new"]) })),
  removed: list(text),
  not_restored: list(text),
  state: optionalJson,
});
export type SnapshotRestoredData = Static<typeof SnapshotRestoredData>;

export const SnapshotRemovedData = Type.Object({ lab: text, snapshot: text });
export type SnapshotRemovedData = Static<typeof SnapshotRemovedData>;
