import { Problems } from "../diagnostics/problems.ts";
import { parseYaml } from "../parse/parse.ts";
import { fieldOf } from "./fields.ts";
import { NAME, readName } from "./node-fields.ts";

/** A key `name` at the left margin, with its value on the same line. */
const nameLine = /^name:[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^"'#\s][^#\n]*?))[ \t]*(?:[ \t]#.*)?\r?$/gm;

/** Returns the lab's name in a text that may have errors, also in its YAML. `undefined` if the text has no name, an invalid one or several. */
export function labNameIn(yaml: string): string | undefined {
  const [only, another] = [...yaml.matchAll(nameLine)];
  if (another !== undefined) return undefined;
  const root = parseYaml(yaml, new Problems(yaml))?.root;
  if (root !== undefined) {
    const field = root.kind === "map" ? fieldOf(root, "name", "") : undefined;
    return field && readName(new Problems(yaml), field);
  }
  const text = only?.[1] ?? only?.[2] ?? only?.[3] ?? "";
  return NAME.test(text) ? text : undefined;
}
