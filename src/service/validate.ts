import type { ProjectPayload, ValidateData } from "../contract/schemas/project.ts";
import { badRequest, checkFields, pathOf, readSent } from "./address.ts";
import type { Context } from "./context.ts";
import { stateIds } from "./state.ts";

/**
 * Checks what a client would send: the intent, and the fields that name its project. Nothing is looked up, so that it works without the
 * host and tells nothing of labs. Throws bad_request, field_not_allowed, invalid_intent.
 */
export async function validateProject(context: Context, payload: ProjectPayload): Promise<ValidateData> {
  if (payload.yaml === undefined) throw badRequest("/yaml", "an intent is needed");
  const manifest = checkFields(payload);
  const { lab, warnings } = await readSent(context, payload.yaml, payload.files ?? {});
  const path = pathOf(payload, manifest, lab.name);
  if (payload.state !== undefined && payload.state !== null) stateIds(payload.state, context.host, path);
  return { status: "valid", warnings: [...warnings] };
}
