import { Failure } from "../../contract/errors.ts";
import type { ProjectPayload, ValidateData } from "../../contract/schemas/project.ts";
import type { HostSession } from "../../hosts/host.ts";
import { byPlace, type Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { Call, Caller } from "../common/call.ts";
import { badRequest } from "../common/refusals.ts";
import type { HostPart, LookupParts, SessionsPart, StorePart, WorkPart } from "../context/parts.ts";
import { checkFields, pathOf } from "../context/selector.ts";
import { stateIds } from "../context/state.ts";
import { placeProblems } from "../placement/place-problems.ts";
import { type Intent, readSent } from "../work/intents.ts";
import { attributeProblems } from "./attributes.ts";
import { configProblems } from "./config-problems.ts";
import { fitProblems } from "./fit-problems.ts";
import { bindProblems, newNodeProblems, portProblems } from "./host-room.ts";
import { kernelProblems } from "./kernel-needs.ts";
import { needProblems } from "./template-needs.ts";
import { trafficFilterProblems } from "./traffic-filters.ts";

/**
 * Checks a client's intent, whether the host can deploy it, and the fields that name its project. The lab itself is not looked up, so that it
 * discloses nothing about it; only the node numbers of the labs that the host shows to the caller are counted. Otherwise, except for the
 * ports of the machine that nodes publish, the result does not depend on changing values such as free memory. If the host is unreachable, warnings name the skipped checks. Throws bad_request, field_not_allowed, expired_host_session, and invalid_intent with every problem.
 */
export async function validateProject(context: LookupParts, caller: Caller, payload: ProjectPayload, call: Call): Promise<ValidateData> {
  if (payload.yaml === undefined) throw badRequest("/yaml", "yaml is missing: send the intent");
  const manifest = checkFields(payload);
  const intent = await readSent(context, payload.yaml, payload.files ?? {});
  const { lab, yaml, files, warnings } = intent;
  const path = pathOf(payload, manifest, lab.name);
  if (payload.state !== undefined && payload.state !== null) stateIds(payload.state, context.host, path);
  const isNamed = payload.lab !== undefined || manifest?.lab !== undefined;
  const found = [...warnings, ...(await hostProblems(context, caller, intent, { signal: call.signal, path, isNamed }))].sort(byPlace);
  if (!found.some(({ severity }) => severity === "error")) return { status: "valid", warnings: found };
  throw new Failure("invalid_intent", showDiagnostics(found, { yaml, files }), { data: { diagnostics: found } });
}

/** Problems that the host reports for the intent. A part that cannot be checked on the host gets a warning. */
async function hostProblems(
  context: HostPart & SessionsPart & WorkPart & StorePart,
  caller: Caller,
  intent: Intent,
  { signal, path, isNamed }: Pick<Call, "signal"> & ProjectPath,
): Promise<readonly Diagnostic[]> {
  const asked = context.sessions.hostSession(caller);
  const ask = async (
    check: (host: HostSession) => Promise<readonly Diagnostic[]>,
    unasked: (why: string) => Promise<readonly Diagnostic[]>,
  ): Promise<readonly Diagnostic[]> => {
    try {
      return await check(await asked);
    } catch (error) {
      // If the caller's host session has ended, the caller must sign in and repeat the request.
      if (!(error instanceof Failure) || error.code === "expired_host_session") throw error;
      return await unasked(error.message);
    }
  };
  const found = await Promise.all([
    asked.then(
      (host) => pathProblems(context, host, intent, { path, isNamed }),
      // The warning about nodes already reports that the host is unreachable.
      () => [],
    ),
    ask(
      (host) => trafficFilterProblems(context, host, intent, { signal }),
      (why) => uncheckedFilters(context, intent, why),
    ),
    ask(
      (host) => attributeProblems(context, host, intent, { signal }),
      (why) => uncheckedAttributes(context, intent, why),
    ),
    ask(
      (host) => fitProblems(context, host, intent, path),
      (why) => uncheckedNodes(context, intent, why),
    ),
    ask(
      async (host) =>
        host.checkLabPath?.(path) === undefined ? newNodeProblems(context, host, intent, path, intent.lab.nodes.length) : [],
      async () => [],
    ),
    placeProblems(context.store.shared?.machines, intent.lab.place, (field) =>
      context.work.fieldPlaces(intent.yaml, intent.files, [{ kind: "lab", key: path, field }]),
    ),
    // The warning about nodes already reports that the host is unreachable.
    ask(
      (host) => configProblems(context, host, intent),
      async () => [],
    ),
    ask(
      (host) => kernelProblems(context, host, intent),
      async () => [],
    ),
    ask(
      (host) => needProblems(context, host, intent),
      async () => [],
    ),
    ask(
      (host) => portProblems(context, host, intent, path),
      async () => [],
    ),
    ask(
      (host) => bindProblems(context, host, intent, path),
      async () => [],
    ),
  ]);
  return found.flat();
}

interface ProjectPath {
  readonly path: string;
  /** The path is from the payload or the manifest, not from the intent. */
  readonly isNamed: boolean;
}

/** Checks whether the host can have a lab at the project's path. Throws bad_request if the path is not from the intent. */
async function pathProblems(
  { work }: WorkPart,
  { checkLabPath }: Pick<HostSession, "checkLabPath">,
  { yaml, files }: Intent,
  { path, isNamed }: ProjectPath,
): Promise<readonly Diagnostic[]> {
  const message = checkLabPath?.(path);
  if (message === undefined) return [];
  if (isNamed) throw badRequest("/lab", message);
  const places = await work.fieldPlaces(yaml, files, [{ kind: "lab", key: path, field: "name" }]);
  return places.map((place) => ({ severity: "error", code: "invalid_name", message, ...place }));
}

/** A warning for each filter. */
async function uncheckedFilters({ work }: WorkPart, { yaml, files }: Intent, why: string): Promise<readonly Diagnostic[]> {
  const message = `the host could not be asked whether its pcap takes this filter: ${why}`;
  const places = [...(await work.filterPlaces(yaml, files)).values()];
  return places.map((place) => ({ severity: "warning", code: "filter_unchecked", message, ...place }));
}

/** One warning for all attributes. */
async function uncheckedAttributes({ work }: WorkPart, { lab, yaml, files }: Intent, why: string): Promise<readonly Diagnostic[]> {
  const fields = lab.nodes.flatMap(({ key, attributes }) => Object.keys(attributes).map((name) => ({ key, field: `attributes.${name}` })));
  const message = `the host could not be asked whether it takes the attributes of nodes, of which this is the first: ${why}`;
  const places = await work.fieldPlaces(
    yaml,
    files,
    fields.slice(0, 1).map((field) => ({ kind: "node", ...field })),
  );
  return places.map((place) => ({ severity: "warning", code: "attribute_unchecked", message, ...place }));
}

/** One warning instead of all checks that need the catalogue. */
async function uncheckedNodes({ work }: WorkPart, { lab, yaml, files }: Intent, why: string): Promise<readonly Diagnostic[]> {
  const first = lab.nodes.slice(0, 1).map(({ key }) => ({ kind: "node", key, field: "template" }));
  const message = `the host could not be asked about templates, images, interfaces and what it supports: ${why}`;
  return (await work.fieldPlaces(yaml, files, first)).map((place) => ({ severity: "warning", code: "host_unchecked", message, ...place }));
}
