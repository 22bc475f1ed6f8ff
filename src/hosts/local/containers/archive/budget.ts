import { ArchiveError } from "../../../../files/tar/archive-error.ts";

/** The limits of one image. */
export interface UnpackLimits {
  /** Maximum bytes of all files and directories of all layers on the disk, in blocks of 4 KiB. */
  readonly bytes: number;
  /** Entries of all layers. */
  readonly entries: number;
  /** Maximum bytes of a path below the root. */
  readonly path: number;
  /** Maximum ratio of a layer to its compressed form, checked from `ratioFrom` bytes on. */
  readonly ratio: number;
  readonly ratioFrom: number;
  /** The next step of a user who exceeds the maximum of bytes. */
  readonly hint?: string;
}

export const unpackLimits: UnpackLimits = {
  bytes: 32 * 1024 ** 3,
  entries: 2_000_000,
  path: 3000,
  ratio: 300,
  ratioFrom: 512 * 1024 ** 2,
};

/** Counts bytes and entries while an image is unpacked, before they are written, and enforces the limits. */
export class Budget {
  readonly limits: UnpackLimits;
  #bytes = 0;
  #entries = 0;

  constructor(limits: UnpackLimits) {
    this.limits = limits;
  }

  /** @throws ArchiveError too_large */
  spendBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.limits.bytes) {
      throw new ArchiveError(
        "too_large",
        `the image unpacks to more than ${this.limits.bytes} bytes`,
        this.limits.hint ?? "--max-bytes raises the limit",
      );
    }
  }

  /** @throws ArchiveError too_large */
  spendEntry(): void {
    this.#entries++;
    if (this.#entries > this.limits.entries) {
      throw new ArchiveError("too_large", `the image has more than ${this.limits.entries} files`);
    }
  }
}
