import { Failure } from "../../contract/errors.ts";
import type { CapabilitiesData, ProjectModeCaps } from "../../contract/schemas/session.ts";
import { type Feature, featureNames, type Host, type HostCapabilities, type HostSession } from "../../hosts/host.ts";

/** Features that the service itself supports. A client can use a feature if both the host and the service support it. */
const served: Readonly<Record<Feature, boolean>> = {
  linkQuality: true,
  linkSuspend: true,
  capture: true,
  traffic: true,
  consoleStream: true,
  consoleRun: true,
  wipe: true,
  hibernate: true,
  gracefulStop: true,
  hotPlug: true,
  lock: true,
  importLab: true,
  nat: true,
  kvm: true,
  events: true,
  webUi: true,
  jobs: true,
  checkpoints: false,
  resume: true,
  cpuLimit: true,
  memoryLimit: true,
  processLimit: true,
  nodeLoad: true,
  consoleLog: true,
  keptDisks: true,
  saveConfigs: true,
  nodeExec: true,
  hostLoad: true,
  hostUsers: true,
  userChanges: true,
  renumber: true,
  snapshots: true,
  pictures: true,
  tasks: true,
  switching: true,
};

/** Features of the service that do not depend on the host. */
const own: ReadonlySet<Feature> = new Set(["events", "jobs"]);

export interface ServiceFeatures {
  readonly webUi: boolean;
  /** Hosts from which files are loaded; undefined: none. */
  readonly urlHosts: readonly string[] | undefined;
}

/** Returns the features that work now. For an unreachable host, only the features of the service itself. */
export async function capabilities(host: Host, session: HostSession, { webUi, urlHosts }: ServiceFeatures): Promise<CapabilitiesData> {
  const probed = await session.capabilities().catch((error: unknown): HostCapabilities => {
    if (error instanceof Failure && (error.code === "host_unreachable" || error.code === "host_timeout")) {
      return {
        reachable: false,
        features: Object.fromEntries(featureNames.map((name) => [name, false])) as Record<Feature, boolean>,
        stopModes: [],
      };
    }
    throw error;
  });
  const works = (name: Feature) => (name === "webUi" ? webUi : own.has(name) || (probed.features[name] && probed.reachable));
  const features = Object.fromEntries(featureNames.map((name) => [name, served[name] && works(name)])) as Record<Feature, boolean>;
  const change = modeCaps(features, probed.stopModes, true);
  return {
    hostReachable: probed.reachable,
    hostBaseUrl: host.url,
    features,
    projectModes: {
      create: change,
      import: { ...change, deploy: change.deploy && features.importLab },
      load: modeCaps(features, probed.stopModes, false),
    },
    ...(urlHosts !== undefined && { importUrlHosts: [...urlHosts] }),
  };
}

function modeCaps(
  features: Readonly<Record<Feature, boolean>>,
  stopModes: HostCapabilities["stopModes"],
  change: boolean,
): ProjectModeCaps {
  return {
    validate: true,
    plan: true,
    deploy: change,
    reconcileToHost: change,
    reconcileFromHost: true,
    destroy: change,
    status: true,
    inspect: true,
    open: features.webUi,
    consoles: true,
    start: change,
    stop: change,
    wipe: change && features.wipe,
    stopModes: change ? [...stopModes].sort() : [],
    quality: change && features.linkQuality,
    suspend: change && features.linkSuspend,
    capture: features.capture,
    traffic: features.traffic,
    edit: change,
  };
}

/** Readable names of features for messages; data.feature contains the identifier. */
const featureLabels: Readonly<Partial<Record<Feature, string>>> = {
  linkQuality: "link quality",
  linkSuspend: "suspending links",
  capture: "packet captures",
  traffic: "the traffic view",
  consoleLog: "logs: the output of nodes is not kept",
  importLab: "importing labs",
  keptDisks: "kept disks of removed labs",
  saveConfigs: "saving configurations",
  nodeExec: "programs in nodes: its nodes have consoles only",
  switching: "VLAN-aware switches",
  hostLoad: "a report of its load",
  hostUsers: "a list of its users",
  userChanges: "changes of its users: they are managed on the host",
  renumber: "renumbering: its labs share no numbers",
  resume: "resuming labs after a restart of the machine",
};

/** Returns the failure for a feature that the service or its host does not support now. `feature` is its name in the capabilities. */
export function unsupported(feature: Feature): Failure {
  const text =
    feature === "webUi" ? "the service was started without its pages" : `this host does not offer ${featureLabels[feature] ?? feature}`;
  return new Failure("unsupported", text, { data: { feature } });
}
