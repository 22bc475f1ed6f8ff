import { useState } from "preact/hooks";
import type { JobData } from "../../contract/schemas/jobs.ts";
import { durationText } from "../panels/duration-text.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { operationText } from "../service/operation-text.ts";

import { JobSteps } from "./job-steps.tsx";
import "./jobs.css";

interface JobListProps {
  /** Only jobs of this lab; absent: of all labs. */
  readonly lab?: string;
  readonly mayCancel: boolean;
}

/** Lists the changes of a lab, or of all labs, newest first: who made each, its progress or outcome, and its steps. */
export default function JobList({ lab, mayCancel }: JobListProps) {
  const { data, error, again } = useAnswer(
    async (signal) => (await call("listJobs", {}, { signal })).jobs.filter((job) => lab === undefined || job.lab === lab),
    [lab],
  );
  const [cancelError, setCancelError] = useState<unknown>();
  useEvents(lab, ({ type }) => {
    if (type === "job" || type === "gap") again();
  });
  const cancel = async (id: string) => {
    setCancelError(undefined);
    try {
      await call("cancelJob", { id });
    } catch (problem) {
      setCancelError(problem);
    }
    again();
  };
  if (data === undefined) return error === undefined ? <p class="waiting">Reading the jobs…</p> : <Problem error={error} retry={again} />;
  return (
    <>
      {cancelError !== undefined && <Problem error={cancelError} />}
      {data.length === 0 && (
        <p class="hint">No changes{lab !== undefined && " of this lab"} among the newest hundred jobs of the service.</p>
      )}
      <ul class="job-list">
        {data.map((job) => (
          <JobRow
            key={job.job}
            job={job}
            showsLab={lab === undefined}
            onCancel={mayCancel && job.status === "running" ? () => void cancel(job.job) : undefined}
          />
        ))}
      </ul>
    </>
  );
}

function JobRow({
  job,
  showsLab,
  onCancel,
}: {
  readonly job: JobData;
  readonly showsLab: boolean;
  readonly onCancel: (() => void) | undefined;
}) {
  const [isOpen, setOpen] = useState(false);
  const { operation, user, status, started_at: started, finished_at: finished, step, steps, text, error } = job;
  const took = finished === undefined ? "" : ` in ${durationText(Date.parse(finished) - Date.parse(started))}`;
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          {operationText(operation)}{" "}
          <span class={`mark${status === "failed" ? " warn" : status === "running" ? " busy" : ""}`}>{status}</span>{" "}
          <small>
            {showsLab && `${job.lab}, `}
            {user}, {new Date(started).toLocaleString()}
            {took}
            {status === "running" && steps > 0 && `, step ${Math.min(step + 1, steps)} of ${steps}${text === undefined ? "" : `: ${text}`}`}
          </small>
        </summary>
        {isOpen && <JobSteps job={job} />}
      </details>
      {error !== undefined && <p class="hint">{error.error}</p>}
      {onCancel !== undefined && (
        <button type="button" onClick={onCancel}>
          Cancel<span class="visually-hidden"> {operationText(operation)}</span>
        </button>
      )}
    </li>
  );
}
