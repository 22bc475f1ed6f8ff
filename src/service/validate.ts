import { Failure } from "../contract/errors.ts";
import type { ProjectPayload, ValidateData } from "../contract/schemas/project.ts";
import { byPlace, type Diagnostic } from "../intent/diagnostic.ts";
import { badRequest, checkFields, type Intent, pathOf, readSent } from "./address.ts";
import type { Context } from "./context.ts";
import { checkOnHost } from "./host-check.ts";
import type { Call, Caller } from "./service.ts";
import { stateIds } from "./state.ts";

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
  const unchecked = await checked(context, caller, intent, call);
  return { status: "valid", warnings: [...warnings, ...unchecked] };
}

/** Throws invalid_intent; a warning for each filter, and one for all attributes, where the host cannot be asked. */
async function checked(context: Context, caller: Caller, intent: Intent, { signal }: Call): Promise<readonly Diagnostic[]> {
  const { lab, yaml, files } = intent;
  const first = lab.nodes.flatMap(({ key, attributes }) => Object.keys(attributes).map((attribute) => ({ node: key, attribute })))[0];
  if (lab.trafficFilters.length === 0 && first === undefined) return [];
  try {
    await checkOnHost(context, await context.sessions.hostSession(caller), intent, { signal });
    return [];
  } catch (error) {
    if (!(error instanceof Failure) || error.code === "invalid_intent") throw error;
    const unasked = (what: string) => `the host could not be asked ${what}: ${error.message}`;
    const filters = [...(await context.work.filterPlaces(yaml, files)).values()].map((place) => {
      const message = unasked("whether its pcap takes this filter");
      return { severity: "warning", code: "filter_unchecked", message, ...place } as const;
    });
    const [attribute] = first === undefined ? [] : await context.work.attributePlaces(yaml, files, [first]);
    if (attribute === undefined) return filters;
    const message = unasked("whether it takes the attributes of nodes, of which this is the first");
    return [...filters, { severity: "warning", code: "attribute_unchecked", message, ...attribute } as const].sort(byPlace);
  }
}
