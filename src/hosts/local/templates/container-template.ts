import type { KernelFeature } from "../../../engine/model/kernel-features.ts";

/** How nodes of a container template start: values that replace or add to those of their image. docs/templates.md#containers explains each key. */
export interface ContainerTemplate {
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** The program that starts entrypoint and command, which are its last arguments. */
  readonly wrapper: readonly string[];
  /** Commands for the image's /bin/sh, as root, before those of the node's `exec`. */
  readonly before: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workdir?: string;
  /** Its process sees itself as the first one, with the process id 1. */
  readonly isFirstProcess: boolean;
  /** Written at every start, before the files of the node. */
  readonly files: readonly { readonly path: string; readonly mode: number; readonly text: string }[];
  /** The file that receives the startup configuration. */
  readonly config?: { readonly path: string; readonly mode: number };
}

/** Attributes of nodes that change the process or the network of a container. Any template of a container may declare them. */
export const containerAttributes = ["entrypoint", "command", "workdir", "user", "addresses", "gateway"] as const;

/** Means that nodes with the machine's kernel never have, for people. */
export const refusedMeans = {
  "control-groups": "control groups of its own",
  mounts: "the right to mount file systems",
  "network-namespaces": "network namespaces of its own",
  modules: "the right to load kernel modules",
  fuse: "the device /dev/fuse",
} as const satisfies Readonly<Record<string, string>>;
export type RefusedMeans = keyof typeof refusedMeans;

/** Something that the software of a template needs of the machine. */
export interface TemplateNeed {
  readonly what:
    | { readonly means: RefusedMeans }
    | { readonly kvm: true }
    | { readonly kernel: KernelFeature }
    /** A setting of the machine, such as fs.inotify.max_user_instances, and its lowest value. */
    | { readonly setting: string; readonly min: number }
    /** Flags of the processor, as in /proc/cpuinfo. */
    | { readonly cpu: readonly string[] };
  /** The purpose, for people. */
  readonly for: string;
  /** Only nodes whose startup-config matches this regular expression need it; absent: all. */
  readonly ifConfig?: string;
  /** The effect of its absence, for people. */
  readonly without: string;
  /** The alternative, for people. */
  readonly instead?: string;
}
