import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs of the machine that set-up and the embedded host run, with their Debian packages. scripts/setup.sh installs the same. */
const programs: Readonly<Record<string, string>> = {
  "apt-get": "apt",
  busybox: "busybox",
  cc: "gcc libc6-dev",
  ip: "iproute2",
  mke2fs: "e2fsprogs",
  nft: "nftables",
  sharkd: "wireshark-common",
  tar: "tar",
  xz: "xz-utils",
};

/** Debian packages of the programs that are not on the path, the compiler only if it is needed; sbin counts, whether or not a user's path names it. */
export function missingPackages(path: string, { compiler }: { readonly compiler: boolean }): readonly string[] {
  const folders = [...path.split(delimiter), "/usr/sbin", "/sbin"].filter((folder) => folder !== "");
  return Object.entries(programs)
    .filter(([program]) => compiler || program !== "cc")
    .flatMap(([program, names]) => (folders.some((folder) => isProgram(join(folder, program))) ? [] : names.split(" ")));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
