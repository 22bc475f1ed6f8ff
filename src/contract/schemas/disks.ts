import Type, { type Static } from "typebox";
import { integer, list, name, optionalText, text, time, word } from "./shapes.ts";

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

/**
 * The disk of a node in a transfer. files: a tar archive of the files that differ from the image, whiteouts as in OCI layers. machine: a tar archive of the
 * overlays over the image's disks, as qcow2.
 */
const diskFields = {
  node: name,
  kind: word(["files", "machine"]),
  template: name,
  image: Type.Optional(name),
  kernel: Type.Optional(word(["own"])),
  /** SHA-256 of the image's disks, or the digest of the image. The disk fits only this image. */
  base: Type.String({ maxLength: 128 }),
  /** Bytes and SHA-256 (hex) of the tar archive. */
  size_bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
};
export const TransferredDisk = Type.Object(diskFields);
export type TransferredDisk = Static<typeof TransferredDisk>;

export const DiskExportPayload = Type.Object({ lab: name });
export type DiskExportPayload = Static<typeof DiskExportPayload>;

/** Copies of a lab's disks, until `expires_at` or removeDiskTransfer. */
export const DiskExportData = Type.Object({ transfer: text, lab: text, expires_at: time, disks: list(TransferredDisk) });
export type DiskExportData = Static<typeof DiskExportData>;

export const DiskImportPayload = Type.Object({ lab: name, disks: list(TransferredDisk, 10_000) });
export type DiskImportPayload = Static<typeof DiskImportPayload>;

/** An upload of disks. The same payload returns the same transfer again, with the bytes that the service has. */
export const DiskImportData = Type.Object({
  transfer: text,
  lab: text,
  expires_at: time,
  disks: list(Type.Object({ node: text, received_bytes: integer })),
});
export type DiskImportData = Static<typeof DiskImportData>;

export const DiskReadQuery = Type.Object({ node: name, offset: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })) });
export type DiskReadQuery = Static<typeof DiskReadQuery>;

export const DiskPartPayload = Type.Object({
  node: name,
  offset: Type.Integer({ minimum: 0 }),
  /** At most 8 MiB. */
  base64: Type.String({ maxLength: 11_184_812 }),
});
export type DiskPartPayload = Static<typeof DiskPartPayload>;

/** The bytes that the service has. A part at another offset is not written. */
export const DiskPartData = Type.Object({ node: text, received_bytes: integer });
export type DiskPartData = Static<typeof DiskPartData>;

/** Kept disks that were made of an upload. */
export const DiskImportedData = Type.Object({ disks: text, lab: text, nodes: list(text), note: optionalText });
export type DiskImportedData = Static<typeof DiskImportedData>;

export const DiskTransferRemovedData = Type.Object({ transfer: text });
export type DiskTransferRemovedData = Static<typeof DiskTransferRemovedData>;
