import { arch } from "node:os";

/** Node's name of the processor → OCI's name with the implied variant. */
const architectures: Readonly<Record<string, string>> = { x64: "linux/amd64", arm64: "linux/arm64/v8" };

export function machinePlatform(): string {
  return architectures[arch()] ?? `linux/${arch()}`;
}

/** Returns whether an image's platform is the wanted one. Variants are compared only if both have one. */
export function fits(platform: string, wanted: string): boolean {
  const [a, b] = [platform.split("/"), wanted.split("/")];
  return a[0] === b[0] && a[1] === b[1] && (a[2] === undefined || b[2] === undefined || a[2] === b[2]);
}
