import type { StopMode } from "../../../engine/model/plan.ts";
import { type Feature, featureNames, type HostCapabilities } from "../../host.ts";
import { recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { EveAccount } from "./account.ts";

/** The differences between the editions, as facts. docs/hosts/eve.md marks those that were not verified on a host. */
export interface EveEdition {
  readonly name: "community" | "professional" | "pnetlab";
  /** The version that the host reports: 5.0.1-10, 6.5.0-27-PRO. */
  readonly version: string;
  /** Labs are read as one file, by export. */
  readonly exports: boolean;
  /**
   * Which labs are written as one file, by import. On Professional a file may contain unknown parts. PNETLab makes the importing user the owner of
   * the lab, and does not wire running nodes.
   */
  readonly imports: "any" | "new" | "none";
  /** A lab's file can be copied and restored, with any content. */
  readonly snapshots: boolean;
  /** Ports, interfaces and bridges of running nodes are named by user and node, not by lab: two labs of one user can conflict. */
  readonly sharedNames: boolean;
  /** The path after …/nodes/N for each supported stop mode. */
  readonly stop: Readonly<Partial<Record<StopMode, string>>>;
  /** Startup configs are kept in sets; this one is used. */
  readonly configSet: string | undefined;
  /** The source of link quality. Absent: links have no quality. */
  readonly quality: "topology" | "nodes" | undefined;
  /** Changed links of running nodes take effect at once. */
  readonly hotPlug: boolean;
  readonly lock: boolean;
  /**
   * A call stores a running node's configuration as its startup config. Not used on Professional and PNETLab, which store it in one of several config
   * sets: it is not known which.
   */
  readonly savesConfigs: boolean;
  /** A hidden network stays when its last end is removed. */
  readonly keepsHidden: boolean;
  readonly maxNodes: number;
  /** Suffix of a description in the list of templates that marks a template without an image. */
  readonly missing: readonly string[];
}

const community = {
  name: "community",
  exports: true,
  imports: "any",
  snapshots: true,
  sharedNames: true,
  // Only one stop mode: power off.
  stop: { 1: "stop", 3: "stop" },
  configSet: undefined,
  quality: undefined,
  hotPlug: false,
  lock: true,
  savesConfigs: true,
  keepsHidden: false,
  maxNodes: 127,
} as const;

const professional = {
  name: "professional",
  exports: false,
  imports: "none",
  snapshots: false,
  // guess pro-own-names: labs of one user do not share ports and bridges.
  sharedNames: false,
  // guess pro-stop-modes: 0 asks the node to shut down, 1 and 3 pull the plug; the effect of 2 is not known.
  stop: { 0: "stop/stopmode=0", 1: "stop/stopmode=1", 3: "stop/stopmode=3" },
  // guess pro-config-set: the name of a new lab's config set.
  configSet: "default",
  quality: "topology",
  // guess pro-hot-plug: users report both, and a restart is correct in both cases.
  hotPlug: false,
  lock: true,
  savesConfigs: false,
  keepsHidden: false,
  maxNodes: 127,
} as const;

/** guess pnetlab-source: all values are from its source code of 2023 and were not verified on a host. */
const pnetlab = {
  name: "pnetlab",
  exports: true,
  // guess pnetlab-import: imported links are wired when their nodes start, like drawn links.
  imports: "new",
  snapshots: false,
  sharedNames: false,
  stop: { 1: "stop", 3: "stop" },
  configSet: undefined,
  quality: "nodes",
  // guess pnetlab-hot-plug: for nodes of every type.
  hotPlug: true,
  // A lock needs a password, which nobody would know later.
  lock: false,
  savesConfigs: false,
  keepsHidden: true,
  // guess pnetlab-nodes: its source has no limit except for IOL.
  maxNodes: 512,
} as const;

export async function probeEdition(account: EveAccount): Promise<EveEdition> {
  // guess pro-hidden-templates: Professional has .hided in place of .missing.
  const missing = [".missing", ".hided"];
  // It reports no version.
  if (account.pnetlab) return { ...pnetlab, version: "PNETLab", missing };
  const data = recordOf(await account.get("/api/status", "read the host's version"));
  const version = textOf(data.version);
  if (version === undefined) throw hostFailure("the host reports no version: it is not EVE-NG, or of an edition that is not supported");
  return { ...(/-PRO$/i.test(version) ? professional : community), version, missing };
}

export function editionCapabilities(edition: EveEdition): HostCapabilities {
  const works: readonly Feature[] = [
    "consoleStream",
    "consoleRun",
    "wipe",
    "importLab",
    "tasks",
    ...(edition.lock ? (["lock"] as const) : []),
    ...(edition.name === "pnetlab" ? [] : (["hostLoad", "hostUsers"] as const)),
    ...(edition.savesConfigs ? (["saveConfigs"] as const) : []),
    ...(edition.hotPlug ? (["hotPlug"] as const) : []),
    ...(edition.stop[0] === undefined ? [] : (["gracefulStop"] as const)),
    ...(edition.quality !== undefined ? (["linkQuality"] as const) : []),
    ...(edition.sharedNames ? (["renumber"] as const) : []),
    ...(edition.snapshots ? (["snapshots"] as const) : []),
    ...(edition.exports ? (["pictures"] as const) : []),
  ];
  const features = Object.fromEntries(featureNames.map((name) => [name, works.includes(name)])) as Record<Feature, boolean>;
  return { reachable: true, features, stopModes: Object.keys(edition.stop).map((mode) => Number(mode) as StopMode) };
}
