import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import type { LocalImage } from "./images.ts";

const program = "/usr/bin/tcpdump";

/** A filter as a machine runs it, classic BPF: "COUNT,CODE JT JF K,…", or what is wrong with its text. */
export type CompiledFilter = { readonly program: string } | { readonly problem: string };

/** What is wrong with a pcap filter; undefined for one that compiles, and where no image has a tcpdump. */
export async function checkPcapFilter(images: readonly LocalImage[], filter: string): Promise<string | undefined> {
  const compiled = await compilePcapFilter(images, filter);
  return compiled !== undefined && "problem" in compiled ? compiled.problem : undefined;
}

/**
 * Compiles a pcap filter for Ethernet frames by the tcpdump of an image; undefined where no image of set-up has one. It runs in its image and without any
 * right or network: a filter may name hosts, which must not be looked up.
 */
export async function compilePcapFilter(images: readonly LocalImage[], filter: string): Promise<CompiledFilter | undefined> {
  const rootfs = await firstWith(images);
  if (rootfs === undefined) return undefined;
  const root = process.getuid?.() === 0;
  const apart = root ? ["--net", "chroot", "--userspec=65534:65534"] : ["--user", "--map-root-user", "--net", "chroot"];
  const argv = [...apart, rootfs, program, "-ddd", "-y", "EN10MB", "--", filter];
  return new Promise((resolve) => {
    execFile(
      "unshare",
      argv,
      { timeout: 5_000, killSignal: "SIGKILL", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } },
      (error, stdout, stderr) => {
        if (error === null) return resolve(portable(stdout.trim().replaceAll("\n", ",")));
        // Only what tcpdump itself says is about the filter.
        const said = stderr.split("\n").find((line) => line.startsWith("tcpdump: "));
        resolve(said === undefined ? undefined : { problem: said.slice("tcpdump: ".length) });
      },
    );
  });
}

/** A program that asks the kernel for what is not in the frame (inbound, ifindex …) cannot be run anywhere else: such loads have offsets from here on. */
const kernelOffsets = 0xffff_f000;

function portable(program: string): CompiledFilter {
  const loads = program
    .split(",")
    .slice(1)
    .map((one) => one.split(" ").map(Number));
  const asks = loads.some(([code = 0, , , k = 0]) => (code & 0x07) === 0 && (code & 0xe0) === 0x20 && k >= kernelOffsets);
  return asks
    ? { problem: "it asks for what is not in a packet, such as inbound or outbound: each packet has its direction" }
    : { program };
}

async function firstWith(images: readonly LocalImage[]): Promise<string | undefined> {
  for (const { rootfs, container, vm } of images) {
    // What strangers built runs in nodes, and nowhere else.
    if (container !== undefined || vm !== undefined) continue;
    const there = await access(join(rootfs, program)).then(
      () => true,
      () => false,
    );
    if (there) return rootfs;
  }
  return undefined;
}
