export type ArchiveErrorCode =
  | "bad_archive"
  | "unsafe_archive"
  | "too_large"
  | "digest_mismatch"
  | "wrong_platform"
  | "ambiguous"
  | "bad_name"
  | "exists"
  | "in_use"
  | "not_found"
  | "busy"
  | "interrupted";

/** Why a container archive is refused, or an image not removed. The text names the place, the hint what to do. */
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
