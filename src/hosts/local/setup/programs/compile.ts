import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { packagePath } from "../../../../files/program-path.ts";

/** The C programs of the embedded host: folders of native/. Shipped as sources, also beside a compiled package. */
export const programNames = ["decoder", "guest", "holder", "shaper", "supervisor", "tap"] as const;
export type ProgramName = (typeof programNames)[number];

const native = packagePath("native");

/** Flags of every build. */
const common = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"];

/** Flags of the programs that are installed: static, at a random address, with read-only relocations and checked buffers. */
const hardened = [
  ...common,
  "-O2",
  // Some distributions define it already.
  "-U_FORTIFY_SOURCE",
  "-D_FORTIFY_SOURCE=2",
  "-fstack-protector-strong",
  "-fPIE",
  "-static-pie",
  "-Wl,-z,relro,-z,now,-z,noexecstack",
  // Each program links all of native/common and keeps the parts that it calls.
  "-ffunction-sections",
  "-fdata-sections",
  "-Wl,--gc-sections",
  "-s",
];

/** Flags of builds for tests: an invalid access or undefined behaviour ends the program with a report. Such a program cannot be static. */
const sanitized = [
  ...common,
  "-O1",
  "-g",
  "-fno-omit-frame-pointer",
  "-fsanitize=address,undefined",
  "-fno-sanitize-recover=all",
  "-static-libasan",
  "-static-libubsan",
];

/** Libraries of single programs, linked statically. */
const libraries: Partial<Readonly<Record<ProgramName, readonly string[]>>> = { supervisor: ["-l:libjansson.a"] };

/** Debian packages that compiling needs, for the machine's own processor. */
export const compilerPackages = ["gcc", "libc6-dev", "libjansson-dev"] as const;

export type BuildKind = "hardened" | "sanitized";

/** LABWRIGHT_SANITIZE=1 selects builds with AddressSanitizer and UndefinedBehaviorSanitizer. */
export function buildKind(env: Readonly<Record<string, string | undefined>> = process.env): BuildKind {
  return env["LABWRIGHT_SANITIZE"] === "1" ? "sanitized" : "hardened";
}

/** The guest is the only program of a small machine, which has no libraries: it is always static. */
function kindOf(name: ProgramName): BuildKind {
  return name === "guest" ? "hardened" : buildKind();
}

export function compilerFlags(kind: BuildKind): readonly string[] {
  return kind === "sanitized" ? sanitized : hardened;
}

/** Returns the paths of the program's sources and headers, sorted: its own folder, then native/common. */
export async function sourceFiles(name: ProgramName): Promise<readonly string[]> {
  const folders = [name, "common"].map((folder) => join(native, folder));
  const lists = folders.map(async (folder) => {
    const files = (await readdir(folder)).filter((file) => /\.[ch]$/.test(file)).sort();
    return files.map((file) => join(folder, file));
  });
  return (await Promise.all(lists)).flat();
}

interface CompileOptions {
  readonly out: string;
  readonly compiler: string;
  /** Default: as LABWRIGHT_SANITIZE selects. */
  readonly kind?: BuildKind;
}

/** Compiles the program to `out` for the processor of the compiler. Throws an Error with the compiler's output. */
export async function compileProgram(name: ProgramName, { out, compiler, kind = kindOf(name) }: CompileOptions): Promise<void> {
  const units = (await sourceFiles(name)).filter((file) => file.endsWith(".c"));
  try {
    await promisify(execFile)(compiler, [...compilerFlags(kind), "-o", out, ...units, ...(libraries[name] ?? [])]);
  } catch (error) {
    const { stderr = "", message } = error as Error & { readonly stderr?: string };
    const hint = compiler === "cc" ? ` (Debian: apt-get install ${compilerPackages.join(" ")})` : "";
    throw new Error(`the ${name} does not compile${hint}: ${stderr || message}`, { cause: error });
  }
}
