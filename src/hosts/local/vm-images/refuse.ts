import { ArchiveError } from "../../../files/tar/archive-error.ts";

/** The next step of a user whose file is damaged. */
export const again = "download it again, and compare its checksum with the one of its publisher";

/** A file is damaged, or is not an image of a virtual machine that is read. */
export function wrongImage(message: string, hint = again): ArchiveError {
  return new ArchiveError("bad_image", message, hint);
}

/** A file would make the hypervisor use other files of this machine. */
export function unsafeImage(message: string, hint: string): ArchiveError {
  return new ArchiveError("unsafe_image", message, hint);
}
