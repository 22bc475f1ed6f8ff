/** The processors that a release is made for, by Node's name. */
export const processors = {
  x64: { debian: "amd64", compiler: "x86_64-linux-gnu-gcc", cross: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross", elfMachine: 62 },
  arm64: { debian: "arm64", compiler: "aarch64-linux-gnu-gcc", cross: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", elfMachine: 183 },
} as const;

export type Processor = keyof typeof processors;
export const processorNames = Object.keys(processors) as readonly Processor[];

/** Debian packages with the compiler for a processor: the machine's own for its own. */
export function compilerPackages(processor: Processor): string {
  return processor === process.arch ? "gcc libc6-dev" : processors[processor].cross;
}
