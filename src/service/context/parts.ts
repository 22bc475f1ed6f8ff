import type { InspectionData } from "../../contract/schemas/observe.ts";
import type { Host } from "../../hosts/host.ts";
import type { Clock } from "../common/clock.ts";
import type { FleetCalls } from "../common/fleet-calls.ts";
import type { Log } from "../common/log.ts";
import type { RecentMap } from "../common/recent-map.ts";
import type { UrlImports } from "../common/url-imports.ts";
import type { ReadyConditions } from "../conditions/ready-conditions.ts";
import type { Events } from "../events/events.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Moving } from "../jobs/moving.ts";
import type { LabUses } from "../leases/lab-uses.ts";
import type { HostLoads } from "../observe/host-load.ts";
import type { Observations } from "../observe/observations.ts";
import type { Placements } from "../placement/placements.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { ResumePolicy, Store } from "../store/store.ts";
import type { ConsoleDesk } from "../streams/console-desk.ts";
import type { LabIdentities } from "../streams/lab-identities.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import type { Work } from "../work/work.ts";

/*
 * The parts of the context. A function takes the parts that it uses and no others, as `StorePart & ClockPart`. The two groups at the end are for the
 * lookup of a lab and for changes.
 */

export interface HostPart {
  readonly host: Host;
}

export interface StorePart {
  readonly store: Store;
}

export interface ClockPart {
  readonly clock: Clock;
}

export interface LogPart {
  readonly log: Log;
}

export interface SessionsPart {
  readonly sessions: Sessions;
}

export interface UrlImportsPart {
  /** undefined: imports by URL are not allowed. */
  readonly urlImports: UrlImports | undefined;
}

export interface WorkPart {
  readonly work: Work;
}

export interface JobsPart {
  readonly jobs: Jobs;
}

export interface ObservationsPart {
  readonly observations: Observations;
}

export interface InspectionsPart {
  /** Inspect answers by session and lab. */
  readonly inspections: RecentMap<InspectionData>;
}

export interface ConditionsPart {
  readonly conditions: ReadyConditions;
}

export interface ConsolesPart {
  readonly consoles: ConsoleDesk;
}

export interface StreamsPart {
  readonly streams: OpenStreams;
}

export interface IdentitiesPart {
  readonly identities: LabIdentities;
}

export interface EventsPart {
  readonly events: Events;
}

export interface HostLoadsPart {
  readonly hostLoads: HostLoads;
}

export interface PlansPart {
  /** Newest plan identities of labs without a record. Bounded, not persisted. */
  readonly unrecordedPlans: RecentMap<string>;
}

/** Labs whose nodes ended with their host. */
export interface ResumePart {
  /** Policy of labs without their own. */
  readonly resumeDefault: ResumePolicy;
  /** Labs with nodes that ended before the service started and are not restored yet: listLabs reads only these. */
  readonly interrupted: Set<string>;
}

/** Last uses of labs. */
export interface UsesPart {
  readonly uses: LabUses;
}

export interface PlacementsPart {
  readonly placements: Placements;
}

export interface FleetPart {
  /** undefined: this service is not part of a fleet. */
  readonly fleet: FleetCalls | undefined;
}

export interface MovingPart {
  readonly moving: Moving;
}

export interface MemoryPart {
  /** Memory of this machine, MiB; undefined: it is not known. */
  readonly machineMemory: number | undefined;
}

export interface VersionPart {
  readonly version: string;
}

/** Finds the lab of a call: its record, its intent, and the session with its host. */
export interface LookupParts extends HostPart, StorePart, SessionsPart, WorkPart, PlacementsPart, MemoryPart {}

/** Runs changes of labs. */
export interface ChangeParts
  extends LookupParts,
    ClockPart,
    LogPart,
    JobsPart,
    ObservationsPart,
    InspectionsPart,
    ConsolesPart,
    ConditionsPart,
    UsesPart,
    PlansPart,
    FleetPart,
    MovingPart {}
