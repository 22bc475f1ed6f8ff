import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { LabPlacement } from "../../intent/lab/lab.ts";
import { type MachineStore, runsLabs } from "../store/machines.ts";

/** The place of a field in a lab's text. */
type FieldPlace = Omit<Diagnostic, "severity" | "code" | "message" | "hint">;

/**
 * Returns an error if no machine of the fleet can be that of `place`, by its name or its labels. Load, and machines that do not answer now, are for the plan.
 * @param machines those of the fleet; undefined: this service has none
 * @param locate returns the place of a field of the lab
 */
export async function placeProblems(
  machines: MachineStore | undefined,
  place: LabPlacement | undefined,
  locate: (field: "place.machine" | "place.labels") => Promise<readonly FieldPlace[]>,
): Promise<readonly Diagnostic[]> {
  if (machines?.own === undefined || place === undefined) return [];
  const { machine, labels = {} } = place;
  const known = machines.list().filter(runsLabs);
  const named = machine === undefined ? known : known.filter(({ name }) => name === machine);
  const wanted = Object.entries(labels);
  if (named.some((one) => wanted.every(([key, value]) => one.labels[key] === value))) return [];
  const isThere = machines.list().some(({ name }) => name === machine);
  const unnamed = isThere ? `the machine ${machine} runs no labs` : `there is no machine ${machine}`;
  const pairs = wanted.map((pair) => pair.join("=")).join(", ");
  const unlabelled = machine === undefined ? `no machine has the labels ${pairs}` : `the machine ${machine} lacks the labels ${pairs}`;
  const isUnnamed = machine !== undefined && named.length === 0;
  const places = await locate(isUnnamed ? "place.machine" : "place.labels");
  const hint = `machines that run labs: ${known.map(({ name }) => name).join(", ")}`;
  return places.map((where) => ({ severity: "error", code: "no_machine", message: isUnnamed ? unnamed : unlabelled, hint, ...where }));
}
