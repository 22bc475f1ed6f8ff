import type { Lab, LabNode } from "./lab.ts";

/**
 * Gives each file one text. If several nodes name the same file and want different texts, one keeps the name: the first that wants the text of
 * `files`, or else the first node. The others get a file of their own beside it, named after the node. Returns the lab with the final names, and the
 * files that it needs.
 */
export function separateFiles(
  lab: Lab,
  files: ReadonlyMap<string, string>,
): { readonly lab: Lab; readonly needed: ReadonlyMap<string, string> } {
  const needed = new Map<string, string>();
  const named = lab.nodes.filter(({ startupConfigFile, startupConfig }) => startupConfigFile !== undefined && startupConfig !== undefined);
  const texts = new Map<string, Set<string>>();
  for (const { startupConfigFile: file = "", startupConfig: text = "" } of named) {
    texts.set(file, (texts.get(file) ?? new Set()).add(text));
    const kept = needed.get(file);
    if (kept === undefined || (kept !== files.get(file) && text === files.get(file))) needed.set(file, text);
  }
  for (const { files: own = {}, fileSources = {} } of lab.nodes) {
    for (const [path, file] of Object.entries(fileSources)) {
      const text = own[path]?.text;
      if (text !== undefined && !needed.has(file)) needed.set(file, text);
    }
  }
  if ([...texts.values()].every(({ size }) => size === 1)) return { lab, needed };

  const nodes = lab.nodes.map((node): LabNode => {
    const { startupConfigFile: file, startupConfig: text } = node;
    if (file === undefined || text === undefined || needed.get(file) === text) return node;
    const folder = file.slice(0, file.lastIndexOf("/") + 1);
    let own = `${folder}${node.key}.conf`;
    for (let number = 2; (needed.get(own) ?? files.get(own) ?? text) !== text; number++) own = `${folder}${node.key}-${number}.conf`;
    needed.set(own, text);
    return { ...node, startupConfigFile: own };
  });
  return { lab: { ...lab, nodes }, needed };
}
