import { stringify } from "yaml";
import { Problems } from "../diagnostics/problems.ts";
import { parseYaml, type Value } from "./parse.ts";

/** The small project file that a client may keep beside its intent. */
export interface Manifest {
  readonly version: 1;
  readonly mode?: "create" | "import" | "load";
  /** Path of the lab on the host. */
  readonly lab?: string;
  /** File name of the intent. */
  readonly intent?: string;
  /** Names of the files that the intent refers to. */
  readonly files?: readonly string[];
  /** The host of the lab: kind and URL. */
  readonly host?: { readonly kind: string; readonly url: string };
}

/** Maximum characters. A manifest lists a lab's files and does not contain them. */
const longest = 65_536;

/** Parses a manifest, or returns the problem. Unknown fields are ignored. */
export function readManifest(text: string): { readonly manifest: Manifest } | { readonly problem: string } {
  if (text.length > longest) return { problem: `a manifest has at most ${longest} characters` };
  const problems = new Problems(text);
  const root = parseYaml(text, problems)?.root;
  const [first] = problems.list().filter(({ severity }) => severity === "error");
  if (first !== undefined) return { problem: `line ${first.line}: ${first.message}` };
  if (root?.kind !== "map") return { problem: "a manifest is a map" };
  const [version, mode, lab, intent, files, host] = ["version", "mode", "lab", "intent", "files", "host"].map((key) => {
    const entry = root.entries.get(key);
    return entry && plain(entry.value);
  });
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

/** The few known fields are small, so an alias is followed only once. */
function plain(value: Value): unknown {
  if (value.kind === "scalar") return value.value;
  if (value.kind === "list") return value.items.map((item) => (item.kind === "scalar" ? item.value : undefined));
  return Object.fromEntries(
    [...value.entries.values()].map(({ key, value: each }) => [key, each.kind === "scalar" ? each.value : undefined]),
  );
}

export function printManifest(manifest: Manifest): string {
  return stringify(manifest);
}

function isHost(value: unknown): value is { readonly kind: string; readonly url: string } {
  if (typeof value !== "object" || value === null) return false;
  const { kind, url } = value as Record<string, unknown>;
  return typeof kind === "string" && typeof url === "string";
}
