import { type LabwrightClient, LabwrightError, type ResultOf } from "../../client/index.ts";
import { checkLabPath } from "../../intent/lab/lab-path.ts";
import { UsageError } from "../command/usage-error.ts";

type Lab = ResultOf<"listLabs">["labs"][number];

/** A lab of a class. */
export interface ClassLab extends Lab {
  readonly student: string;
}

/** The outcome of the work on one student's lab. */
export interface Outcome {
  readonly student: string;
  readonly lab: string;
  readonly outcome: string;
  /** Absent: it went well. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Returns the path of a class, which contains the labs of its students. Throws UsageError. */
export function classPath(name: string): string {
  const checked = checkLabPath(name);
  if ("problem" in checked) throw new UsageError(`${JSON.stringify(name)} cannot be the name of a class: ${checked.problem}`);
  return checked.path;
}

/**
 * Returns the labs directly below the path of a class that belong to its teacher, in the order of their paths. Labs of others below the path are not labs of the
 * class. Throws UsageError if there is none.
 */
export async function labsOfClass(client: LabwrightClient, name: string): Promise<readonly ClassLab[]> {
  const path = classPath(name);
  const [{ labs }, { username }] = await Promise.all([client.listLabs(), client.getSession()]);
  const found = labs.flatMap((lab) => {
    const student = lab.lab.startsWith(`${path}/`) ? lab.lab.slice(path.length + 1) : "";
    return student === "" || student.includes("/") || lab.owner !== username ? [] : [{ ...lab, student }];
  });
  if (found.length === 0)
    throw new UsageError(`you have no labs of a class ${path}`, "labwright fanout lab.yaml --students roster.csv makes them");
  return found;
}

/** Returns the lab of a student. Throws UsageError. */
export function labOf(labs: readonly ClassLab[], student: string): ClassLab {
  const found = labs.find((lab) => lab.student === student);
  if (found !== undefined) return found;
  throw new UsageError(`the class has no student ${JSON.stringify(student)}`, `it has ${labs.map((lab) => lab.student).join(", ")}`);
}

/** Runs the work on a student's lab. An error of the service is an outcome; any other ends the command. */
export async function outcomeOf(student: string, lab: string, work: () => Promise<string>): Promise<Outcome> {
  try {
    return { student, lab, outcome: await work() };
  } catch (error) {
    if (!(error instanceof LabwrightError)) throw error;
    return { student, lab, outcome: "failed", error: { code: error.code ?? "internal", message: error.message } };
  }
}
