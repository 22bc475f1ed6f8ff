import type { StopMode } from "../../engine/plan.ts";
import { type Feature, featureNames, type HostCapabilities } from "../host.ts";
import type { EveAccount } from "./account.ts";
import { recordOf, textOf } from "./answer.ts";
import { hostFailure } from "./host-failure.ts";

/** What differs between the editions, as facts. docs/hosts/eve.md tells which of them were seen on a host and which were not. */
export interface EveEdition {
  readonly name: "community" | "professional";
  /** As the host tells it: 5.0.1-10, 6.5.0-27-PRO. */
  readonly version: string;
  /** Labs may be written as one file by import. On Professional a file may hold more than is known here, so it is not written. */
  readonly bulk: boolean;
  /** Ports, interfaces and bridges of running nodes are named by user and node, not by lab: two labs of one user can meet. */
  readonly sharedNames: boolean;
  /** The path after …/nodes/N for each stop mode that there is. */
  readonly stop: Readonly<Partial<Record<StopMode, string>>>;
  /** Startup configs are kept in sets; this one is used. */
  readonly configSet: string | undefined;
  readonly quality: boolean;
  readonly maxNodes: number;
  /** The end of a description in the list of templates that says: no image. */
  readonly missing: readonly string[];
}

const community = {
  name: "community",
  bulk: true,
  sharedNames: true,
  // One way to stop, which is to pull the plug.
  stop: { 1: "stop", 3: "stop" },
  configSet: undefined,
  quality: false,
  maxNodes: 127,
} as const;

const professional = {
  name: "professional",
  bulk: false,
  sharedNames: false,
  stop: { 0: "stop/stopmode=0", 1: "stop/stopmode=1", 3: "stop/stopmode=3" },
  configSet: "default",
  quality: true,
  maxNodes: 127,
} as const;

export async function probeEdition(account: EveAccount): Promise<EveEdition> {
  const data = recordOf(await account.get("/api/status", "read the host's version"));
  const version = textOf(data.version);
  if (version === undefined) throw hostFailure("the host tells no version: it is not EVE-NG, or of an edition that is not supported");
  return { ...(/-PRO$/i.test(version) ? professional : community), version, missing: [".missing", ".hided"] };
}

export function editionCapabilities(edition: EveEdition): HostCapabilities {
  const works: readonly Feature[] = [
    "consoleStream",
    "consoleRun",
    "wipe",
    "lock",
    "importLab",
    ...(edition.stop[0] === undefined ? [] : (["gracefulStop"] as const)),
    ...(edition.quality ? (["linkQuality"] as const) : []),
  ];
  const features = Object.fromEntries(featureNames.map((name) => [name, works.includes(name)])) as Record<Feature, boolean>;
  return { reachable: true, features, stopModes: Object.keys(edition.stop).map((mode) => Number(mode) as StopMode) };
}
