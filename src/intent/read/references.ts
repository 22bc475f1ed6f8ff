import { Problems } from "../diagnostics/problems.ts";
import { normalFilePath } from "../parse/files.ts";
import { type MapValue, parseYaml, type Value } from "../parse/parse.ts";

/**
 * Normal paths of the files that an intent names, sorted: what a client reads from disk and sends as `files`. A text that is no
 * YAML names none; paths that are absolute or have ".." are left out (readIntent tells about both).
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
  if (config?.kind !== "scalar" || config.value === null || /[\r\n]/.test(config.text)) return;
  const result = normalFilePath(config.text);
  if ("path" in result) paths.add(result.path);
}

function entry(value: Value | undefined, key: string): Value | undefined {
  return mapOf(value)?.entries.get(key)?.value;
}

function mapOf(value: Value | undefined): MapValue | undefined {
  return value?.kind === "map" ? value : undefined;
}
