import { Failure } from "../../contract/errors.ts";
import type { HostSession } from "../../hosts/host.ts";
import { byPlace } from "../../intent/diagnostics/diagnostic.ts";
import { showDiagnostics } from "../../intent/diagnostics/show.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { HostPart, WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";
import { attributeProblems } from "./attributes.ts";
import { fitProblems } from "./fit-problems.ts";
import { trafficFilterProblems } from "./traffic-filters.ts";

export interface HostCheck {
  readonly signal?: AbortSignal;
  /** The intent before an edit. Its problems are not reported again: an edit of another part must not fail because of them. */
  readonly known?: Lab;
  /** True before a deploy: problems that prevent the deploy are reported as well. */
  readonly deploying?: boolean;
}

/**
 * Checks the texts of an intent whose grammar only the host knows: traffic filters and the host's own attributes. Throws invalid_intent with a
 * diagnostic for each invalid text, with its place.
 */
export async function checkOnHost(
  context: HostPart & WorkPart,
  host: Pick<HostSession, "checkPcapFilter" | "checkAttribute" | "rules">,
  intent: Pick<Intent, "lab" | "yaml" | "files">,
  check: HostCheck = {},
): Promise<void> {
  const found = await Promise.all([trafficFilterProblems(context, host, intent, check), attributeProblems(context, host, intent, check)]);
  if (found.flat().length === 0) return;
  const others = check.deploying === true ? await fitProblems(context, host, intent) : [];
  const diagnostics = [...found.flat(), ...others.filter(({ severity }) => severity === "error")].sort(byPlace);
  const { yaml, files } = intent;
  throw new Failure("invalid_intent", showDiagnostics(diagnostics, { yaml, files }), { data: { diagnostics } });
}
