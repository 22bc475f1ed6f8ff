import { useEffect, useState } from "preact/hooks";
import type { Job } from "../../client/browser.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";

/** As a job event tells it. */
interface JobEvent {
  readonly job: string;
  readonly operation: string;
  readonly user: string;
  readonly status: Job["status"];
  readonly step: number;
  readonly steps: number;
}

/** A change of the lab that somebody else runs, or this page before it was loaded anew. */
export interface OtherChange {
  readonly job: string;
  readonly words: string;
  readonly step: number;
  readonly steps: number;
}

/** @param own the job that this page runs itself */
export function useOtherChange(lab: string, own: string | undefined): OtherChange | undefined {
  const [other, setOther] = useState<OtherChange>();
  const heard = ({ job, operation, user, status, step, steps }: JobEvent) =>
    setOther((now) => {
      if (status === "running") return { job, words: `${operation} by ${user}`, step, steps };
      return now?.job === job ? undefined : now;
    });
  const look = () => {
    call("listJobs", {}).then(
      ({ jobs }) => {
        const running = jobs.find((one) => one.lab === lab && one.status === "running");
        if (running === undefined) setOther(undefined);
        else heard(running);
      },
      // It is told by events, too, from its next step on.
      () => setOther(undefined),
    );
  };
  useEffect(look, [lab]);
  useEvents(lab, ({ type, data }) => {
    if (type === "job") heard(data as JobEvent);
    if (type === "gap") look();
  });
  return other?.job === own ? undefined : other;
}
