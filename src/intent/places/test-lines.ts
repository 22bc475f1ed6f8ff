import { readDocument } from "../read/read.ts";

/** Returns the line of each test, from 1, by its name. Empty if the text is not a lab. */
export function testLines(yaml: string, files: Readonly<Record<string, string>>): ReadonlyMap<string, number> {
  const { lab, reading } = readDocument(yaml, files);
  const list = reading?.root.entries.get("tests")?.value;
  if (lab?.tests === undefined || list?.kind !== "list") return new Map();
  // Every item of a lab without errors is a test, in the same order.
  return new Map(lab.tests.map(({ name }, index) => [name, yaml.slice(0, list.items[index]?.start ?? 0).split("\n").length]));
}
