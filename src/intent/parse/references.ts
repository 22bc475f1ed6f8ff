import { Problems } from "../diagnostics/problems.ts";
import { normalFilePath } from "./files.ts";
import { type MapValue, parseYaml, type Value } from "./parse.ts";

/**
 * Returns the normal paths of the files and folders that an intent names, sorted: the files that a client reads from disk and sends as `files`. A text that is
 * not YAML names none. Absolute paths and paths with ".." are left out, because readIntent reports them.
 */
export function referencedFiles(yaml: string): readonly string[] {
  const root = parseYaml(yaml, new Problems(yaml))?.root;
  const paths = new Set<string>();
  for (const body of [root, entry(root, "topology")]) {
    collect(entry(body, "defaults"), paths);
    for (const section of ["kinds", "groups", "nodes"]) {
      for (const { value } of mapOf(entry(body, section))?.entries.values() ?? []) collect(value, paths);
    }
  }
  return [...paths].sort();
}

function collect(fields: Value | undefined, paths: Set<string>): void {
  const config = entry(fields, "startup-config");
  if (config?.kind === "scalar" && config.value !== null && !/[\r\n]/.test(config.text)) addPath(config.text, paths);
  for (const { value } of mapOf(entry(fields, "files"))?.entries.values() ?? []) {
    const from = entry(value, "from");
    if (from?.kind === "scalar" && from.value !== null) addPath(from.text, paths);
  }
  const binds = entry(fields, "binds");
  for (const bind of binds?.kind === "list" ? binds.items : []) if (bind.kind === "scalar") addPath(bind.text.split(":")[0] ?? "", paths);
}

function addPath(text: string, paths: Set<string>): void {
  const result = normalFilePath(text);
  if ("path" in result) paths.add(result.path);
}

function entry(value: Value | undefined, key: string): Value | undefined {
  return mapOf(value)?.entries.get(key)?.value;
}

function mapOf(value: Value | undefined): MapValue | undefined {
  return value?.kind === "map" ? value : undefined;
}
