import { parse, stringify } from "yaml";

/** The small project file that a client may keep beside its intent. */
export interface Manifest {
  readonly version: 1;
  readonly mode?: "create" | "import" | "load";
  /** Path of the lab on the host. */
  readonly lab?: string;
  /** File name of the intent. */
  readonly intent?: string;
  /** Names of the files that the intent names. */
  readonly files?: readonly string[];
  /** Where the lab is: kind and URL of the host. */
  readonly host?: { readonly kind: string; readonly url: string };
}

/** Reads a manifest, or tells what is wrong with it. Fields that it does not know are left alone. */
export function readManifest(text: string): { readonly manifest: Manifest } | { readonly problem: string } {
  let data: unknown;
  try {
    // Without this level the reader writes its warnings, and with them the caller's text, to standard error.
    data = parse(text, { maxAliasCount: 0, schema: "core", logLevel: "error" });
  } catch (error) {
    return { problem: (error as Error).message };
  }
  if (typeof data !== "object" || data === null || Array.isArray(data)) return { problem: "a manifest is a map" };
  const { version, mode, lab, intent, files, host } = data as Record<string, unknown>;
  if (version !== 1) return { problem: "version must be 1" };
  if (mode !== undefined && mode !== "create" && mode !== "import" && mode !== "load") return { problem: "mode is create, import or load" };
  if (lab !== undefined && typeof lab !== "string") return { problem: "lab is a path" };
  if (intent !== undefined && typeof intent !== "string") return { problem: "intent is a file name" };
  if (files !== undefined && !(Array.isArray(files) && files.every((file) => typeof file === "string"))) {
    return { problem: "files is a list of file names" };
  }
  if (host !== undefined && !isHost(host)) return { problem: "host has kind and url" };
  return {
    manifest: {
      version,
      ...(mode !== undefined && { mode }),
      ...(lab !== undefined && { lab }),
      ...(intent !== undefined && { intent }),
      ...(files !== undefined && { files }),
      ...(host !== undefined && { host }),
    },
  };
}

export function printManifest(manifest: Manifest): string {
  return stringify(manifest);
}

function isHost(value: unknown): value is { readonly kind: string; readonly url: string } {
  if (typeof value !== "object" || value === null) return false;
  const { kind, url } = value as Record<string, unknown>;
  return typeof kind === "string" && typeof url === "string";
}
