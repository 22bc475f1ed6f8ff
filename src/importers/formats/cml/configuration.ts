import type { Draft } from "../../draft/draft.ts";
import type { DraftNode } from "../../draft/draft-node.ts";
import { carryConfig } from "../../reading/carry-config.ts";
import type { Part } from "../../tree/part.ts";

/** Reads a configuration: a text, or a list of named files, of which the first is the one that the node boots with. */
export function readConfiguration(draft: Draft, node: DraftNode, part: Part | undefined): void {
  if (part === undefined) return;
  if (part.node.kind === "scalar") {
    if (part.text === undefined || part.text.trim() === "") part.dropped("empty");
    else carryConfig(draft, node, part.text, part, configPath(node));
    return;
  }
  const files = part.node.kind === "list" ? part.items : [part];
  let isFirst = true;
  for (const file of files) {
    const [name, content] = [file.get("name"), file.get("content") ?? file.get("configuration")];
    if (content?.text === undefined || content.text.trim() === "") {
      file.dropped("empty");
      continue;
    }
    const path = isFirst ? configPath(node) : `configs/${node.key}/${name?.text ?? "file"}`;
    if (isFirst) carryConfig(draft, node, content.text, content, path);
    else content.mapped(`the file ${draft.file(path, content.text)} beside the lab`);
    name?.mapped(isFirst ? "the configuration that the node boots with" : "the name of the file");
    isFirst = false;
  }
}

function configPath(node: DraftNode): string {
  return `configs/${node.key}.cfg`;
}
