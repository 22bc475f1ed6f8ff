import { useEffect, useState } from "preact/hooks";
import type { Job } from "../../../client/browser.ts";
import { call } from "../../service/api.ts";
import { useEvents } from "../../service/events.ts";

/** The data of a job event. */
interface JobEvent {
  readonly job: string;
  readonly operation: string;
  readonly user: string;
  readonly status: Job["status"];
  readonly step: number;
  readonly steps: number;
}

/** A change of the lab by another client, or by this page before a reload. */
export interface OtherChange {
  readonly job: string;
  readonly label: string;
  readonly step: number;
  readonly steps: number;
}

/** Returns the running change of the lab that another client started, if any. @param own the job that this page runs itself */
export function useOtherChange(lab: string, own: string | undefined): OtherChange | undefined {
  const [other, setOther] = useState<OtherChange>();
  const update = ({ job, operation, user, status, step, steps }: JobEvent) =>
    setOther((now) => {
      if (status === "running") return { job, label: `${operation} by ${user}`, step, steps };
      return now?.job === job ? undefined : now;
    });
  const readJobs = () => {
    call("listJobs", {}).then(
      ({ jobs }) => {
        const running = jobs.find((one) => one.lab === lab && one.status === "running");
        if (running === undefined) setOther(undefined);
        else update(running);
      },
      // The next event of the job shows it again.
      () => setOther(undefined),
    );
  };
  useEffect(readJobs, [lab]);
  useEvents(lab, ({ type, data }) => {
    if (type === "job") update(data as JobEvent);
    if (type === "gap") readJobs();
  });
  return other?.job === own ? undefined : other;
}
