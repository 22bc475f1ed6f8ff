import { LabwrightError } from "../../client/browser.ts";
import type { DataOf } from "../../contract/operations.ts";
import { call } from "../service/api.ts";

export type PublicProject = DataOf<"getPublicProject">;

export interface ReadIntent {
  readonly intent: PublicProject;
  /** Whether the user may edit the intent. */
  readonly mayChange: boolean;
}

/** Reads a lab's intent: as written if the user may edit it, otherwise read-only and without secrets. Throws LabwrightError. */
export async function readIntent(lab: string, mayChange: boolean, signal?: AbortSignal): Promise<ReadIntent> {
  const options = signal === undefined ? {} : { signal };
  if (!mayChange) return { intent: await call("getPublicProject", { lab }, options), mayChange };
  try {
    return { intent: await call("getPublicProject", { lab, as_written: true }, options), mayChange: true };
  } catch (error) {
    if (!(error instanceof LabwrightError) || error.code !== "operation_not_allowed") throw error;
    return { intent: await call("getPublicProject", { lab }, options), mayChange: false };
  }
}
