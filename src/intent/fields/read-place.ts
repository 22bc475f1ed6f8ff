import type { Problems } from "../diagnostics/problems.ts";
import type { LabPlacement } from "../lab/lab.ts";
import { placeVocabulary } from "../lab/vocabulary.ts";
import { checkKeys, type Field, field, fieldOf, invalid, readMap, readText } from "./fields.ts";

const example = "write {machine: beta}, or {labels: {gpu: true}}";

/** Reads `place`: the machine of the lab in a fleet, and labels that it must have. */
export function readPlace(problems: Problems, at: Field): LabPlacement | undefined {
  if (at.value.kind !== "map") return invalid(problems, at, "a place is a map with a machine, labels, or both", example);
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, placeVocabulary);
  const [machineAt, labelsAt] = ["machine", "labels"].map((key) => fieldOf(map, key, at.path));
  if (machineAt === undefined && labelsAt === undefined) return invalid(problems, at, "a place needs a machine, labels, or both", example);
  const machine = machineAt && readText(problems, machineAt);
  const labels = labelsAt && readLabels(problems, labelsAt);
  return { ...(machine !== undefined && { machine }), ...(labels !== undefined && { labels }) };
}

function readLabels(problems: Problems, at: Field): Readonly<Record<string, string>> | undefined {
  const map = readMap(problems, at);
  const read = [...(map?.entries.values() ?? [])].flatMap((entry) => {
    const text = readText(problems, field(entry, at.path), { loose: true });
    return text === undefined ? [] : [[entry.key, text] as const];
  });
  return map && Object.fromEntries(read.sort(([a], [b]) => (a < b ? -1 : 1)));
}
