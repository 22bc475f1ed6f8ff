import type { InspectionData } from "../../contract/schemas/observe.ts";
import type { Host } from "../../hosts/host.ts";
import type { Clock } from "../common/clock.ts";
import type { Log } from "../common/log.ts";
import type { RecentMap } from "../common/recent-map.ts";
import type { Events } from "../events/events.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { HostLoads } from "../observe/host-load.ts";
import type { Observations } from "../observe/observations.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { ResumePolicy, Store } from "../store/store.ts";
import type { ConsoleDesk } from "../streams/console-desk.ts";
import type { LabIdentities } from "../streams/lab-identities.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import type { Work } from "../work/work.ts";

/** Services and state that the use cases share. */
export interface Context {
  readonly host: Host;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly sessions: Sessions;
  readonly observations: Observations;
  readonly jobs: Jobs;
  readonly consoles: ConsoleDesk;
  readonly streams: OpenStreams;
  readonly identities: LabIdentities;
  readonly events: Events;
  readonly hostLoads: HostLoads;
  readonly work: Work;
  /** Policy of labs without their own. */
  readonly resumeDefault: ResumePolicy;
  /** Labs with nodes that ended before the service started and are not restored yet: listLabs reads only these. */
  readonly interrupted: Set<string>;
  /** Inspect answers by session and lab. */
  readonly inspections: RecentMap<InspectionData>;
  /** Newest plan identities of labs without a record. Bounded, not persisted. */
  readonly unrecordedPlans: RecentMap<string>;
}
