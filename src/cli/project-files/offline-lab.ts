import type { Lab } from "../../intent/lab/lab.ts";
import { readIntent } from "../../intent/read/read.ts";
import type { Context } from "../command/context.ts";
import { checkOffline } from "./offline-check.ts";

/** Returns the lab of the file that the arguments name. Throws UsageError without a file, LabwrightError with diagnostics for a lab with errors. */
export async function offlineLab(context: Context): Promise<Lab> {
  const project = await context.projectFile();
  checkOffline(context, project);
  const { lab } = readIntent(project.file.yaml, project.file.files);
  if (lab === undefined) throw new Error("a lab without errors must be readable");
  return lab;
}
