import { nodeKey } from "../../base/node-key.ts";
import { isSelector, type SelectableNode } from "../../intent/fields/node-selector.ts";
import { readDocument } from "../../intent/read/read.ts";
import type { Context } from "../command/context.ts";
import { UsageError } from "../command/usage-error.ts";
import { selectNodes } from "./select-nodes.ts";

/** Returns the keys of the nodes that names and selectors choose. Names alone are not checked: the request that uses them does that. */
export async function chosenNodes(context: Context, words: readonly string[]): Promise<readonly string[]> {
  if (!words.some(isSelector)) return words;
  const { title } = await context.project();
  return selectNodes(words, await selectable(context), title);
}

/** Returns the node that a name or selector chooses. Throws UsageError if it chooses several. */
export async function chosenNode(context: Context, word: string): Promise<string> {
  const [node = word, ...others] = await chosenNodes(context, [word]);
  if (others.length > 0)
    throw new UsageError(`"${word}" chooses several nodes: ${[node, ...others].slice(0, 8).join(", ")}`, "name one of them");
  return node;
}

/** The nodes of the host's lab, with the kinds, groups and labels of the lab's file if there is one. */
async function selectable(context: Context): Promise<readonly SelectableNode[]> {
  const { selector, file } = await context.project();
  const { nodes } = await (await context.client()).inspectProject(selector);
  const { lab, reading } = file === undefined ? { lab: undefined, reading: undefined } : readDocument(file.yaml, file.files);
  const intent = new Map((lab?.nodes ?? []).map((node) => [node.key, node]));
  return nodes.map((node) => {
    const key = nodeKey(node);
    const read = reading?.nodes.get(key);
    return {
      key,
      kinds: [node.template, ...(read?.kind === undefined ? [] : [read.kind])],
      groups: read?.groups ?? [],
      labels: { ...node.labels, ...intent.get(key)?.labels },
    };
  });
}
