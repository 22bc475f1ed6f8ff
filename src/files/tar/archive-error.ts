export type ArchiveErrorCode =
  | "bad_archive"
  | "unsafe_archive"
  | "bad_image"
  | "unsafe_image"
  | "too_large"
  | "digest_mismatch"
  | "wrong_platform"
  | "ambiguous"
  | "bad_name"
  | "exists"
  | "in_use"
  | "not_found"
  | "busy"
  | "disk_full"
  | "unreachable"
  | "unauthorized"
  | "not_allowed"
  | "timeout"
  | "interrupted";

/** A container archive or a virtual machine's image is refused, or an image cannot be pulled or removed. The message names the place, the hint the remedy. */
export class ArchiveError extends Error {
  readonly code: ArchiveErrorCode;
  readonly hint: string | undefined;

  constructor(code: ArchiveErrorCode, message: string, hint?: string) {
    super(message);
    this.name = "ArchiveError";
    this.code = code;
    this.hint = hint;
  }
}
