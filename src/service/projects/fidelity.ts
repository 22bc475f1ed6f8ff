import type { JoinedIds } from "../../engine/compare/join.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { CopiedExtra } from "../../hosts/host.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { SourceLines } from "../../intent/places/source-lines.ts";
import type { Intent } from "../work/intents.ts";

/** One line of the import report: a part of the source that was kept, mapped or dropped. */
export interface ReportLine {
  /** JSON pointer into the intent. */
  readonly path: string;
  /** Line of the copy's intent, from 1. */
  readonly line?: number;
  readonly level: "kept" | "mapped" | "dropped";
  readonly message: string;
}

export interface FidelityInput {
  readonly observed: ObservedLab;
  /** The source as intent. */
  readonly captured: Lab;
  readonly ids: JoinedIds;
  /** That of the copy. */
  readonly intent: Intent;
  /** Lines of the copy's intent. */
  readonly lines: SourceLines;
}

/** Builds the import report: one entry for every object of the source, including parts that a definition cannot contain. */
export function fidelityReport({ observed, captured, ids, intent, lines }: FidelityInput): readonly ReportLine[] {
  const at = (line: number | undefined) => (line === undefined ? {} : { line });
  const report: ReportLine[] = [];
  const add = (path: string, level: ReportLine["level"], message: string, line?: number) =>
    report.push({ path, ...at(line), level, message });

  if (intent.lab.name !== observed.name) add("/name", "mapped", `the lab ${observed.name} is ${intent.lab.name} here`);
  if (observed.locked) add("/", "dropped", "the lock: the copy is not locked");
  const natives = new Map(observed.nodes.map((node) => [node.id, node]));
  for (const { key } of captured.nodes) {
    const native = natives.get(ids.nodes[key] ?? "");
    const path = `/nodes/${pointer(key)}`;
    const line = lines.nodes.get(key);
    if (native !== undefined && native.name !== key)
      add(path, "mapped", `the node ${JSON.stringify(native.name)} has the key ${key}`, line);
    else add(path, "kept", "the node's definition", line);
    if (native?.startupConfig !== undefined && native.startupConfig !== "")
      add(`${path}/startup-config`, "kept", "the configuration", line);
    if (native !== undefined && native.power !== "stopped" && native.start !== true) {
      add(`${path}/start`, "mapped", `it is ${native.power} in the source; the copy is stopped`, line);
    }
  }
  for (const { key } of captured.networks) {
    const native = observed.networks.find(({ id }) => id === ids.networks[key]);
    const [path, line] = [`/networks/${pointer(key)}`, lines.networks.get(key)];
    if (native !== undefined && native.name !== key)
      add(path, "mapped", `the network ${JSON.stringify(native.name)} has the key ${key}`, line);
    else add(path, "kept", "the network", line);
  }
  for (const [index, { key }] of captured.links.entries()) add(`/links/${index}`, "kept", `the link ${key}`, lines.links.get(key));
  if (captured.management !== undefined) add("/management", "kept", "the management network");
  if (captured.texts.length > 0) add("/texts", "kept", `${captured.texts.length} texts`);
  const { shapes = [] } = captured;
  if (shapes.length > 0) add("/shapes", "kept", shapes.length === 1 ? "1 shape" : `${shapes.length} shapes`);
  if (captured.trafficFilters.length > 0) add("/traffic_filters", "kept", `${captured.trafficFilters.length} traffic filters`);
  if (observed.nodes.length > 0) {
    add("/nodes", "dropped", "what nodes wrote to their disks: the copy's disks are new");
    add("/nodes", "mapped", "the host's ids, and the MAC addresses that the host derives from them: the copy has its own");
  }
  return report;
}

/** The report line of a part that the host copied in addition to the definition. */
export function extraLine({ level, message, node, network }: CopiedExtra): ReportLine {
  const path = node !== undefined ? `/nodes/${pointer(node)}` : network !== undefined ? `/networks/${pointer(network)}` : "/";
  return { path, level, message };
}

function pointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
