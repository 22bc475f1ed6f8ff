import { arch } from "node:os";

/** Node's name of the processor → OCI's, with the variant that it means. */
const architectures: Readonly<Record<string, string>> = { x64: "linux/amd64", arm64: "linux/arm64/v8" };

export function machinePlatform(): string {
  return architectures[arch()] ?? `linux/${arch()}`;
}

/** Whether an image of this platform is what was asked for. A variant counts only where both have one. */
export function fits(platform: string, wanted: string): boolean {
  const [a, b] = [platform.split("/"), wanted.split("/")];
  return a[0] === b[0] && a[1] === b[1] && (a[2] === undefined || b[2] === undefined || a[2] === b[2]);
}
