import { cutOff } from "../../console/text/cut-off.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import { RecentMap } from "../common/recent-map.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";
import type { HostCheck } from "./host-check.ts";

/** Cache of filters that compiled, for all labs. */
const good = new RecentMap<true>(10_000);
/** Filters of one intent that the host compiles at the same time. The host itself keeps the load fair among users. */
const atOnce = 4;

/** Returns the traffic filters of an intent that the host's pcap cannot compile, with their places in the text. None if the host has no pcap. */
export async function trafficFilterProblems(
  { work }: WorkPart,
  host: Pick<HostSession, "checkPcapFilter">,
  { lab, yaml, files }: Pick<Intent, "lab" | "yaml" | "files">,
  { signal, known }: HostCheck,
): Promise<readonly Diagnostic[]> {
  const { checkPcapFilter } = host;
  if (checkPcapFilter === undefined) return [];
  const old = new Set(known?.trafficFilters.map(({ match }) => match));
  const left = [...new Set(lab.trafficFilters.map(({ match }) => match))].filter(
    (match) => !old.has(match) && good.get(match) === undefined,
  );
  const problems = new Map<string, string>();
  const compile = async () => {
    for (let match = left.shift(); match !== undefined; match = left.shift()) {
      if (signal?.aborted === true) throw cutOff(signal);
      const problem = await checkPcapFilter(match);
      if (problem === undefined) good.set(match, true);
      else problems.set(match, problem);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, compile));
  if (problems.size === 0) return [];
  const places = await work.filterPlaces(yaml, files);
  return lab.trafficFilters.flatMap(({ name, match }): Diagnostic[] => {
    const problem = problems.get(match);
    const place = places.get(name);
    if (problem === undefined || place === undefined) return [];
    return [{ severity: "error", code: "invalid_filter", message: `the traffic filter ${JSON.stringify(name)}: ${problem}`, ...place }];
  });
}
