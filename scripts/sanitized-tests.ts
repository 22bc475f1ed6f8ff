import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { compileProgram } from "../src/hosts/local/setup/programs/compile.ts";

/** Test files that `npm test` runs with sanitizers only: they use the C programs most. All other tests use the programs that set-up has built. */
export const sanitizedOnly: readonly string[] = [
  "src/hosts/local/sandbox/sandbox.test.ts",
  "src/hosts/local/sandbox/sandbox-node.test.ts",
  "src/hosts/local/links/links.test.ts",
  "src/hosts/local/capture/captures.test.ts",
  "src/hosts/local/decoder/sharkd.test.ts",
];

/** Runs with sanitizers: arguments of vitest. */
export const sanitizedRuns: readonly (readonly string[])[] = [
  sanitizedOnly,
  // Without measurements: sanitizers make the shaper slower.
  ["src/hosts/local/quality/quality.test.ts", "-t", "stays in force|to a network|an MTU changes|a suspended side|a shaper is its lab's"],
];

/** Builds the programs with sanitizers in the directory. Returns the environment variables that make tests use them. */
export async function sanitizedPrograms(directory: string): Promise<Readonly<Record<string, string>>> {
  await mkdir(directory, { recursive: true });
  const path = (name: string): string => join(directory, `labwright-${name}`);
  // The supervisor is part of the image that virtual machines run in; LABWRIGHT_SANITIZE=1 npm run setup builds that one.
  const names = ["decoder", "holder", "shaper", "tap"] as const;
  await Promise.all(names.map((name) => compileProgram(name, { out: path(name), compiler: "cc", kind: "sanitized" })));
  // The other programs are found beside the holder.
  return { LABWRIGHT_HOLDER: path("holder"), LABWRIGHT_SANITIZE: "1" };
}
