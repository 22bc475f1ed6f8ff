import { Failure } from "../contract/errors.ts";
import type { ProjectPayload, ValidateData } from "../contract/schemas/project.ts";
import type { Diagnostic } from "../intent/diagnostic.ts";
import { badRequest, checkFields, type Intent, pathOf, readSent } from "./address.ts";
import type { Context } from "./context.ts";
import type { Call, Caller } from "./service.ts";
import { stateIds } from "./state.ts";
import { checkTrafficFilters } from "./traffic-filters.ts";

/**
 * Checks what a client would send: the intent, and the fields that name its project. No lab is looked up, so that it tells nothing
 * of labs. Without the host it works too, and warns of what was not checked then. Throws bad_request, field_not_allowed, invalid_intent.
 */
export async function validateProject(context: Context, caller: Caller, payload: ProjectPayload, call: Call): Promise<ValidateData> {
  if (payload.yaml === undefined) throw badRequest("/yaml", "an intent is needed");
  const manifest = checkFields(payload);
  const intent = await readSent(context, payload.yaml, payload.files ?? {});
  const { lab, warnings } = intent;
  const path = pathOf(payload, manifest, lab.name);
  if (payload.state !== undefined && payload.state !== null) stateIds(payload.state, context.host, path);
  const unchecked = await checkFilters(context, caller, intent, call);
  return { status: "valid", warnings: [...warnings, ...unchecked] };
}

/** Throws invalid_intent; a warning for each filter where the host cannot be asked. */
async function checkFilters(context: Context, caller: Caller, intent: Intent, { signal }: Call): Promise<readonly Diagnostic[]> {
  if (intent.lab.trafficFilters.length === 0) return [];
  try {
    await checkTrafficFilters(context, await context.sessions.hostSession(caller), intent, { signal });
    return [];
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "invalid_intent") throw error;
    const message = `the host could not be asked whether its pcap takes this filter: ${error.message}`;
    const places = await context.work.filterPlaces(intent.yaml, intent.files);
    return [...places.values()].map((place) => ({ severity: "warning", code: "filter_unchecked", message, ...place }));
  }
}
