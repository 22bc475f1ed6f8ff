import Type, { type Static } from "typebox";
import { integer, list, text, time } from "./shapes.ts";

/** A node's disk: what it had changed on top of its image, as the file system counts it. */
export const KeptDisk = Type.Object({ node: text, size_bytes: integer });

/** The disks of a lab that was destroyed without wiping. Their owner gets them back by deploying a lab at the same path with the same node names. */
export const KeptDisksData = Type.Object({
  disks: text,
  lab: text,
  owner: text,
  kept_at: time,
  size_bytes: integer,
  /** Sorted by node. */
  nodes: list(KeptDisk),
});
export type KeptDisksData = Static<typeof KeptDisksData>;

/** Sorted by lab, then the newest first. */
export const DisksData = Type.Object({ disks: list(KeptDisksData) });
export type DisksData = Static<typeof DisksData>;

export const DisksRemovedData = Type.Object({ disks: text });
export type DisksRemovedData = Static<typeof DisksRemovedData>;
