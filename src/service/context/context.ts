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

/** What the use cases share. */
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
  /** For labs that have no policy of their own. */
  readonly resumeDefault: ResumePolicy;
  /** Labs that had ended unasked when the service started, as far as they have not come back: what the list of labs looks at. */
  readonly interrupted: Set<string>;
  /** Inspect answers by session and lab. */
  readonly inspections: RecentMap<InspectionData>;
  /** Newest plan identities of labs that have no record yet: bounded, gone with the service. */
  readonly unrecordedPlans: RecentMap<string>;
}
