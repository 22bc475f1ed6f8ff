import { compilerPackages } from "../src/hosts/local/setup/programs/compile.ts";

/** The processors that a release is made for, by Node's name. */
export const processors = {
  x64: {
    debian: "amd64",
    compiler: "x86_64-linux-gnu-gcc",
    cross: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross libjansson-dev:amd64",
    elfMachine: 62,
  },
  arm64: {
    debian: "arm64",
    compiler: "aarch64-linux-gnu-gcc",
    cross: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross libjansson-dev:arm64",
    elfMachine: 183,
  },
} as const;

export type Processor = keyof typeof processors;
export const processorNames = Object.keys(processors) as readonly Processor[];

/** Debian packages with the compiler and libraries for a processor: the machine's own for its own. */
export function packagesFor(processor: Processor): string {
  return processor === process.arch ? compilerPackages.join(" ") : processors[processor].cross;
}

/** The library that the supervisor is linked with, for a processor. Another processor's needs `dpkg --add-architecture`. */
export function libraryFor(processor: Processor): string {
  return `/usr/lib/${processors[processor].compiler.replace(/-gcc$/, "")}/libjansson.a`;
}
