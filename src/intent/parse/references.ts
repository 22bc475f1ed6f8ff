import { Problems } from "../diagnostics/problems.ts";
import { expandHelpers } from "./expand.ts";
import { checkFiles, normalFilePath } from "./files.ts";
import { type MapValue, parseYaml, type Value } from "./parse.ts";
import { NameCount } from "./ranges.ts";
import { variableFiles } from "./variables.ts";

/**
 * Returns the normal paths of the files and folders that an intent names, sorted: the files that a client reads from disk and sends as `files`. A text that is
 * not YAML names none. Absolute paths and paths with ".." are left out, because readIntent reports them.
 *
 * @param files the files that are read already. A path with a variable is known once the files of variables are.
 */
export function referencedFiles(yaml: string, files: Readonly<Record<string, string>> = {}): readonly string[] {
  const problems = new Problems(yaml);
  const parsed = parseYaml(yaml, problems)?.root;
  const root = parsed?.kind === "map" ? expandHelpers(parsed, checkFiles(files).files, problems, new NameCount()) : parsed;
  const paths = new Set<string>(parsed === undefined ? [] : variableFiles(parsed));
  for (const body of [root, entry(root, "topology")]) {
    collect(entry(body, "defaults"), paths);
    for (const section of ["kinds", "groups", "nodes"]) {
      for (const { value } of mapOf(entry(body, section))?.entries.values() ?? []) collect(value, paths);
    }
  }
  return [...paths].sort();
}

/** Returns the normal paths of the files of variables that an intent names. Costs nothing for a text that cannot name any. */
export function variableFilesOf(yaml: string): readonly string[] {
  const root = yaml.includes("vars-files") ? parseYaml(yaml, new Problems(yaml))?.root : undefined;
  return root === undefined ? [] : variableFiles(root);
}

function collect(fields: Value | undefined, paths: Set<string>): void {
  const config = entry(fields, "startup-config");
  for (const one of [config, entry(config, "template")]) {
    if (one?.kind === "scalar" && one.value !== null && !/[\r\n]/.test(one.text)) addPath(one.text, paths);
  }
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
