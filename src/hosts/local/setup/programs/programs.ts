import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { compilerPackages } from "./compile.ts";

/** Programs of the machine that set-up and the embedded host run, with their Debian packages. scripts/setup.sh installs the same. */
const programs: Readonly<Record<string, string>> = {
  "apt-get": "apt",
  busybox: "busybox",
  cc: compilerPackages.join(" "),
  ip: "iproute2",
  lz4: "lz4",
  mke2fs: "e2fsprogs",
  mksquashfs: "squashfs-tools",
  nft: "nftables",
  sharkd: "wireshark-common",
  tar: "tar",
  xz: "xz-utils",
};

interface Machine {
  /** Whether programs have to be compiled. */
  readonly compiler: boolean;
  /** Directory of the headers of libraries. */
  readonly headers?: string;
}

/**
 * Returns the Debian packages of missing programs, and of the compiler only if it is needed. Also searches the sbin directories, which may not be in
 * a user's PATH.
 */
export function missingPackages(path: string, { compiler, headers = "/usr/include" }: Machine): readonly string[] {
  const folders = [...path.split(delimiter), "/usr/sbin", "/sbin"].filter((folder) => folder !== "");
  const missing = Object.entries(programs)
    .filter(([program]) => compiler || program !== "cc")
    .flatMap(([program, names]) => (folders.some((folder) => isProgram(join(folder, program))) ? [] : names.split(" ")));
  // The compiler may be installed without the library.
  if (compiler && !existsSync(join(headers, "jansson.h"))) missing.push("libjansson-dev");
  return [...new Set(missing)];
}

/** Returns false for a file that does not exist or that this user may not execute. */
function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
