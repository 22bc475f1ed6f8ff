import type { Problems } from "../diagnostics/problems.ts";
import type { LabPlacement } from "../lab/lab.ts";
import { placeVocabulary } from "../lab/vocabulary.ts";
import { checkKeys, type Field, field, fieldOf, invalid, readMap, readText } from "./fields.ts";

const example = "write {machine: beta}, {labels: {gpu: true}}, or spread";

/** Reads `place`: the machine of the lab in a fleet, labels that it must have, or that the lab is spread over machines. */
export function readPlace(problems: Problems, at: Field): LabPlacement | undefined {
  if (at.value.kind === "scalar" && at.value.value === "spread") return { spread: "nodes" };
  if (at.value.kind !== "map") return invalid(problems, at, "a place is spread, or a map with a machine, labels, or spread", example);
  const map = readMap(problems, at);
  if (map === undefined) return undefined;
  checkKeys(problems, map, at.path, placeVocabulary);
  const [machineAt, labelsAt, spreadAt] = ["machine", "labels", "spread"].map((key) => fieldOf(map, key, at.path));
  if (machineAt === undefined && labelsAt === undefined && spreadAt === undefined)
    return invalid(problems, at, "a place needs a machine, labels, or spread", example);
  const machine = machineAt && readText(problems, machineAt);
  const labels = labelsAt && readLabels(problems, labelsAt);
  const spread = spreadAt && readText(problems, spreadAt);
  if (spreadAt !== undefined && spread !== undefined && spread !== "nodes" && spread !== "groups")
    return invalid(
      problems,
      spreadAt,
      `spread is nodes or groups, not ${spread}`,
      "write spread: groups to keep nodes with the same label group together",
    );
  if (machineAt !== undefined && spreadAt !== undefined)
    return invalid(problems, spreadAt, "a lab on a named machine is not spread", "remove machine, or spread");
  return {
    ...(machine !== undefined && { machine }),
    ...(spread !== undefined && { spread: spread as "nodes" | "groups" }),
    ...(labels !== undefined && { labels }),
  };
}

function readLabels(problems: Problems, at: Field): Readonly<Record<string, string>> | undefined {
  const map = readMap(problems, at);
  const read = [...(map?.entries.values() ?? [])].flatMap((entry) => {
    const text = readText(problems, field(entry, at.path), { loose: true });
    return text === undefined ? [] : [[entry.key, text] as const];
  });
  return map && Object.fromEntries(read.sort(([a], [b]) => (a < b ? -1 : 1)));
}
