import { refuse } from "../../tree/refuse.ts";
import { maxValues, type SourceEntry, type SourceMap, type SourceScalar, scalar } from "../../tree/source-tree.ts";

/** A line of lab.conf: DEVICE[ARGUMENT]=VALUE, or LAB_NAME=VALUE. */
const deviceLine = /^\s*([A-Za-z0-9][\w.-]{0,63})\[([\w.-]{1,64})\]\s*=\s*(.*)$/;
const labLine = /^\s*(LAB_[A-Z_]{1,32})\s*=\s*(.*)$/;

/** How much of a lab.conf its lines are: 1, every line is one of its lines; 0, the file has something else. */
export function isLabConf(text: string): boolean {
  let devices = 0;
  for (const line of text.slice(0, 1_000_000).split(/\r?\n/)) {
    if (deviceLine.test(line)) devices++;
    else if (line.trim() !== "" && !line.trim().startsWith("#") && !labLine.test(line)) return false;
  }
  return devices > 0;
}

/**
 * Parses lab.conf into a tree: for each device a map of its arguments, and the texts LAB_…. An argument that is given several times is a list. Throws
 * invalid_source for a file without devices.
 */
export function labConfTree(text: string, file: string): SourceMap {
  const devices = new Map<string, { readonly line: number; readonly entries: Map<string, SourceScalar[]> }>();
  const entries = new Map<string, SourceEntry>();
  let count = 0;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    if (raw.trim() === "" || raw.trim().startsWith("#")) continue;
    if (++count > maxValues) refuse(`more than ${maxValues} values`, { file, line });
    const [, device, argument, value] = deviceLine.exec(raw) ?? [];
    if (device !== undefined && argument !== undefined) {
      const found = devices.get(device) ?? { line, entries: new Map<string, SourceScalar[]>() };
      devices.set(device, found);
      const list = found.entries.get(argument) ?? [];
      found.entries.set(argument, list);
      list.push(scalar(unquoted(value ?? ""), line));
      continue;
    }
    const [, name, text] = labLine.exec(raw) ?? [];
    // Public labs have such lines; the report lists them as dropped.
    if (name === undefined) entries.set(`line ${line}`, { node: scalar(raw.trim(), line), line });
    else entries.set(name, { node: scalar(unquoted(text ?? ""), line), line });
  }
  if (devices.size === 0) refuse("no line has the form DEVICE[ARGUMENT]=VALUE", { file });
  for (const [device, { line, entries: list }] of devices) {
    const values = [...list].map(([argument, scalars]): readonly [string, SourceEntry] => {
      const [first] = scalars;
      const at = first?.line ?? line;
      return [
        argument,
        { node: scalars.length === 1 && first !== undefined ? first : { kind: "list", items: scalars, line: at }, line: at },
      ];
    });
    entries.set(device, { node: { kind: "map", entries: new Map(values), line }, line });
  }
  return { kind: "map", entries, line: 1 };
}

/** Removes quotes, or a comment behind a value without quotes. */
function unquoted(value: string): string {
  const text = value.trim();
  const quote = text[0];
  if (quote === '"' || quote === "'") {
    const end = text.indexOf(quote, 1);
    return end === -1 ? text.slice(1) : text.slice(1, end);
  }
  return text.replace(/\s+#.*$/, "").trim();
}
