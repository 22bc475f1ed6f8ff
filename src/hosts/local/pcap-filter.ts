import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { LocalImage } from "./images.ts";

const program = "/usr/bin/tcpdump";

/**
 * What is wrong with a pcap filter, by the tcpdump of an image; undefined for one that compiles, and where no image has a tcpdump. It runs in its image and
 * without any right or network: a filter may name hosts, which must not be looked up.
 */
export async function checkPcapFilter(images: readonly LocalImage[], filter: string): Promise<string | undefined> {
  const rootfs = await firstWith(images);
  if (rootfs === undefined) return undefined;
  const root = process.getuid?.() === 0;
  const apart = root ? ["--net", "chroot", "--userspec=65534:65534"] : ["--user", "--map-root-user", "--net", "chroot"];
  const argv = [...apart, rootfs, program, "-d", "-y", "EN10MB", "--", filter];
  return new Promise((resolve) => {
    execFile(
      "unshare",
      argv,
      { timeout: 5_000, killSignal: "SIGKILL", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } },
      (error, _stdout, stderr) => {
        // Only what tcpdump itself says is about the filter.
        const said = stderr.split("\n").find((line) => line.startsWith("tcpdump: "));
        resolve(error === null || said === undefined ? undefined : said.slice("tcpdump: ".length));
      },
    );
  });
}

async function firstWith(images: readonly LocalImage[]): Promise<string | undefined> {
  for (const { rootfs } of images) {
    const there = await access(join(rootfs, program)).then(
      () => true,
      () => false,
    );
    if (there) return rootfs;
  }
  return undefined;
}
