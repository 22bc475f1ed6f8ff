import { Lines } from "../../intent/diagnostics/lines.ts";
import { Problems } from "../../intent/diagnostics/problems.ts";
import { parseYaml, type Value } from "../../intent/parse/parse.ts";
import { refuse } from "./refuse.ts";
import { type SourceEntry, type SourceNode, scalar } from "./source-tree.ts";

/**
 * Parses YAML into a tree. An alias is the same object as its anchor's value. Throws invalid_source for everything that the parser of intents refuses, and for
 * tags: a tag makes other tools run code or read files.
 */
export function yamlTree(text: string, file: string): SourceNode {
  const problems = new Problems(text);
  const parsed = parseYaml(text, problems);
  const [first] = problems.list().filter(({ severity, message }) => severity === "error" || message.includes("tag"));
  if (parsed === undefined || first !== undefined) {
    if (first?.message === "the intent is empty") return refuse("the file is empty", { file });
    const hint = first?.hint === undefined ? "" : ` (${first.hint})`;
    const message = (first?.message ?? "the file is not YAML")
      .replace(/^the intent has/, "the file has")
      .replace(/ to be a lab$/, " for a lab");
    return refuse(`${message}${hint}`, { file, ...(first && { line: first.line }) });
  }
  return toTree(parsed.root, new Lines(text), new Map());
}

function toTree(value: Value, lines: Lines, known: Map<Value, SourceNode>): SourceNode {
  const before = known.get(value);
  if (before !== undefined) return before;
  const { line } = lines.position(value.start);
  const node = ((): SourceNode => {
    if (value.kind === "scalar") return scalar(value.value, line, value.text);
    if (value.kind === "list") return { kind: "list", items: value.items.map((item) => toTree(item, lines, known)), line };
    const entries = new Map<string, SourceEntry>();
    for (const entry of value.entries.values()) {
      entries.set(entry.key, { node: toTree(entry.value, lines, known), line: lines.position(entry.place.start).line });
    }
    return { kind: "map", entries, line };
  })();
  known.set(value, node);
  return node;
}
