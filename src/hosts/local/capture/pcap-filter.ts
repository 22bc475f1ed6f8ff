import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { LocalImage } from "../images/images.ts";
import { machineTrouble } from "../machine/machine-trouble.ts";
import { FairPlaces } from "../sync/fair-places.ts";
import { controlCharacter } from "./control-character.ts";

const program = "/usr/bin/tcpdump";
/** Limit of the processor time of a compilation, s: some short filters would compile forever. */
const compileSeconds = 5;
/** Limit of its time on a busy machine, ms. */
const waitMs = 30_000;
/** The same limit as startCapture's; an argument of a program may have 128 KiB. */
const maxCharacters = 4_096;
/** Maximum number of simultaneous compilations, of all users. */
const places = new FairPlaces(4);

/** A compiled filter in classic BPF, "COUNT,CODE JT JF K,…", or the problem of its text. */
export type CompiledFilter = { readonly program: string } | { readonly problem: string };

/** Returns the problem of a pcap filter, `undefined` if it compiles, or if no image has tcpdump. */
export async function checkPcapFilter(images: readonly LocalImage[], filter: string, user: string): Promise<string | undefined> {
  const compiled = await compilePcapFilter(images, filter, user);
  return compiled !== undefined && "problem" in compiled ? compiled.problem : undefined;
}

/**
 * Compiles a pcap filter for Ethernet frames with the tcpdump of an image. Returns `undefined` if no image of set-up has tcpdump. tcpdump runs in its
 * image, without privileges and without network: a filter may name hosts, which must not be resolved. Filters of one user do not delay those of
 * another.
 */
export async function compilePcapFilter(images: readonly LocalImage[], filter: string, user: string): Promise<CompiledFilter | undefined> {
  const rootfs = await firstWith(images);
  if (rootfs === undefined) return undefined;
  const problem = controlCharacter(filter) ?? tooLong(filter);
  return problem === undefined ? places.run(user, () => compiledBy(rootfs, filter)) : { problem };
}

function tooLong({ length }: string): string | undefined {
  return length <= maxCharacters ? undefined : `it may have ${maxCharacters} characters; this one has ${length}: shorten it`;
}

/** Throws host_error if tcpdump does not run. */
function compiledBy(rootfs: string, filter: string): Promise<CompiledFilter> {
  const root = process.getuid?.() === 0;
  const apart = root ? ["--net", "chroot", "--userspec=65534:65534"] : ["--user", "--map-root-user", "--net", "chroot"];
  const argv = [
    `--cpu=${compileSeconds}:${compileSeconds + 1}`,
    "unshare",
    ...apart,
    rootfs,
    program,
    "-ddd",
    "-y",
    "EN10MB",
    "--",
    filter,
  ];
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  return new Promise((resolve, reject) => {
    execFile("prlimit", argv, { timeout: waitMs, killSignal: "SIGKILL", env }, (error, stdout, stderr) => {
      if (error === null) return resolve(portable(stdout.trim().replaceAll("\n", ",")));
      const trouble = machineTrouble(error);
      if (trouble?.code === "overloaded") return reject(trouble);
      // Only messages of tcpdump itself are about the filter.
      const said = stderr.split("\n").find((line) => line.startsWith("tcpdump: "));
      if (said !== undefined) return resolve({ problem: said.slice("tcpdump: ".length) });
      if (error.signal === "SIGXCPU") return resolve({ problem: `it takes longer than ${compileSeconds} s to compile: simplify it` });
      if (error.killed === true)
        return reject(new Failure("host_timeout", `tcpdump did not compile a filter within ${waitMs / 1000} s: the machine is very busy`));
      const message = stderr.trim() || error.message;
      reject(new Failure("host_error", `tcpdump, which compiles filters, does not run: ${message}`, { data: { host: { message } } }));
    });
  });
}

/** Loads with offsets from here on read data of the kernel that is not in the frame (inbound, ifindex …). Such a program can only run in the kernel. */
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
    // The programs of container images may run only in nodes.
    if (container !== undefined || vm !== undefined) continue;
    const there = await access(join(rootfs, program)).then(
      () => true,
      () => false,
    );
    if (there) return rootfs;
  }
  return undefined;
}
