import type { StopMode } from "../../../engine/model/plan.ts";
import { type Feature, featureNames, type HostCapabilities } from "../../host.ts";
import { recordOf, textOf } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { EveAccount } from "./account.ts";

/** The differences between the editions, as facts. docs/hosts/eve.md marks those that were not verified on a host. */
export interface EveEdition {
  readonly name: "community" | "professional" | "pnetlab";
  /** As the host reports it: 5.0.1-10, 6.5.0-27-PRO. */
  readonly version: string;
  /** Labs are read as one file, by export. */
  readonly exports: boolean;
  /**
   * Which labs are written as one file, by import. On Professional a file may hold more than is known here; PNETLab gives the lab to who
   * imports it, and does not wire what runs.
   */
  readonly imports: "any" | "new" | "none";
  /** A lab's file is copied aside and restored, with any content. */
  readonly snapshots: boolean;
  /** Ports, interfaces and bridges of running nodes are named by user and node, not by lab: two labs of one user can meet. */
  readonly sharedNames: boolean;
  /** The path after …/nodes/N for each stop mode that there is. */
  readonly stop: Readonly<Partial<Record<StopMode, string>>>;
  /** Startup configs are kept in sets; this one is used. */
  readonly configSet: string | undefined;
  /** The source of link quality; absent: links have none. */
  readonly quality: "topology" | "nodes" | undefined;
  /** Links of running nodes change at once. */
  readonly hotPlug: boolean;
  readonly lock: boolean;
  /** A running node's configuration is taken over by a call. On Professional it goes into a set, and on PNETLab into one of several: not known which. */
  readonly savesConfigs: boolean;
  /** A hidden network stays when its last end goes. */
  readonly keepsHidden: boolean;
  readonly maxNodes: number;
  /** The end of a description in the list of templates that means: no image. */
  readonly missing: readonly string[];
}

const community = {
  name: "community",
  exports: true,
  imports: "any",
  snapshots: true,
  sharedNames: true,
  // One way to stop, which is to pull the plug.
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
  // guess pro-stop-modes: 0 asks the node to shut down, 1 and 3 pull the plug; what 2 does is not known.
  stop: { 0: "stop/stopmode=0", 1: "stop/stopmode=1", 3: "stop/stopmode=3" },
  // guess pro-config-set: the set that a lab begins with.
  configSet: "default",
  quality: "topology",
  // guess pro-hot-plug: users report both, and a restart is correct in both cases.
  hotPlug: false,
  lock: true,
  savesConfigs: false,
  keepsHidden: false,
  maxNodes: 127,
} as const;

/** guess pnetlab-source: all of it is read in its source of 2023, and was not seen on a host. */
const pnetlab = {
  name: "pnetlab",
  exports: true,
  // guess pnetlab-import: what is imported is wired when it starts, as what is drawn.
  imports: "new",
  snapshots: false,
  sharedNames: false,
  stop: { 1: "stop", 3: "stop" },
  configSet: undefined,
  quality: "nodes",
  // guess pnetlab-hot-plug: for nodes of every type.
  hotPlug: true,
  // It takes a password, which nobody would know later.
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
