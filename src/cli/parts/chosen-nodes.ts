import type { Context } from "../command/context.ts";

/** Returns the keys of the nodes that names and selectors choose. Names are not checked: the request that uses them does that. */
export async function chosenNodes(context: Context, words: readonly string[]): Promise<readonly string[]> {
  if (!words.some((word) => /[*?=]/.test(word))) return words;
  const { selector } = await context.project();
  // The service resolves selectors. The call is left before its programs do anything.
  for await (const event of await (await context.client()).execNodes({ ...selector, nodes: [...words], argv: ["true"] }))
    if (event.type === "begin") return event.nodes ?? [];
  return [];
}
